// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "primitives/doors.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/load_balance/merge_path.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {

template <payload Segment>
void load_balancing_search(cpu_place& place, std::span<const std::uint64_t> offsets,
                           std::span<Segment> segments) {
    const std::size_t count = segments_in(offsets.size());
    if (sizeof(Segment) == 4) check_32_bits("load_balancing_search", count, "segments", "numbers");
    check_offsets(place, offsets, segments.size());
    for (std::size_t s = 0; s < count; ++s)
        std::fill(segments.data() + offsets[s], segments.data() + offsets[s + 1], static_cast<Segment>(s));
}

void merge_path_partition(cpu_place& place, std::span<const std::uint64_t> offsets,
                          std::span<merge_path_point> points) {
    check_room("merge_path_partition", "points", points.size(), 2);
    const std::uint64_t items = offsets.empty() ? 0 : offsets.back();
    check_offsets(place, offsets, items);
    const std::uint64_t steps = segments_in(offsets.size()) + items, pieces = points.size() - 1;
    for (std::uint64_t p = 0; p <= pieces; ++p)
        points[p] = merge_path_at(offsets, share_of(steps, p, pieces));
}

template void load_balancing_search(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint32_t>);
template void load_balancing_search(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint64_t>);

}  // namespace quern::primitives
