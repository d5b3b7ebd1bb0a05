// SPDX-License-Identifier: Apache-2.0
// Segments of an array of items: segment s has the items [offsets[s], offsets[s + 1]). The offsets ascend from 0 to the
// number of items, one more than there are segments; no offsets mean no segments and no items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cpu/cpu_place.hpp"

namespace quern::primitives {

/// The number of segments that so many offsets delimit.
constexpr std::size_t segments_in(std::size_t offsets) {
    return offsets == 0 ? 0 : offsets - 1;
}

/// Rejects (offsets_not_rising) the first segment that ends before it begins or past the items: segment 0 if the first
/// offset is not 0, and the last one (0 if there is none) if items are left over. Every place reports the same segment, and
/// checks the offsets before the values: if both have faults, this one is reported.
void check_offsets(cpu_place& place, std::span<const std::uint64_t> offsets, std::uint64_t items);

}  // namespace quern::primitives
