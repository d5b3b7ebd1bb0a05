// SPDX-License-Identifier: Apache-2.0
// Ranked lists of every kind that may be difficult for methods.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "quern/ops/rank_aggregation.hpp"
#include "reference/ranked_lists_reference.hpp"

namespace quern {

enum class list_kind { uniform, tied, correlated, anti_correlated, heavy_tailed, partial };
inline constexpr aggregate every_rule[] = {aggregate::sum, aggregate::mean,    aggregate::min,
                                           aggregate::max, aggregate::product, aggregate::rrf};
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

/// expect(lists, list, position, reason) for lists with one fault.
template <class Expect>
void for_each_fault(const Expect& expect) {
    ranked_lists<double> lists;
    lists.objects = 5;
    lists.ids = {{0, 1, 2}, {4, 3, 2, 1}};
    lists.scores = {{9, 8, 7}, {6, 5, 4, 3}};
    ranked_lists<double> bad = lists;
    bad.scores[1][2] = 5.5;
    expect(bad, 1, 2, "the score is greater than the previous one");
    bad = lists;
    bad.scores[0][1] = std::numeric_limits<double>::quiet_NaN();
    expect(bad, 0, 1, "the score is not a finite number");
    bad.scores[0][1] = -std::numeric_limits<double>::infinity();
    expect(bad, 0, 1, "the score is not a finite number");
    bad = lists;
    bad.ids[1][3] = 4;
    expect(bad, 1, 3, "the id occurs twice in the list");
    bad = lists;
    bad.ids[0][0] = 5;
    expect(bad, 0, 0, "the id is out of range");
    bad = lists;
    bad.scores[1][3] = -1;
    expect(bad, 1, 3, "the score is below the floor of the list");
    bad = lists;
    bad.scores[1] = {1e300, 5, 4, 3};
    bad.weights = {1, 1e10};
    expect(bad, 1, 0, "the score times the weight of the list is not a finite number");
}

template <class Score>
void give_weights(ranked_lists<Score>& lists, aggregate rule) {
    lists.weights.clear();
    lists.floors.clear();
    for (std::size_t i = 0; i < lists.ids.size() && rule != aggregate::product; ++i) {
        lists.weights.push_back(0.5 + 0.3 * static_cast<double>(i % 5));
        lists.floors.push_back(i % 2 == 0 ? -0.5 : 0);
    }
}

inline std::vector<reference::scored> pairs_of(const aggregation_result& result) {
    std::vector<reference::scored> pairs;
    for (std::size_t j = 0; j < result.ids.size(); ++j) pairs.push_back({result.scores[j], result.ids[j]});
    return pairs;
}

}  // namespace quern
