// SPDX-License-Identifier: Apache-2.0
// Single code points of UTF-8, for code that must continue after ill-formed bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern {

/// Not a code point: returned where UTF-8 is ill-formed.
inline constexpr char32_t ill_formed = 0xFFFFFFFF;

/// The code point at `at`; advances `at` past it. If there is none: `ill_formed`, and `at` advances past the longest
/// well-formed beginning of one (Unicode, table 3-7), at least one byte. Requires at < text.size().
char32_t next_utf8(std::string_view text, std::size_t& at);

/// Appends a code point: a character, not a surrogate.
void append_utf8(char32_t point, std::string& out);

}  // namespace quern
