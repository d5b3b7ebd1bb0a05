// SPDX-License-Identifier: Apache-2.0
// Load-balancing search: finds each item's segment, so that work is split into equal pieces for any lengths of segments
// (Baxter, Modern GPU; Merrill and Garland 2016 for the merge path). Contract class: exact.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// segments[i] = the s with offsets[s] ≤ i < offsets[s + 1]: empty segments own nothing. segments.size() is the number of
/// items. Offsets as in primitives/segments.hpp. Segment: uint32 for fewer than 2³² segments (usage_error otherwise),
/// uint64 for any number. Extra memory: CPU none; CUDA 16 bytes for each 4,096 segments and items. CUDA: does not
/// synchronise.
template <payload Segment>
void load_balancing_search(cpu_place& place, std::span<const std::uint64_t> offsets,
                           std::span<Segment> segments);
template <payload Segment>
void load_balancing_search(cuda_place& place, device_span<const std::uint64_t> offsets,
                           device_span<Segment> segments);

/// The start of a piece of the merge path over segments and items: a segment and an item.
struct merge_path_point {
    std::uint64_t segment, item;
    bool operator==(const merge_path_point&) const = default;
};

/// The starts of pieces of equal size, where a segment's end counts as much as an item: points[p] for piece p of
/// points.size() − 1, the last being (segments, items).
/// - The diagonal of piece p is ⌊p · (segments + items) / pieces⌋; on it, ends of segments come before the items that
///   follow them.
/// - At least 2 points (usage_error). Offsets as in primitives/segments.hpp.
/// - The number of items is the last offset, and need not fit any memory: only if segments + items is 2⁶⁴ or more the last
///   segment is rejected (offsets_not_rising).
/// - No extra memory. CUDA: does not synchronise.
void merge_path_partition(cpu_place& place, std::span<const std::uint64_t> offsets,
                          std::span<merge_path_point> points);
void merge_path_partition(cuda_place& place, device_span<const std::uint64_t> offsets,
                          device_span<merge_path_point> points);

}  // namespace quern::primitives
