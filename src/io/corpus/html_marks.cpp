// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_marks.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

template <typename List>
bool holds(const List& list, std::string_view wanted) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
}

/// Calls `judge` for every word of a class attribute until one returns true.
template <typename Judge>
bool any_word(std::string_view words, Judge&& judge) {
    while (true) {
        words.remove_prefix(std::min(words.find_first_not_of(" \t\r\n\f"), words.size()));
        if (words.empty()) return false;
        const std::size_t end = std::min(words.find_first_of(" \t\r\n\f"), words.size());
        if (judge(words.substr(0, end))) return true;
        words.remove_prefix(end);
    }
}

bool is_surrounding_name(std::string_view name) {
    constexpr std::array names = {"nav"sv,           "navbar"sv,          "navbox"sv,         "navigation"sv,
                                  "breadcrumb"sv,    "breadcrumbs"sv,     "sidebar"sv,        "toc"sv,
                                  "header"sv,        "footer"sv,          "siteSub"sv,        "contentSub"sv,
                                  "jump-to-nav"sv,   "catlinks"sv,        "printfooter"sv,    "noprint"sv,
                                  "editsection"sv,   "mw-editsection"sv,  "mw-jump-link"sv,   "skip-link"sv,
                                  "headerlink"sv,    "sphinxsidebar"sv,   "cookie-banner"sv,  "sr-only"sv,
                                  "visually-hidden"sv, "mw-navigation"sv, "site-header"sv,    "site-footer"sv,
                                  "page-footer"sv,   "vertical-navbox"sv, "metadata"sv};
    return holds(names, name) || name.ends_with("-navbar");
}

/// A class "header" or "footer" is as often that of a table's row.
bool is_surrounding_class(std::string_view name) {
    return is_surrounding_name(name) && name != "header" && name != "footer";
}

bool hides(std::string_view style) {
    const std::size_t display = style.find("display:");
    if (display == std::string_view::npos) return false;
    std::string_view value = style.substr(display + 8);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return value.starts_with("none");
}

std::uint32_t declared_rank(const html_token& tag) {
    using enum html_attribute;
    if (tag.has(id) && tag[id] == "mw-content-text") return 1;
    if (tag.has(class_) && any_word(tag[class_], [](std::string_view word) { return word == "mw-parser-output"; }))
        return 1;
    if (tag.name == html_name::main || (tag.has(role) && tag[role] == "main")) return 2;
    if (tag.name == html_name::article || (tag.has(itemprop) && tag[itemprop] == "articleBody")) return 3;
    constexpr std::array names = {"bodyContent"sv, "content"sv, "main"sv, "main-content"sv, "article"sv};
    return tag.has(id) && holds(names, tag[id]) ? 4 : 0;
}

}  // namespace

std::uint32_t html_marks_of(const html_token& tag) {
    using enum html_attribute;
    std::uint32_t marks = declared_rank(tag) << html_mark::main_shift;
    if (!tag.has_any() || tag.name == html_name::main) return marks;
    if (tag.has(hidden) || (tag.has(aria_hidden) && tag[aria_hidden] == "true") || (tag.has(style) && hides(tag[style])))
        return marks | html_mark::unseen;
    constexpr std::array roles = {"navigation"sv, "banner"sv,  "contentinfo"sv, "search"sv, "complementary"sv,
                                  "menu"sv,       "menubar"sv, "toolbar"sv,     "dialog"sv, "doc-toc"sv};
    if ((tag.has(role) && holds(roles, tag[role])) || (tag.has(id) && is_surrounding_name(tag[id])) ||
        (tag.has(class_) && any_word(tag[class_], is_surrounding_class)))
        marks |= html_mark::surrounding;
    return marks;
}

}  // namespace quern::io
