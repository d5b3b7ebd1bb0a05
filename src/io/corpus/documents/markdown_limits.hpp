// SPDX-License-Identifier: Apache-2.0
// Limits of MD4C's memory and time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::io {

/// An upper bound of MD4C's memory: its table of marks, and of lines. Both grow by half, with the old copy next to it.
std::uint64_t parser_bytes(std::string_view text);

/// MD4C's time can grow with the square of a paragraph: an empty line ends one that no person writes. Empty if `text` has
/// none.
std::string with_short_paragraphs(std::string_view text);

/// How many pieces of text and marks a document of that many bytes may have; only hostile ones have more.
constexpr std::uint64_t max_pieces(std::uint64_t bytes) {
    return 64 * bytes + 100'000;
}

}  // namespace quern::io
