// SPDX-License-Identifier: Apache-2.0
// Finds where a text may be cut: its rolling hash at many positions at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::near_duplicates_detail {

/// The hash depends on this many bytes.
inline constexpr std::size_t rolling_bytes = 7;

/// A position whose hash ends in `level` ones: a cut for every block size up to 2^level.
struct text_cut {
    std::size_t position;
    std::uint32_t level;
};

/// ssdeep's sum of three hashes of the bytes c0 (the last), c1, … c6: their sum, the sum of (7 − j) cj, and the exclusive
/// or of cj 2^(5j), modulo 2^32. Bytes before the text are zero.
inline std::uint32_t rolling_hash(const std::uint8_t* text, std::size_t position) {
    std::uint32_t sums = 0, shifted = 0;
    for (std::uint32_t j = 0; j < rolling_bytes && j <= position; ++j) {
        const std::uint32_t byte = text[position - j];
        sums += (8 - j) * byte;
        shifted ^= byte << (5 * j);
    }
    return sums + shifted;
}

/// Finds the positions p in [begin, end) whose hash has all bits of `mask` (2^level − 1). Writes them, ascending, with
/// their levels to `cuts` (capacity at least end − begin); returns their number.
std::size_t find_cuts(const std::uint8_t* text, std::size_t begin, std::size_t end, std::uint32_t mask,
                      text_cut* cuts);

}  // namespace quern::near_duplicates_detail
