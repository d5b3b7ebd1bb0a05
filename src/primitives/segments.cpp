// SPDX-License-Identifier: Apache-2.0
#include "primitives/segments.hpp"

#include <algorithm>

#include "device/cpu/parallel.hpp"
#include "device/fault.hpp"
#include "primitives/first_position.hpp"

namespace quern::primitives {
namespace {

constexpr std::size_t piece_size = std::size_t{1} << 18;

/// The first s of [begin, end) whose segment is invalid, or `end`.
std::size_t first_wrong(std::span<const std::uint64_t> offsets, std::uint64_t items, std::size_t begin,
                        std::size_t end) {
    unsigned wrong = 0;  // one test at the end, so that the loop is vectorised
    for (std::size_t s = begin; s < end; ++s)
        wrong |= unsigned{offsets[s + 1] < offsets[s]} | unsigned{offsets[s + 1] > items};
    if (wrong == 0) return end;
    std::size_t s = begin;
    while (offsets[s + 1] >= offsets[s] && offsets[s + 1] <= items) ++s;
    return s;
}

}  // namespace

void check_offsets(cpu_place& place, std::span<const std::uint64_t> offsets, std::uint64_t items) {
    const std::size_t segments = segments_in(offsets.size());
    if (offsets.empty() ? items != 0 : offsets[0] != 0) throw_fault(fault::offsets_not_rising, 0);
    first_position wrong;
    const std::size_t pieces = (segments + piece_size - 1) / piece_size;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const std::size_t begin = p * piece_size, end = std::min(begin + piece_size, segments);
        const std::size_t found = first_wrong(offsets, items, begin, end);
        if (found != end) wrong.note(found);
    });
    wrong.throw_if_any(fault::offsets_not_rising);
    if (!offsets.empty() && offsets.back() != items)
        throw_fault(fault::offsets_not_rising, segments == 0 ? 0 : segments - 1);
}

}  // namespace quern::primitives
