// SPDX-License-Identifier: Apache-2.0
// The node pass of PageRank in doubles: 49 bytes per node at memory speed, which plain loops reach.
#include "ops/link_rank/papers/vector_steps.hpp"

#include <cmath>

#include "device/cpu/parallel.hpp"

namespace quern::link_rank_detail {

void take_rank_step(cpu_place& place, const rank_step& step, std::span<const double> products,
                    std::span<const double> preference, std::span<const std::uint8_t> dangling,
                    std::span<double> ranks, std::span<double> changes, std::span<double> dangling_mass) {
    const std::size_t pieces = pieces_for(place, ranks.size(), std::size_t{1} << 14);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(ranks.size(), pieces, p);
        for (std::size_t v = begin; v < end; ++v) {
            double next = step.follow * products[v] + step.each;
            if (!preference.empty()) next += step.prefer * preference[v];
            changes[v] = std::abs(next - ranks[v]);
            dangling_mass[v] = dangling[v] != 0 ? next : 0.0;
            ranks[v] = next;
        }
    });
}

}  // namespace quern::link_rank_detail
