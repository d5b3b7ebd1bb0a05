// SPDX-License-Identifier: Apache-2.0
#include "text/letters.hpp"

#include <unicode/uchar.h>

#include "base/utf8.hpp"

namespace quern::text {
namespace {

UChar32 unit(char32_t c) {
    return static_cast<UChar32>(c);
}

}  // namespace

bool is_letter(char32_t c) {
    if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    return c != ill_formed && u_isalpha(unit(c)) != 0;
}

bool is_upper_case(char32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z';
    return c != ill_formed && u_isupper(unit(c)) != 0;
}

bool is_decimal_digit(char32_t c) {
    if (c < 0x80) return c >= '0' && c <= '9';
    return c != ill_formed && u_isdigit(unit(c)) != 0;
}

bool is_word_character(char32_t c) {
    if (c < 0x80) return is_letter(c) || is_decimal_digit(c) || c == '_';
    return c != ill_formed && (U_GET_GC_MASK(unit(c)) & (U_GC_L_MASK | U_GC_N_MASK)) != 0;
}

std::string lower_case(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_utf8(text, at);
        if (c < 0x80) {
            out += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        } else if (c == ill_formed) {
            out += text.substr(begin, at - begin);
        } else {
            append_utf8(static_cast<char32_t>(u_tolower(unit(c))), out);
        }
    }
    return out;
}

}  // namespace quern::text
