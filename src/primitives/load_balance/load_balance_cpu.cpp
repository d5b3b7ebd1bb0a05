// SPDX-License-Identifier: Apache-2.0
// An item's segment is the maximum of all segments that begin at or before it. So a tile of zeros gets each segment's
// number where the segment begins, later ones over earlier empty ones, and a maximum scan gives the result. No branch
// depends on the lengths of segments.
#include <algorithm>
#include <array>

#include "device/cpu/parallel.hpp"
#include "device/fault.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/chained_scan.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/load_balance/merge_path.hpp"
#include "primitives/scan/scan_kernels.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {

template <payload Segment>
void load_balancing_search(cpu_place& place, std::span<const std::uint64_t> offsets,
                           std::span<Segment> segments) {
    constexpr std::size_t each = cached_piece(sizeof(Segment)), tile = 2048;
    const std::size_t count = segments_in(offsets.size()), items = segments.size();
    if (sizeof(Segment) == 4) check_32_bits("load_balancing_search", count, "segments", "numbers");
    check_offsets(place, offsets, items);
    scan_detail::chunk_scan how;
    how.types = sizeof(Segment) == 4 ? scan_detail::value_types::words32 : scan_detail::value_types::words64;
    how.maximum = true;
    how.streamed = worth_streaming(segments.size_bytes());
    for_each_piece(place, pieces_of(items, each), [&](std::size_t p) {
        place.ctx().check_stop();
        const std::size_t end = std::min((p + 1) * each, items);
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): zeroed below, no more than is scanned
        std::array<Segment, tile> begins;
        std::size_t begin = p * each;
        // The last one that begins at or before the piece's first item; then the later ones.
        auto next =
            std::upper_bound(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(count), begin);
        auto current = static_cast<std::uint64_t>(next - offsets.begin()) - 1;
        for (; begin < end; begin += tile) {
            const std::size_t size = std::min(tile, end - begin);
            std::fill_n(begins.begin(), size, Segment{0});
            for (; static_cast<std::size_t>(next - offsets.begin()) < count && *next < begin + size; ++next)
                begins[*next - begin] = static_cast<Segment>(next - offsets.begin());
            current = scan_values(how, begins.data(), segments.data() + begin, size, current);
        }
    });
}

void merge_path_partition(cpu_place& place, std::span<const std::uint64_t> offsets,
                          std::span<merge_path_point> points) {
    check_capacity("merge_path_partition", "points", points.size(), 2);
    const std::uint64_t items = offsets.empty() ? 0 : offsets.back();
    check_offsets(place, offsets, items);
    const std::uint64_t segments = segments_in(offsets.size()), steps = segments + items;
    if (steps < items) throw_fault(fault::offsets_not_rising, segments - 1);
    const std::uint64_t pieces = points.size() - 1;
    constexpr std::size_t each = 1024;
    for_each_piece(place, pieces_of(points.size(), each), [&](std::size_t piece) {
        const std::size_t end = std::min((piece + 1) * each, points.size());
        for (std::size_t p = piece * each; p < end; ++p)
            points[p] = merge_path_at(offsets, share_of(steps, p, pieces));
    });
}

template void load_balancing_search(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint32_t>);
template void load_balancing_search(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint64_t>);

}  // namespace quern::primitives
