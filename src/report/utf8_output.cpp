// SPDX-License-Identifier: Apache-2.0
#include "report/utf8_output.hpp"

#include <unicode/uchar.h>

#include "base/utf8.hpp"

namespace quern::report {

char32_t next_code_point(std::string_view text, std::size_t& position) {
    const char32_t point = next_utf8(text, position);
    return point == ill_formed ? U'\uFFFD' : point;
}

void append_code_point(std::string& out, char32_t code_point) {
    append_utf8(code_point, out);
}

unsigned display_width(char32_t code_point) {
    if (code_point >= 0x20 && code_point < 0x7F) return 1;
    if (code_point == static_cast<char32_t>(bold_begin) || code_point == static_cast<char32_t>(bold_end))
        return 0;
    // Medial vowels and final consonants of Hangul join the preceding syllable block.
    if (code_point >= 0x1160 && code_point <= 0x11FF) return 0;
    const auto c = static_cast<UChar32>(code_point);
    if (code_point == 0xAD) return 1;  // the soft hyphen is a format character that terminals do display
    if ((U_GET_GC_MASK(c) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) != 0) return 0;
    const int width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
    return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size();) width += display_width(next_code_point(text, i));
    return width;
}

std::string cut_to_width(std::string_view text, std::size_t width) {
    constexpr std::string_view ellipsis = "…";
    std::size_t used = 0;
    std::size_t kept = 0;  // bytes that fit before the ellipsis
    for (std::size_t i = 0; i < text.size();) {
        used += display_width(next_code_point(text, i));
        if (used > width) {
            if (width == 0) return {};
            return std::string(text.substr(0, kept)).append(ellipsis);
        }
        if (used + 1 <= width) kept = i;
    }
    return std::string(text);
}

std::size_t line_that_fits(std::string_view text, std::size_t width) {
    std::size_t used = 0, blank = 0, end = 0;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t begin = i;
        const char32_t c = next_code_point(text, i);
        if (c == ' ') blank = begin;
        used += display_width(c);
        if (used > width) return blank != 0 ? blank : end != 0 ? end : i;
        end = i;
    }
    return text.size();
}

}  // namespace quern::report
