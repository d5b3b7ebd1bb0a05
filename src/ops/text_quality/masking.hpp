// SPDX-License-Identifier: Apache-2.0
// E-mail addresses and public IPv4 addresses replaced by harmless ones: what the expressions of datatrove's PIIFormatter
// match, found without backtracking.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::text_quality {

/// Whether a code point is one of a word: a letter, a number or "_" of any script.
using is_word_character = bool (*)(char32_t);

/// Replaces the addresses in `text` in turn by those of the list, from the first one on for each text. Appends the new text
/// to `out` and returns the number replaced; if that is 0, `out` stays as it is.
std::uint64_t mask_emails(std::string_view text, is_word_character is_word, std::string& out);
/// The same for four numbers from 0 to 255 with points between them, unless the address is in a block that IANA reserves for
/// private or special use, or has a leading zero.
std::uint64_t mask_public_ips(std::string_view text, std::string& out);

}  // namespace quern::text_quality
