// SPDX-License-Identifier: Apache-2.0
// From candidates to pairs, by the bounded edit distance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/near_duplicates/duplicate_methods.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {

/// The edit distance of each candidate's texts; primitives::beyond_bound if their rate is not below the threshold.
template <class Unit>
std::vector<std::uint32_t> distances_below(cpu_place& place, const unit_list<Unit>& texts,
                                           const decimal& threshold, std::span<const candidate> candidates);
/// The same. Texts go to the device in batches that fit its budget, each text once per batch. Synchronises.
template <class Unit>
std::vector<std::uint32_t> distances_below(cuda_place& place, const unit_list<Unit>& texts,
                                           const decimal& threshold, std::span<const candidate> candidates);

/// The pairs among the candidates, in the same order.
template <class Place, class Unit>
std::vector<duplicate_pair> verify(Place& place, const unit_list<Unit>& texts, const decimal& threshold,
                                   std::span<const candidate> candidates, duplicate_counts& counts) {
    const auto distances = distances_below(place, texts, threshold, candidates);
    counts.verified += candidates.size();
    std::vector<duplicate_pair> pairs;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (distances[i] == primitives::beyond_bound) continue;
        const auto [a, b] = candidates[i];
        pairs.push_back({a, b, distances[i], std::uint64_t{texts.length(a)} + texts.length(b)});
    }
    return pairs;
}

}  // namespace quern::near_duplicates_detail
