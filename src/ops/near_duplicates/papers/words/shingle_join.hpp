// SPDX-License-Identifier: Apache-2.0
// All pairs of different sets whose Jaccard similarity reaches a bound, by prefixes: complete and exact.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/word_sets.hpp"

namespace quern::near_duplicates_detail {

/// The set of each class, in two parts: the numbers that it shares with others, and its total size.
struct shingle_sets {
    number_sets shared;  ///< numbers below `end`
    std::uint32_t end = 0;
    std::vector<std::uint64_t> sizes;  ///< including the numbers that no other set has
    std::vector<class_age> ages;
};

/// The pairs with |A ∩ B| / |A ∪ B| ≥ similarity that the scope requests according to their ages. Two empty sets do not
/// occur. Adds the pairs whose intersection was computed to the counts.
std::vector<class_pair> join_by_similarity(cpu_place& place, shingle_sets sets, const decimal& similarity,
                                           const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
