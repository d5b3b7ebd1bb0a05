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
    constexpr std::array names = {"nav"sv,
                                  "navbar"sv,
                                  "navbox"sv,
                                  "navigation"sv,
                                  "breadcrumb"sv,
                                  "breadcrumbs"sv,
                                  "sidebar"sv,
                                  "toc"sv,
                                  "header"sv,
                                  "footer"sv,
                                  "siteSub"sv,
                                  "contentSub"sv,
                                  "jump-to-nav"sv,
                                  "catlinks"sv,
                                  "printfooter"sv,
                                  "noprint"sv,
                                  "editsection"sv,
                                  "mw-editsection"sv,
                                  "mw-jump-link"sv,
                                  "skip-link"sv,
                                  "headerlink"sv,
                                  "sphinxsidebar"sv,
                                  "cookie-banner"sv,
                                  "sr-only"sv,
                                  "visually-hidden"sv,
                                  "mw-navigation"sv,
                                  "site-header"sv,
                                  "site-footer"sv,
                                  "page-footer"sv,
                                  "vertical-navbox"sv,
                                  "metadata"sv};
    return holds(names, name) || name.ends_with("-navbar");
}

/// A class "header" or "footer" is as often that of a table's row.
bool is_surrounding_class(std::string_view name) {
    return is_surrounding_name(name) && name != "header" && name != "footer";
}

/// Words of classes and ids, learned from pages with marked main texts: most of the text within is not of the page.
constexpr std::array aside_words = {
    "account"sv,   "avatar"sv,    "bio"sv,       "branding"sv,    "breadcrumb"sv, "breadcrumbs"sv,
    "burger"sv,    "byline"sv,    "cart"sv,      "colophon"sv,    "consent"sv,    "cookie"sv,
    "cookies"sv,   "copyright"sv, "currency"sv,  "disclaimer"sv,  "drawer"sv,     "dropdown"sv,
    "flyout"sv,    "footer"sv,    "gdpr"sv,      "hamburger"sv,   "legal"sv,      "lightbox"sv,
    "login"sv,     "logo"sv,      "masthead"sv,  "mega"sv,        "megamenu"sv,   "menu"sv,
    "menus"sv,     "modal"sv,     "nav"sv,       "navbar"sv,      "navigation"sv, "newsletter"sv,
    "onetrust"sv,  "overlay"sv,   "pager"sv,     "pagination"sv,  "popover"sv,    "popup"sv,
    "privacy"sv,   "promo"sv,     "promotion"sv, "recommended"sv, "related"sv,    "screenreader"sv,
    "share"sv,     "sharing"sv,   "sidebar"sv,   "sidenav"sv,     "signin"sv,     "signup"sv,
    "skip"sv,      "social"sv,    "sponsor"sv,   "sponsored"sv,   "submenu"sv,    "subnav"sv,
    "subscribe"sv, "taxonomy"sv,  "tooltip"sv,   "topbar"sv,      "translate"sv,  "trending"sv,
    "widgets"sv};
constexpr std::array comment_words = {"comment"sv, "comments"sv, "commentlist"sv, "disqus"sv, "respond"sv};

constexpr std::size_t word_slots = 512;

/// By html_hash; 1 for words of asides, 2 for those of comments.
struct word_slot {
    std::uint32_t hash = 0;
    std::uint32_t mark = 0;
};

constexpr auto word_index = [] {
    std::array<word_slot, word_slots> index{};
    const auto insert = [&](std::string_view word, std::uint32_t mark) {
        const std::uint32_t hash = html_hash(word);
        std::size_t at = hash % word_slots;
        while (index[at].mark != 0) at = (at + 1) % word_slots;
        index[at] = {hash, mark};
    };
    for (const auto word : aside_words) insert(word, html_mark::likely_aside);
    for (const auto word : comment_words) insert(word, html_mark::comment);
    return index;
}();

std::uint32_t mark_of_word(std::uint32_t hash) {
    for (std::size_t at = hash % word_slots; word_index[at].mark != 0; at = (at + 1) % word_slots) {
        if (word_index[at].hash == hash) return word_index[at].mark;
    }
    return 0;
}

/// The marks of all words: letters up to another character or to a capital after a small letter.
std::uint32_t marks_of_words(std::string_view names) {
    std::uint32_t marks = 0, hash = 0;
    bool small = false, any = false;
    for (const char c : names) {
        const bool is_small = c >= 'a' && c <= 'z', is_capital = c >= 'A' && c <= 'Z';
        if (any && (!(is_small || is_capital) || (is_capital && small))) {
            marks |= mark_of_word(hash);
            hash = 0;
            any = false;
        }
        if (is_small || is_capital) {
            hash = html_hash(hash, static_cast<char>(c | 0x20));
            any = true;
        }
        small = is_small;
    }
    return any ? marks | mark_of_word(hash) : marks;
}

std::size_t word_count(std::string_view name) {
    std::size_t count = 1;
    for (const char c : name) count += static_cast<std::size_t>(c == '-' || c == '_' || c == '.' || c == ':');
    return count;
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
    if (tag.has(class_) &&
        any_word(tag[class_], [](std::string_view word) { return word == "mw-parser-output"; }))
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
    if (tag.has(hidden) || (tag.has(aria_hidden) && tag[aria_hidden] == "true") ||
        (tag.has(style) && hides(tag[style])))
        return marks | html_mark::unseen;
    constexpr std::array roles = {"navigation"sv, "banner"sv,  "contentinfo"sv, "search"sv, "complementary"sv,
                                  "menu"sv,       "menubar"sv, "toolbar"sv,     "dialog"sv, "doc-toc"sv};
    if ((tag.has(role) && holds(roles, tag[role])) || (tag.has(id) && is_surrounding_name(tag[id])) ||
        (tag.has(class_) && any_word(tag[class_], is_surrounding_class)))
        marks |= html_mark::surrounding;
    if (tag.has(class_)) marks |= marks_of_words(tag[class_]);
    // Longer ids are made from the titles of sections.
    if (tag.has(id) && tag.name != html_name::section && word_count(tag[id]) <= 2)
        marks |= marks_of_words(tag[id]);
    return marks;
}

}  // namespace quern::io
