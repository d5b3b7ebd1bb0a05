// SPDX-License-Identifier: Apache-2.0
// Classes of characters and the lines of a text, as the rules need them. Texts are UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.hpp"

namespace quern::text_quality {

bool is_terminal_mark(char32_t c);     ///< ends sentences
bool is_punctuation(char32_t c);       ///< with control characters
bool is_wide_white_space(char32_t c);  ///< beyond ASCII
/// As Python's str.isspace.
inline bool is_white_space(char32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    return is_wide_white_space(c);
}

/// Number of code points.
inline std::uint64_t characters(std::string_view text) {
    std::uint64_t tails = 0;
    for (const char c : text) tails += (static_cast<unsigned char>(c) & 0xC0) == 0x80 ? 1 : 0;
    return text.size() - tails;
}

/// Where the last code point begins. Requires a text that is not empty.
inline std::size_t last_character(std::string_view text) {
    std::size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return at;
}

std::string_view without_blanks_before(std::string_view text);
std::string_view without_blanks_after(std::string_view text);
inline std::string_view trimmed(std::string_view text) {
    return without_blanks_after(without_blanks_before(text));
}

/// Only ASCII letters have two cases here.
void append_lower_case(std::string_view text, std::string& out);
/// As text.find(part) != npos, faster in long texts.
bool has(std::string_view text, std::string_view part);

/// Calls take(line) for each part of the text between line ends "\n".
template <class Take>
void for_each_line(std::string_view text, Take&& take) {
    for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
        end = text.find('\n', begin);
        take(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    }
}

/// The same for every line end that Unicode knows, as Python's str.splitlines: "\r\n" is one, and none follows the last.
template <class Take>
void for_each_unicode_line(std::string_view text, Take&& take) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto c = static_cast<unsigned char>(text[at]);
        std::size_t bytes = 0;
        if (c >= 0x0A && c <= 0x1E) {
            if (c <= 0x0D || c >= 0x1C) bytes = c == '\r' && text.substr(at).starts_with("\r\n") ? 2 : 1;
        } else if (c == 0xC2) {
            if (text.substr(at).starts_with("\xC2\x85")) bytes = 2;
        } else if (c == 0xE2) {
            if (text.substr(at).starts_with("\xE2\x80\xA8") || text.substr(at).starts_with("\xE2\x80\xA9"))
                bytes = 3;
        }
        if (bytes == 0) {
            ++at;
            continue;
        }
        take(text.substr(begin, at - begin));
        begin = at += bytes;
    }
    if (begin < text.size()) take(text.substr(begin));
}

/// Calls take(word) for each part of the text between white space.
template <class Take>
void for_each_part(std::string_view text, Take&& take) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t from = at;
        const auto c = static_cast<unsigned char>(text[at]);
        const char32_t point = c < 0x80 ? (++at, char32_t{c}) : next_utf8(text, at);
        if (!is_white_space(point)) continue;
        if (from > begin) take(text.substr(begin, from - begin));
        begin = at;
    }
    if (begin < text.size()) take(text.substr(begin));
}

}  // namespace quern::text_quality
