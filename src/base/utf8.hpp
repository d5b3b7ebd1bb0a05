// SPDX-License-Identifier: Apache-2.0
// Single code points of UTF-8, for code that must go on after ill-formed bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern {

/// No code point: what stands where UTF-8 is broken.
inline constexpr char32_t ill_formed = 0xFFFFFFFF;

/// The code point at `at`, which moves behind it. `ill_formed` where none is there: `at` then moves behind
/// the longest beginning of one (Unicode, table 3-7), at least one byte. Requires at < text.size().
char32_t next_utf8(std::string_view text, std::size_t& at);

/// Appends a code point: a character, not a surrogate.
void append_utf8(char32_t point, std::string& out);

}  // namespace quern
