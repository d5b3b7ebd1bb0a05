// SPDX-License-Identifier: Apache-2.0
// Where objects are in lists, in sixteen bits an entry: the windows of ranks that hold them. Scores fall, so the first and the
// last score of a window bound those of all its entries. Windows are a 2,048th of their depth at most: near the top, where it
// matters, an entry each.
#pragma once

#include <cstdint>

#include "base/bits.hpp"
#include "ops/rank_aggregation/ranked_table.cuh"

namespace quern::rank_aggregation_detail {

inline constexpr unsigned window_bits = 11;
inline constexpr std::uint16_t no_window = 0xffff;

/// The window of a position (from 0). Rises with it.
constexpr unsigned window_of(std::uint32_t at) {
    const unsigned digits = binary_digits(at),
                   shift = digits > window_bits + 1 ? digits - window_bits - 1 : 0;
    return (shift << window_bits) + (at >> shift);
}
/// The first position of a window: the end of the one before.
constexpr std::uint64_t first_of_window(unsigned window) {
    const unsigned shift = window >> window_bits == 0 ? 0 : (window >> window_bits) - 1;
    return std::uint64_t{window - (shift << window_bits)} << shift;
}
static_assert(window_of(0xffffffff) < no_window);

/// The bytes of fill_windows besides the windows themselves.
std::uint64_t extra_bytes_of_windows(std::uint32_t objects);
/// The cells from one list's column to the next: every column begins at a word of sixteen bytes.
constexpr std::uint64_t window_stride(std::uint32_t objects) {
    return (std::uint64_t{objects} + 63) / 64 * 64;
}
/// Writes the window of each object in each list, or no_window: list i's at cells + i · window_stride(objects).
template <class Score>
void fill_windows(device_lists<Score>& lists, std::uint16_t* cells);

}  // namespace quern::rank_aggregation_detail
