// SPDX-License-Identifier: Apache-2.0
// The loops of graph reading that vector and bit-counting instructions make several times faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quern/base/link.hpp"

namespace quern::io {

/// Positions of the non-digit bytes of text[0, size), rising; `size` is at most marks_window. Reads up to 63 bytes past
/// the end and writes up to marks_capacity entries. Returns their number.
inline constexpr std::size_t marks_window = 4096, marks_capacity = marks_window + 64;
std::size_t mark_non_digits(const char* text, std::size_t size, std::uint16_t* positions);

/// Eight characters, the first in the lowest byte, that are digits or leading zero bytes → the number. Also widens
/// `range` to the smallest and the largest number.
struct number_range {
    std::uint32_t least, largest;
};
void convert_digits(std::span<const std::uint64_t> characters, std::uint32_t* numbers, number_range& range);

/// 32 ids: which of them occur, and how many occur before them.
struct id_cell {
    std::uint32_t occurs, before;
};
/// Replaces each end of each link by the number of smaller ids that occur. Ids count from `least`.
void number_by_cells(std::span<link> links, std::uint32_t least, const id_cell* cells);

}  // namespace quern::io
