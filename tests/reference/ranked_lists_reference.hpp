// SPDX-License-Identifier: Apache-2.0
// The best objects over several lists by reading everything: the required result of all methods.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "quern/ops/rank_aggregation.hpp"

namespace quern::reference {

struct scored {
    double score;
    std::uint32_t id;
    friend bool operator==(const scored&, const scored&) = default;
};

/// The rule of include/quern/ops/rank_aggregation.hpp, written out.
inline double aggregate_of(const std::vector<double>& values, const std::vector<double>& weights,
                           aggregate rule) {
    double score = rule == aggregate::product ? 1 : 0, all_weights = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        all_weights += weights[i];
        if (rule == aggregate::product) {
            score = score == 0 || values[i] == 0 ? 0 : score * values[i];  // ∞ · 0 is 0
        } else if (rule == aggregate::min) {
            score = i == 0 ? values[i] : std::min(score, values[i]);
        } else if (rule == aggregate::max) {
            score = i == 0 ? values[i] : std::max(score, values[i]);
        } else {
            score += values[i];
        }
    }
    return (rule == aggregate::mean ? score / all_weights : score) + 0.0;
}

template <class Score>
std::vector<scored> best_of_lists(std::span<const ranked_list_view<Score>> lists,
                                  const aggregation_options& options) {
    std::vector<double> floors, weights;
    for (const auto& list : lists) {
        floors.push_back(options.score == aggregate::rrf ? 0 : list.weight * list.floor);
        weights.push_back(list.weight);
    }
    std::map<std::uint32_t, std::vector<double>> values;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        for (std::size_t at = 0; at < lists[i].ids.size(); ++at) {
            auto& of_object = values.try_emplace(lists[i].ids[at], floors).first->second;
            of_object[i] = options.score == aggregate::rrf
                               ? lists[i].weight / (options.constant + static_cast<double>(at + 1))
                               : lists[i].weight * static_cast<double>(lists[i].scores[at]);
        }
    }
    std::vector<scored> all;
    for (const auto& [id, of_object] : values)
        all.push_back({aggregate_of(of_object, weights, options.score), id});
    std::ranges::stable_sort(all, [](const scored& a, const scored& b) { return a.score > b.score; });
    all.resize(std::min<std::size_t>(options.k, all.size()));
    return all;
}

}  // namespace quern::reference
