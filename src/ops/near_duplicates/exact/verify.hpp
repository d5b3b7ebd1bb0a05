// SPDX-License-Identifier: Apache-2.0
// From candidates to pairs, by the bounded edit distance.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
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

/// Texts in device memory, as in a unit_list.
template <class Unit>
struct device_texts {
    device_span<const Unit> units;
    device_span<const std::uint64_t> offsets;
};

/// Each candidate with the largest distance that makes it a pair.
template <class Unit>
std::vector<primitives::bounded_pair> bounded_pairs(const unit_list<Unit>& texts, const decimal& threshold,
                                                    std::span<const candidate> candidates) {
    std::vector<primitives::bounded_pair> pairs;
    pairs.reserve(candidates.size());
    for (const auto& [a, b] : candidates)
        pairs.push_back(
            {a, b, largest_distance(threshold, std::uint64_t{texts.length(a)} + texts.length(b))});
    return pairs;
}

/// The same for pairs of texts that are in device memory already.
template <class Unit>
std::vector<std::uint32_t> distances_below(cuda_place& place, const device_texts<Unit>& texts,
                                           std::span<const primitives::bounded_pair> pairs);

/// The pairs among the candidates, in the same order. `on_device`: the same texts, if they are in device memory.
template <class Place, class Unit>
std::vector<duplicate_pair> verify(Place& place, const unit_list<Unit>& texts, const decimal& threshold,
                                   std::span<const candidate> candidates, duplicate_counts& counts,
                                   const device_texts<Unit>* on_device = nullptr) {
    std::vector<std::uint32_t> distances;
    if constexpr (std::is_same_v<Place, cuda_place>) {
        if (on_device != nullptr)
            distances = distances_below(place, *on_device, bounded_pairs(texts, threshold, candidates));
    }
    if (on_device == nullptr) distances = distances_below(place, texts, threshold, candidates);
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
