// SPDX-License-Identifier: Apache-2.0
// Ranked lists of every kind that methods could trip over.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "quern/ops/top_k.hpp"

namespace quern {

enum class list_kind { uniform, tied, correlated, anti_correlated, heavy_tailed, partial };
inline constexpr list_kind every_list_kind[] = {list_kind::uniform,      list_kind::tied,
                                                list_kind::correlated,   list_kind::anti_correlated,
                                                list_kind::heavy_tailed, list_kind::partial};

/// n lists over `objects` objects, sorted; partial: each list holds a random part of them, one may be empty.
template <class Score>
struct ranked_lists {
    std::uint32_t objects = 0;
    std::vector<std::vector<std::uint32_t>> ids;
    std::vector<std::vector<Score>> scores;
    std::vector<double> weights, floors;

    std::vector<ranked_list_view<Score>> views() const {
        std::vector<ranked_list_view<Score>> all;
        for (std::size_t i = 0; i < ids.size(); ++i)
            all.push_back(
                {ids[i], scores[i], weights.empty() ? 1 : weights[i], floors.empty() ? 0 : floors[i]});
        return all;
    }
};

template <class Score>
ranked_lists<Score> make_lists(list_kind kind, std::uint32_t objects, std::size_t lists, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    ranked_lists<Score> made;
    made.objects = objects;
    std::vector<double> own(objects);
    for (double& of_object : own) of_object = unit();
    for (std::size_t l = 0; l < lists; ++l) {
        std::vector<Score> score(objects);
        const std::uint64_t part = random() % 4;
        for (std::uint32_t o = 0; o < objects; ++o) {
            switch (kind) {
                case list_kind::tied:
                    score[o] = static_cast<Score>(random() % 3);
                    break;
                case list_kind::correlated:
                    score[o] = static_cast<Score>(own[o] + 0.1 * unit());
                    break;
                case list_kind::anti_correlated:
                    score[o] = static_cast<Score>(l % 2 == 0 ? own[o] : 1 - own[o]);
                    break;
                case list_kind::heavy_tailed:
                    score[o] = static_cast<Score>(std::pow(1 - unit(), -0.7));
                    break;
                default:
                    score[o] = static_cast<Score>(unit());
            }
        }
        std::vector<std::uint32_t> order(objects);
        std::iota(order.begin(), order.end(), 0);
        std::ranges::shuffle(order, random);
        if (kind == list_kind::partial) order.resize(part * objects / 4);
        std::ranges::stable_sort(order,
                                 [&](std::uint32_t a, std::uint32_t b) { return score[a] > score[b]; });
        made.ids.push_back(order);
        made.scores.emplace_back();
        for (const std::uint32_t o : order) made.scores.back().push_back(score[o]);
    }
    return made;
}

}  // namespace quern
