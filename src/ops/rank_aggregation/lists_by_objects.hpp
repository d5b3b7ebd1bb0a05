// SPDX-License-Identifier: Apache-2.0
// Ranked lists cut into ranges of objects, for several places: an object's score depends on its own entries alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern::rank_aggregation_detail {

/// The entries of one range of objects, which are numbered from 0. Lists keep their order.
template <class Score>
struct list_part {
    std::uint32_t first = 0, objects = 0;
    std::vector<cpu_array<std::uint32_t>> ids;
    std::vector<cpu_array<Score>> scores;

    /// `whole`: the lists that were cut, for their weights and floors.
    std::vector<ranked_list_view<Score>> views(std::span<const ranked_list_view<Score>> whole) const {
        std::vector<ranked_list_view<Score>> all;
        for (std::size_t i = 0; i < whole.size(); ++i)
            all.push_back({ids[i].span(), scores[i].span(), whole[i].weight, whole[i].floor});
        return all;
    }
};

/// `count` ranges of about equal numbers of objects, in order. Ids are below `objects`; each list has as many ids as scores.
/// Cost: O(entries · count), two passes; the memory of the lists, counted at `host`. Throws out_of_memory, interrupted.
template <class Score>
std::vector<list_part<Score>> cut_by_objects(cpu_place& host, std::span<const ranked_list_view<Score>> lists,
                                             std::uint32_t objects, std::size_t count) {
    std::vector<list_part<Score>> parts(count);
    for (std::size_t r = 0; r < count; ++r) {
        parts[r].first = static_cast<std::uint32_t>(std::uint64_t{objects} * r / count);
        parts[r].objects =
            static_cast<std::uint32_t>(std::uint64_t{objects} * (r + 1) / count) - parts[r].first;
    }
    const auto part_of = [&](std::uint32_t id) {
        std::size_t part = 0;
        for (std::size_t r = 1; r < count; ++r) part += id >= parts[r].first ? 1 : 0;
        return part;
    };
    for (const ranked_list_view<Score>& list : lists) {
        const std::size_t pieces = pieces_for(host, list.ids.size(), std::size_t{1} << 16);
        std::vector<std::vector<std::size_t>> next(pieces,
                                                   std::vector<std::size_t>(count));  // sizes at first
        for_each_piece(host, pieces, [&](std::size_t p) {
            host.ctx().check_stop();
            const item_range mine = piece_of(list.ids.size(), pieces, p);
            for (std::size_t at = mine.begin; at < mine.end; ++at) ++next[p][part_of(list.ids[at])];
        });
        for (std::size_t r = 0; r < count; ++r) {
            std::size_t size = 0;
            for (std::vector<std::size_t>& of_piece : next)
                of_piece[r] = std::exchange(size, size + of_piece[r]);
            parts[r].ids.emplace_back(host, size, "lists by objects");
            parts[r].scores.emplace_back(host, size, "lists by objects");
        }
        for_each_piece(host, pieces, [&](std::size_t p) {
            const item_range mine = piece_of(list.ids.size(), pieces, p);
            for (std::size_t at = mine.begin; at < mine.end; ++at) {
                const std::uint32_t id = list.ids[at];
                list_part<Score>& part = parts[part_of(id)];
                const std::size_t to = next[p][part_of(id)]++;
                part.ids.back().data()[to] = id - part.first;
                part.scores.back().data()[to] = list.scores[at];
            }
        });
    }
    return parts;
}

}  // namespace quern::rank_aggregation_detail
