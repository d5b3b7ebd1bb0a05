// SPDX-License-Identifier: Apache-2.0
// UTF-8 for output: made well-formed, measured in terminal columns, truncated between characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::report {

/// The code point at `position`; advances `position` past it. An ill-formed sequence yields U+FFFD once for its longest
/// well-formed beginning (Unicode 3.9, "substitution of maximal subparts"), as in browsers.
char32_t next_code_point(std::string_view text, std::size_t& position);

void append_code_point(std::string& out, char32_t code_point);

/// Calls `append(code_point)` for each; plain ASCII, which is nearly all text, skips the decoder.
template <typename Append>
void each_code_point(std::string_view text, Append append) {
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x80) {
            append(static_cast<char32_t>(byte));
            ++i;
        } else {
            append(next_code_point(text, i));
        }
    }
}

/// Mark begin and end of bold in a table text whose control characters were removed.
inline constexpr char bold_begin = '\x01', bold_end = '\x02';

/// Terminal columns of the character: 0 for combining marks, format characters and the two above, 2 for East Asian wide
/// and fullwidth ones, else 1.
unsigned display_width(char32_t code_point);
std::size_t display_width(std::string_view text);

/// The longest beginning of `text` that fits, with an ellipsis if something was cut.
std::string cut_to_width(std::string_view text, std::size_t width);

/// Bytes of the longest beginning of `text` that fits into `width` columns and ends before a blank, or between
/// characters if no blank is within reach; at least one character.
std::size_t line_that_fits(std::string_view text, std::size_t width);

}  // namespace quern::report
