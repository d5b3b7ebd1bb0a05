// SPDX-License-Identifier: Apache-2.0
// The loops of reading graphs that vector instructions, and those that count bits, make several times faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quern/base/link.hpp"

namespace quern::io {

/// Positions of the bytes of text[0, size) that are no digits, rising; `size` is at most marks_window. Up to 63 bytes
/// behind are read, and marks_room entries written. Returns how many there are.
inline constexpr std::size_t marks_window = 4096, marks_room = marks_window + 64;
std::size_t mark_non_digits(const char* text, std::size_t size, std::uint16_t* positions);

/// Eight characters, the first in the lowest byte, that are digits or, in front, zero bytes → the number. Of all numbers
/// also the least and the largest, where these are beyond what `range` holds.
struct number_range {
    std::uint32_t least, largest;
};
void convert_digits(std::span<const std::uint64_t> characters, std::uint32_t* numbers, number_range& range);

/// 32 ids: which of them occur, and how many do before them.
struct id_cell {
    std::uint32_t occurs, before;
};
/// Each end of each link → the number of ids that occur before it. Ids count from `least`.
void number_by_cells(std::span<link> links, std::uint32_t least, const id_cell* cells);

}  // namespace quern::io
