// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/exact/verify.hpp"
#include "primitives/edit_distance/edit_distance.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
std::vector<std::uint32_t> distances_below(cpu_place& place, const unit_list<Unit>& texts,
                                           const decimal& threshold, std::span<const candidate> candidates) {
    const auto pairs = bounded_pairs(texts, threshold, candidates);
    std::vector<std::uint32_t> distances(pairs.size());
    primitives::edit_distances<Unit>(place, texts.units, texts.offsets, pairs, distances);
    return distances;
}

template std::vector<std::uint32_t> distances_below(cpu_place&, const unit_list<std::uint8_t>&,
                                                    const decimal&, std::span<const candidate>);
template std::vector<std::uint32_t> distances_below(cpu_place&, const unit_list<std::uint32_t>&,
                                                    const decimal&, std::span<const candidate>);

}  // namespace quern::near_duplicates_detail
