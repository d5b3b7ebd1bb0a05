// SPDX-License-Identifier: Apache-2.0
// Segments of an array of items: segment s holds the items [offsets[s], offsets[s + 1]). The offsets rise from 0 to
// the number of items, one more than there are segments; no offsets at all mean no segments and no items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cpu/place.hpp"

namespace quern::primitives {

/// How many segments that many offsets delimit.
constexpr std::size_t segments_in(std::size_t offsets) {
    return offsets == 0 ? 0 : offsets - 1;
}

/// Refuses (offsets_not_rising) the first segment that ends before it begins or beyond the items: segment 0 where
/// the first offset is not 0, and the last one (0 where there is none) where items are left over. Every place names
/// the same segment, and looks at the offsets before it looks at values: where both are at fault, this is noted.
void check_offsets(cpu_place& place, std::span<const std::uint64_t> offsets, std::uint64_t items);

}  // namespace quern::primitives
