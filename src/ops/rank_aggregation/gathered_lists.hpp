// SPDX-License-Identifier: Apache-2.0
// Ranked lists in the memory of one place, copied there by several: each takes parts from the host over its own bus and passes
// them on. For one call, the copies take most of the time; cutting lists by objects on the host would take longer than that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "device/between_places.hpp"
#include "device/place_set.hpp"
#include "ops/rank_aggregation/lists.hpp"

namespace quern::rank_aggregation_detail {

template <class Place, class Score>
struct gathered_lists {
    std::vector<array_on<Place, std::uint32_t>> ids;
    std::vector<array_on<Place, Score>> scores;
};

/// On `first`, the first of `places`, whose threads are free. Synchronises. Throws usage_error for sizes that differ,
/// out_of_memory.
template <class Place, class Score>
gathered_lists<Place, Score> gather_lists(place_set& places, Place& first,
                                          std::span<const ranked_list_view<Score>> lists) {
    constexpr std::size_t fewest = std::size_t{1} << 12, most = std::size_t{1} << 22;  // entries of a part
    struct part {
        std::size_t list, begin, count;
    };
    gathered_lists<Place, Score> all;
    std::vector<part> parts;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::size_t size = lists[i].ids.size();
        check_list_sizes(i, size, lists[i].scores.size());
        all.ids.push_back(make_array<std::uint32_t>(first, size, "the ids of a list"));
        all.scores.push_back(make_array<Score>(first, size, "the scores of a list"));
        const std::size_t at_once = std::clamp(size / (4 * places.size()), fewest, most);
        for (std::size_t begin = 0; begin < size; begin += at_once)
            parts.push_back({i, begin, std::min(at_once, size - begin)});
    }
    if (parts.empty()) return all;
    first.synchronise();  // the other places write the arrays
    for (std::size_t index = 1; index < places.size(); ++index) {
        places[index].visit([&]<class Other>(Other& other) {
            if constexpr (std::is_same_v<Other, Place>)
                open_for(other, first, all.ids[parts.front().list].span());  // all arrays are of one pool
        });
    }
    places.for_each_unit(parts.size(), [&]<class Here>(Here& here, cpu_place& /*host*/, std::size_t unit) {
        if constexpr (std::is_same_v<Here, Place>) {
            const auto [list, begin, count] = parts[unit];
            const auto bring = [&]<class T>(std::span<const T> from, span_on<Place, T> to) {
                if (&here == &first) return copy_in<T>(here, from, to);
                const auto passing = array_from(here, from, "a part of a list");
                copy_across<T>(here, passing.span(), first, to);
            };
            bring(lists[list].ids.subspan(begin, count), all.ids[list].span().subspan(begin, count));
            bring(lists[list].scores.subspan(begin, count), all.scores[list].span().subspan(begin, count));
        }
    });
    return all;
}

}  // namespace quern::rank_aggregation_detail
