// SPDX-License-Identifier: Apache-2.0
// All pairs of different sets whose Jaccard similarity reaches a bound, by prefixes: complete and exact.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/near_duplicates/duplicate_classes.hpp"
#include "ops/near_duplicates/word_sets.hpp"

namespace quern::near_duplicates_detail {

/// Sets of a class each, in two parts: the numbers that it shares with others, and how many it has in all.
struct shingle_sets {
    number_sets shared;  ///< numbers below `end`
    std::uint32_t end = 0;
    std::vector<std::uint64_t> sizes;  ///< with the numbers that no other set has
    std::vector<class_age> ages;
};

/// The pairs with |A ∩ B| / |A ∪ B| ≥ similarity, of those that the scope asks for by their ages. Two empty sets do
/// not occur. Adds to the counts the pairs whose intersection was computed.
std::vector<class_pair> join_by_similarity(cpu_place& place, shingle_sets sets, const decimal& similarity,
                                           const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
