// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
std::vector<std::uint32_t> distances_below(cpu_place& place, const unit_list<Unit>& texts,
                                           const decimal& threshold, std::span<const candidate> candidates) {
    std::vector<primitives::bounded_pair> pairs;
    pairs.reserve(candidates.size());
    for (const auto& [a, b] : candidates)
        pairs.push_back(
            {a, b, largest_distance(threshold, std::uint64_t{texts.length(a)} + texts.length(b))});
    std::vector<std::uint32_t> distances(pairs.size());
    primitives::edit_distances<Unit>(place, texts.units, texts.offsets, pairs, distances);
    return distances;
}

template std::vector<std::uint32_t> distances_below(cpu_place&, const unit_list<std::uint8_t>&,
                                                    const decimal&, std::span<const candidate>);
template std::vector<std::uint32_t> distances_below(cpu_place&, const unit_list<std::uint32_t>&,
                                                    const decimal&, std::span<const candidate>);

}  // namespace quern::near_duplicates_detail
