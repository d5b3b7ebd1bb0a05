// SPDX-License-Identifier: Apache-2.0
// Splits the nodes of a graph into ranges of about equal work. Links and nodes both count, so that neither a hub nor a long
// range of nodes without links keeps one thread busy while the others wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"

namespace quern::link_rank_detail {

inline constexpr std::uint64_t work_of_node = 8;  ///< cost of a node besides its links, in links

/// The bounds of the ranges, from 0 to the number of nodes. `offsets` as in link_graph_view.
inline std::vector<std::uint32_t> link_pieces(const cpu_place& place,
                                              std::span<const std::uint64_t> offsets) {
    constexpr std::uint64_t least = std::uint64_t{1} << 15;
    constexpr std::uint64_t per_thread = 16;
    if (offsets.size() < 2) return {0};
    const auto nodes = static_cast<std::uint32_t>(offsets.size() - 1);
    const auto work_before = [&](std::uint32_t v) { return offsets[v] + work_of_node * v; };
    const std::uint64_t work = work_before(nodes);
    const std::uint64_t max = place.threads() == 1 ? 1 : place.threads() * per_thread;
    const std::uint64_t pieces = std::clamp<std::uint64_t>(work / least, 1, max);
    std::vector<std::uint32_t> bounds = {0};
    for (std::uint64_t p = 1; p <= pieces; ++p) {
        std::uint32_t low = bounds.back(), high = nodes;  // the first node with that much work before it
        const std::uint64_t wanted = work / pieces * p;
        while (p < pieces && low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (work_before(middle) < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (high > bounds.back()) bounds.push_back(high);
    }
    return bounds;
}

}  // namespace quern::link_rank_detail
