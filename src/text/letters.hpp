// SPDX-License-Identifier: Apache-2.0
// Classes of characters in all scripts.
#pragma once

#include <string>
#include <string_view>

namespace quern::text {

bool is_letter(char32_t c);
bool is_upper_case(char32_t c);
bool is_decimal_digit(char32_t c);
/// A letter, a number or "_": what \w matches.
bool is_word_character(char32_t c);

/// Each code point in lower case by itself; ill-formed bytes stay.
std::string lower_case(std::string_view text);

}  // namespace quern::text
