// SPDX-License-Identifier: Apache-2.0
// Load-balancing search: which segment each item belongs to, so that work is cut into equal pieces whatever the
// segments' lengths (Baxter, Modern GPU; Merrill and Garland 2016 for the merge path). Contract class: exact.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// segments[i] = the s with offsets[s] ≤ i < offsets[s + 1]: empty segments own nothing. segments.size() is the
/// number of items. Offsets as in primitives/segments.hpp. Segment: uint32 for fewer than 2³² segments (usage_error
/// otherwise), uint64 for any number. Memory beside: CPU none; CUDA 16 bytes for each 4,096 segments and items. CUDA:
/// does not synchronise.
template <payload Segment>
void load_balancing_search(cpu_place& place, std::span<const std::uint64_t> offsets,
                           std::span<Segment> segments);
template <payload Segment>
void load_balancing_search(cuda_place& place, device_span<const std::uint64_t> offsets,
                           device_span<Segment> segments);

/// A piece of the merge path over segments and items: it begins at this segment and this item.
struct merge_path_point {
    std::uint64_t segment, item;
    bool operator==(const merge_path_point&) const = default;
};

/// Where pieces of equal size begin, when a segment's end counts as much as an item: points[p] for piece p of
/// points.size() − 1, the last being (segments, items). The diagonal of piece p is ⌊p · (segments + items) / pieces⌋;
/// on it, ends of segments come before the items that follow them. At least 2 points (usage_error).
/// Offsets as in primitives/segments.hpp; the number of items is the last of them, and need not fit any memory: only
/// where segments + items is 2⁶⁴ or more the last segment is refused (offsets_not_rising). No memory beside. CUDA: does
/// not synchronise.
void merge_path_partition(cpu_place& place, std::span<const std::uint64_t> offsets,
                          std::span<merge_path_point> points);
void merge_path_partition(cuda_place& place, device_span<const std::uint64_t> offsets,
                          device_span<merge_path_point> points);

}  // namespace quern::primitives
