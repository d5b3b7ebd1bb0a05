// SPDX-License-Identifier: Apache-2.0
// Word rules without Unicode data.
#pragma once

#include <string_view>

#include "quern/text/analyzer.hpp"

namespace quern::text {

/// Appends the ASCII runs of letters (and digits, if requested), in lower case. Starts at `from`, which must not be
/// inside a run, and stops at such a position at or after `to`, which it returns.
std::size_t find_plain_words(std::string_view text, std::size_t from, std::size_t to, bool digits,
                             token_list& out);
inline void find_plain_words(std::string_view text, bool digits, token_list& out) {
    find_plain_words(text, 0, text.size(), digits, out);
}

/// The same of runs of anything but blanks, tabs and line ends, unchanged.
std::size_t find_words_between_blanks(std::string_view text, std::size_t from, std::size_t to,
                                      token_list& out);

}  // namespace quern::text
