// SPDX-License-Identifier: Apache-2.0
#include "ops/search/device_rankings.hpp"

#include <algorithm>

#include "device/cpu/parallel.hpp"

namespace quern::search_detail {

void append_rankings(std::span<const std::int64_t> scores, std::span<const std::uint32_t> ids,
                     std::size_t row, std::uint64_t first,
                     std::span<std::vector<scored_document>* const> rankings, const context& ctx) {
    constexpr std::size_t few = 1 << 14;  // hits, too few to wake a thread
    cpu_place place(ctx);
    const std::size_t least = std::max<std::size_t>(1, few / std::max<std::size_t>(row, 1));
    const std::size_t pieces = pieces_for(place, rankings.size(), least);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(rankings.size(), pieces, p);
        for (std::size_t q = begin; q < end; ++q) {
            if (rankings[q] == nullptr) continue;
            const auto row_scores = scores.subspan(q * row, row);
            const auto hits =
                static_cast<std::size_t>(std::ranges::find(row_scores, no_score) - row_scores.begin());
            rankings[q]->reserve(rankings[q]->size() + hits);
            for (std::size_t i = 0; i < hits; ++i)
                rankings[q]->push_back({static_cast<std::uint32_t>(ids[q * row + i] + first), row_scores[i]});
        }
    });
}

}  // namespace quern::search_detail
