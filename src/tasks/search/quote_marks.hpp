// SPDX-License-Identifier: Apache-2.0
// Quotation marks in a query, and the characters next to them.
#pragma once

#include <cstddef>
#include <string_view>

namespace quern {

/// Whether a letter or digit of ASCII begins here, or one of a script that separates words by blanks.
bool word_at(std::string_view query, std::size_t at);
/// Whether such a character ends here.
bool word_before(std::string_view query, std::size_t at);

/// The bytes of the quotation mark that begins here: `"`, U+201C, U+201D or U+201E; 0 if none does.
std::size_t quote_mark_at(std::string_view query, std::size_t at);

}  // namespace quern
