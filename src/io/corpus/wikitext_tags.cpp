// SPDX-License-Identifier: Apache-2.0
// A tag is distinguished from a '<' in running text by its name (a closed list, as in MediaWiki) and by a '>' before
// the next '<' and before an empty line.
#include "io/corpus/wikitext_scan.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace quern::io {
namespace {

struct named_role {
    std::string_view name;
    tag_role role;
};

using enum tag_role;

constexpr auto tag_table = std::to_array<named_role>({
    {"abbr", strip},
    {"acronym", strip},
    {"b", strip},
    {"bdi", strip},
    {"bdo", strip},
    {"big", strip},
    {"blockquote", paragraph},
    {"br", line_break},
    {"caption", line},
    {"categorytree", drop},
    {"ce", drop},
    {"center", line},
    {"charinsert", drop},
    {"chem", drop},
    {"cite", strip},
    {"code", strip},
    {"col", strip},
    {"colgroup", strip},
    {"data", strip},
    {"dd", line},
    {"del", strip},
    {"dfn", strip},
    {"div", line},
    {"dl", line},
    {"dt", line},
    {"em", strip},
    {"font", strip},
    {"gallery", drop},
    {"graph", drop},
    {"h1", paragraph},
    {"h2", paragraph},
    {"h3", paragraph},
    {"h4", paragraph},
    {"h5", paragraph},
    {"h6", paragraph},
    {"hiero", drop},
    {"hr", line},
    {"i", strip},
    {"imagemap", drop},
    {"includeonly", drop},
    {"indicator", drop},
    {"inputbox", drop},
    {"ins", strip},
    {"kbd", strip},
    {"langconvert", strip},
    {"li", line},
    {"link", strip},
    {"mapframe", drop},
    {"maplink", drop},
    {"mark", strip},
    {"math", drop},
    {"meta", strip},
    {"noinclude", strip},
    {"nowiki", verbatim},
    {"ol", line},
    {"onlyinclude", strip},
    {"p", paragraph},
    {"poem", line},
    {"pre", verbatim},
    {"q", strip},
    {"quiz", drop},
    {"rb", strip},
    {"ref", note},
    {"references", drop},
    {"rp", strip},
    {"rss", drop},
    {"rt", strip},
    {"rtc", strip},
    {"ruby", strip},
    {"s", strip},
    {"samp", strip},
    {"score", drop},
    {"script", drop},
    {"section", strip},
    {"small", strip},
    {"source", drop},
    {"span", strip},
    {"strike", strip},
    {"strong", strip},
    {"style", drop},
    {"sub", strip},
    {"sup", strip},
    {"syntaxhighlight", drop},
    {"table", table},
    {"tbody", strip},
    {"td", cell},
    {"templatedata", drop},
    {"templatestyles", drop},
    {"tfoot", strip},
    {"th", cell},
    {"thead", strip},
    {"time", strip},
    {"timeline", drop},
    {"tr", line},
    {"tt", strip},
    {"u", strip},
    {"ul", line},
    {"var", strip},
    {"wbr", strip},
});
static_assert(tag_table.size() <= max_tag_names);
static_assert(std::is_sorted(tag_table.begin(), tag_table.end(),
                             [](const named_role& a, const named_role& b) { return a.name < b.name; }));

constexpr std::size_t longest_tag_name = 15;

constexpr bool is_letter(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool same_name(std::string_view text, std::string_view lower) {
    if (text.size() < lower.size()) return false;
    for (std::size_t i = 0; i < lower.size(); ++i) {
        const char c = text[i];
        if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c) != lower[i]) return false;
    }
    return text.size() == lower.size() || (!is_letter(text[lower.size()]) && !is_digit(text[lower.size()]));
}

/// The '>' that ends a tag's attributes, or npos.
std::size_t tag_end(std::string_view text, std::size_t at) {
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '>') return at;
        if (c == '<' || (c == '\n' && at + 1 < text.size() && text[at + 1] == '\n')) break;
    }
    return std::string_view::npos;
}

}  // namespace

wiki_tag read_tag(std::string_view text) {
    wiki_tag tag;
    std::size_t at = 1;
    tag.closing = text.size() > 1 && text[1] == '/';
    if (tag.closing) ++at;
    const std::size_t begin = at;
    std::array<char, longest_tag_name> lower{};
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) {
        if (at - begin == longest_tag_name) return tag;
        lower[at - begin] = is_letter(text[at]) ? static_cast<char>(text[at] | 0x20) : text[at];
        ++at;
    }
    const std::string_view name(lower.data(), at - begin);
    const auto* const found =
        std::lower_bound(tag_table.begin(), tag_table.end(), name,
                         [](const named_role& a, std::string_view b) { return a.name < b; });
    if (name.empty() || found == tag_table.end() || found->name != name) return tag;
    if (at == text.size() || (text[at] != '>' && text[at] != '/' && !is_html_space(text[at]))) return tag;
    const std::size_t end = tag_end(text, at);
    if (end == std::string_view::npos) return tag;
    tag.role = found->role;
    tag.index = static_cast<std::uint8_t>(found - tag_table.begin());
    tag.name = found->name;
    tag.self_closing = text[end - 1] == '/';
    tag.length = end + 1;
    return tag;
}

std::size_t tag_end_finder::find(const wiki_tag& tag, std::size_t from, bool opening) {
    memory& seen = seen_[tag.index * 2u + (opening ? 1u : 0u)];
    if (from >= seen.from && from <= seen.found) return seen.found;
    seen.from = from;
    const std::string_view lead = opening ? "<" : "</";
    for (std::size_t at = from;; at += lead.size()) {
        at = text_.find(lead, at);
        if (at == std::string_view::npos || same_name(text_.substr(at + lead.size()), tag.name)) {
            seen.found = at;
            return at;
        }
    }
}

}  // namespace quern::io
