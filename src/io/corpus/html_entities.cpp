// SPDX-License-Identifier: Apache-2.0
// Decoding of HTML character references. Names are looked up by hashing; the index is built on first use.
#include "io/corpus/html_entities.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/utf8.hpp"

namespace quern::io {
namespace {

constexpr std::size_t longest_name = 32;

const std::unordered_map<std::string_view, std::string>& name_index() {
    static const auto index = [] {
        std::unordered_map<std::string_view, std::string> result;
        result.reserve(2200);
        std::string_view rest = named_references;
        while (!rest.empty()) {
            const std::string_view item = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(rest.size(), item.size() + 1));
            const std::size_t equals = item.find('=');
            std::string characters;
            const char* at = item.data() + equals;  // on '=' or '.', followed by a number
            const char* const end = item.data() + item.size();
            while (at < end) {
                unsigned point = 0;
                at = std::from_chars(at + 1, end, point, 16).ptr;
                append_utf8(point, characters);
            }
            result.emplace(item.substr(0, equals), std::move(characters));
        }
        return result;
    }();
    return index;
}

// The characters that browsers show for &#128; to &#159;: those of windows-1252 (0: none).
constexpr std::array<char16_t, 32> windows_1252 = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

/// `strict`: only with a ';', and what denotes no character yields nothing.
std::size_t decode_number(std::string_view text, bool strict, std::string& out) {
    const bool hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
    const std::size_t first = hex ? 3 : 2;
    std::size_t at = first;
    char32_t point = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        unsigned digit = 0;
        if (c >= '0' && c <= '9') {
            digit = static_cast<unsigned>(c - '0');
        } else if (hex && (c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
            digit = static_cast<unsigned>((c | 0x20) - 'a' + 10);
        } else {
            break;
        }
        if (point < 0x110000) point = point * (hex ? 16 : 10) + digit;
    }
    const bool closed = at < text.size() && text[at] == ';';
    if (at == first || (strict && !closed)) return 0;
    const bool exists = point != 0 && point < 0x110000 && (point < 0xD800 || point >= 0xE000);
    if (point >= 0x80 && point < 0xA0) point = windows_1252[point - 0x80];
    const bool character = (point >= 0x20 && point != 0x7F && point < 0xD800) || point == '\t' ||
                           point == '\n' ||
                           (point >= 0xE000 && point < 0x110000 && (point & 0xFFFE) != 0xFFFE);
    if (character) {
        append_utf8(point, out);
    } else if (!strict && !exists) {
        append_utf8(0xFFFD, out);
    }
    return at + static_cast<std::size_t>(closed);
}

bool is_letter_or_digit(char c) {
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
}

/// The names that need no ';'.
constexpr std::string_view open_names =
    " AElig AMP Aacute Acirc Agrave Aring Atilde Auml COPY Ccedil ETH Eacute Ecirc Egrave Euml GT Iacute "
    "Icirc Igrave "
    "Iuml LT Ntilde Oacute Ocirc Ograve Oslash Otilde Ouml QUOT REG THORN Uacute Ucirc Ugrave Uuml Yacute "
    "aacute acirc "
    "acute aelig agrave amp aring atilde auml brvbar ccedil cedil cent copy curren deg divide eacute ecirc "
    "egrave eth "
    "euml frac12 frac14 frac34 gt iacute icirc iexcl igrave iquest iuml laquo lt macr micro middot nbsp not "
    "ntilde "
    "oacute ocirc ograve ordf ordm oslash otilde ouml para plusmn pound quot raquo reg sect shy sup1 sup2 "
    "sup3 szlig "
    "thorn times uacute ucirc ugrave uml uuml yacute yen yuml ";

const std::unordered_set<std::string_view>& open_name_index() {
    static const auto index = [] {
        std::unordered_set<std::string_view> result;
        std::string_view rest = open_names;
        while (rest.size() > 1) {
            rest.remove_prefix(1);
            result.insert(rest.substr(0, rest.find(' ')));
            rest.remove_prefix(rest.find(' '));
        }
        return result;
    }();
    return index;
}

}  // namespace

std::size_t decode_reference(std::string_view text, std::string& out) {
    if (text.size() < 3) return 0;
    if (text[1] == '#') return decode_number(text, true, out);
    std::size_t end = 1;
    while (end < text.size() && end <= longest_name && text[end] != ';') {
        if (!is_letter_or_digit(text[end])) return 0;
        ++end;
    }
    if (end == text.size() || text[end] != ';') return 0;
    const auto& index = name_index();
    const auto found = index.find(text.substr(1, end - 1));
    if (found == index.end()) return 0;
    out += found->second;
    return end + 1;
}

std::size_t decode_html_reference(std::string_view text, bool in_attribute, std::string& out) {
    if (text.size() > 2 && text[1] == '#') return decode_number(text, false, out);
    if (const std::size_t taken = decode_reference(text, out); taken != 0) return taken;
    constexpr std::size_t longest = 6, shortest = 2;
    std::size_t end = 1;
    while (end < text.size() && end <= longest && is_letter_or_digit(text[end])) ++end;
    for (; end > shortest; --end) {
        if (!open_name_index().contains(text.substr(1, end - 1))) continue;
        const bool goes_on = end < text.size() && (text[end] == '=' || is_letter_or_digit(text[end]));
        if (in_attribute && goes_on) return 0;
        out += name_index().at(text.substr(1, end - 1));
        return end;
    }
    return 0;
}

std::string decode_references(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t plain = std::min(text.find('&'), text.size());
        out.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) break;
        std::size_t taken = decode_reference(text, out);
        if (taken == 0) {
            out += '&';
            taken = 1;
        }
        text.remove_prefix(taken);
    }
    return out;
}

}  // namespace quern::io
