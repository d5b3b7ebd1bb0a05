// SPDX-License-Identifier: Apache-2.0
// Titles and link targets, normalised as MediaWiki does: a title is split after decoding entities and %-escapes and
// collapsing white space.
#include "io/corpus/wiki_site.hpp"

#include <unicode/uchar.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "io/corpus/html_entities.hpp"

namespace quern::io {
namespace {

constexpr int file_namespace = 6;
constexpr int category_namespace = 14;
constexpr std::size_t longest_title = 255;  // bytes, MediaWiki's own limit
constexpr std::size_t longest_source = 4096;

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
            hex_value(text[i + 2]) >= 0) {
            out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

bool is_wiki_space(char32_t c) {
    return c == ' ' || c == '_' || c == '\t' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_direction_mark(char32_t c) {
    return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E);
}

bool is_title_character(char32_t c) {
    return c >= 0x20 && c != 0x7F && c != 0xFFFD && c != '[' && c != ']' && c != '{' && c != '}' &&
           c != '|' && c != '<' && c != '>';
}

/// Collapses white space of every kind to single spaces, trims the ends, removes direction marks. False if `text` is
/// not UTF-8 or has a character that no title may have (except after a '#': anchors may have any).
bool normalise(std::string_view text, std::string& out) {
    bool space = false;
    bool anchor = false;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t begin = i;
        const char32_t c = next_utf8(text, i);
        if (c == ill_formed) return false;
        if (is_wiki_space(c)) {
            space = true;
            continue;
        }
        if (is_direction_mark(c)) continue;
        anchor = anchor || c == '#';
        if (!is_title_character(c) && (!anchor || c < 0x20)) return false;
        if (space && !out.empty()) out += ' ';
        space = false;
        out.append(text.substr(begin, i - begin));
    }
    return true;
}

void raise_first_letter(std::string& title) {
    std::size_t length = 0;
    const char32_t c = next_utf8(title, length);
    if (c == ill_formed) return;
    // Title case, not upper case: Georgian letters have an upper case with which no title begins.
    const auto raised = static_cast<char32_t>(u_totitle(static_cast<UChar32>(c)));
    if (raised == c) return;
    std::string letter;
    append_utf8(raised, letter);
    title.replace(0, length, letter);
}

}  // namespace

wiki_site::wiki_site() = default;

void wiki_site::set_language(std::string_view code) {
    language_ = folded_name(code);
    const std::string_view base = std::string_view(language_).substr(0, language_.find('-'));
    constexpr std::string_view with_variants[] = {"ban", "crh", "gan", "iu",  "kk", "ku",  "mni", "shi",
                                                  "sh",  "sr",  "tg",  "tly", "uz", "wuu", "zgh", "zh"};
    variants_ =
        std::find(std::begin(with_variants), std::end(with_variants), base) != std::end(with_variants);
}

void wiki_site::add_namespace(std::string_view name, int key) {
    if (std::string folded = folded_name(name); !folded.empty()) namespaces_[std::move(folded)] = key;
}

std::optional<int> wiki_site::namespace_named(std::string_view folded) const {
    if (const auto own = namespaces_.find(std::string(folded)); own != namespaces_.end()) return own->second;
    if (const int shared = shared_namespace(folded); shared != 0) return shared;
    return std::nullopt;
}

link_target wiki_site::resolve(std::string_view target) const {
    link_target out;
    if (target.size() > longest_source) return out;
    std::string decoded;
    if (target.find('%') != std::string_view::npos) target = decoded = percent_decoded(target);
    if (target.find('&') != std::string_view::npos) target = decoded = decode_references(target);
    std::string title;
    title.reserve(target.size());
    if (!normalise(target, title)) return out;
    std::string_view rest = title;
    const bool escaped = !rest.empty() && rest.front() == ':';
    if (escaped) rest = trimmed(rest.substr(1));
    if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos && colon > 0) {
        const std::string prefix = folded_name(rest.substr(0, colon));
        if (const auto key = namespace_named(prefix); key && *key != 0) {
            const bool shown = !escaped && rest.size() > colon + 1;
            out.kind = shown && *key == file_namespace       ? link_kind::file
                       : shown && *key == category_namespace ? link_kind::category
                                                             : link_kind::page;
            return out;
        }
        if (is_language_code(prefix)) {
            out.kind = escaped ? link_kind::foreign : link_kind::language;
            return out;
        }
        if (is_site_prefix(prefix)) {
            out.kind = link_kind::foreign;
            return out;
        }
    }
    const std::size_t anchor = rest.find('#');
    const std::string_view name = trimmed(rest.substr(0, anchor));
    if (name.empty()) {
        out.kind = anchor == std::string_view::npos ? link_kind::invalid : link_kind::section;
        return out;
    }
    if (name.size() > longest_title) return out;
    out.kind = link_kind::article;
    out.id = name;
    if (first_letter_) raise_first_letter(out.id);
    std::replace(out.id.begin(), out.id.end(), ' ', '_');
    return out;
}

int wiki_site::namespace_of(std::string_view title) const {
    const std::size_t colon = title.find(':');
    if (colon == std::string_view::npos || colon == 0) return 0;
    return namespace_named(folded_name(title.substr(0, colon))).value_or(0);
}

std::optional<std::string> wiki_site::redirect_target(std::string_view text, bool any_word) const {
    constexpr std::size_t longest_word = 64;
    text = text.substr(0, longest_source);
    const std::size_t begin = text.find_first_not_of(" \t\r\n\v");
    if (begin == std::string_view::npos || text[begin] != '#') return std::nullopt;
    const std::size_t link = text.find("[[", begin);
    if (link == std::string_view::npos || link - begin > longest_word) return std::nullopt;
    std::string_view word = trimmed(text.substr(begin + 1, link - begin - 1));
    if (word.ends_with(':')) word = trimmed(word.substr(0, word.size() - 1));
    if (word.empty() || (!any_word && !is_redirect_word(folded_name(word)))) return std::nullopt;
    const std::size_t end = text.find_first_of("]|\n", link + 2);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view raw = text.substr(link + 2, end - link - 2);
    const link_target target = resolve(raw);
    switch (target.kind) {
        case link_kind::article:
            return target.id;
        case link_kind::invalid:
        case link_kind::section:
            return std::nullopt;
        default:
            return id_of_title(trimmed(raw));
    }
}

std::string id_of_title(std::string_view title) {
    std::string id(trimmed(title));
    std::replace(id.begin(), id.end(), ' ', '_');
    return id;
}

}  // namespace quern::io
