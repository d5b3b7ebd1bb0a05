// SPDX-License-Identifier: Apache-2.0
// 64 bits of a text: whether each of its counts of units (sketch.hpp) is odd. A replacement changes two counts by one,
// an insertion or a deletion one. A bit is a function of one count, so texts within d edits, whose lengths differ by g,
// differ in at most 2 d - g bits: at least g of the edits are insertions or deletions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/near_duplicates/filter/sketch.hpp"

namespace quern::near_duplicates_detail {

/// Bit k: whether count k is odd; 255 or more counts as odd.
inline std::uint64_t parities_of(const std::array<std::uint8_t, unit_buckets>& counts) {
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < unit_buckets; ++k) bits |= std::uint64_t{counts[k] & 1u} << k;
    return bits;
}

/// Writes the positions, ascending, of those of `count` words that differ from `word` in at most `max` bits, and returns
/// their number. `near` has room for `count`.
std::size_t near_words(std::uint64_t word, const std::uint64_t* words, std::size_t count, unsigned max,
                       std::uint32_t* near);

}  // namespace quern::near_duplicates_detail
