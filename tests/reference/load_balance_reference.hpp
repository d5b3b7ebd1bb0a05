// SPDX-License-Identifier: Apache-2.0
// Load balancing the slow, obvious way: segments are written out item by item, and the merge path is followed step by step
// from its beginning.
#pragma once

#include <cstdint>
#include <vector>

#include "primitives/load_balance/load_balance.hpp"

namespace quern::reference {

template <class Segment>
std::vector<Segment> load_balancing_search(const std::vector<std::uint64_t>& offsets) {
    std::vector<Segment> segments;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        segments.insert(segments.end(), offsets[s + 1] - offsets[s], static_cast<Segment>(s));
    return segments;
}

/// Every point of the path: a segment's end is passed as soon as no item of the segment is left.
inline std::vector<primitives::merge_path_point> merge_path(const std::vector<std::uint64_t>& offsets) {
    const std::uint64_t segments = offsets.empty() ? 0 : offsets.size() - 1;
    const std::uint64_t items = offsets.empty() ? 0 : offsets.back();
    primitives::merge_path_point at{0, 0};
    std::vector<primitives::merge_path_point> path = {at};
    while (at.segment + at.item < segments + items) {
        const bool ended = at.segment < segments && offsets[at.segment + 1] <= at.item;
        ++(ended ? at.segment : at.item);
        path.push_back(at);
    }
    return path;
}

inline std::vector<primitives::merge_path_point> merge_path_partition(
    const std::vector<primitives::merge_path_point>& path, std::uint64_t pieces) {
    std::vector<primitives::merge_path_point> points;
    for (std::uint64_t p = 0; p <= pieces; ++p) points.push_back(path[p * (path.size() - 1) / pieces]);
    return points;
}

}  // namespace quern::reference
