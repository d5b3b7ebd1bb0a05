// SPDX-License-Identifier: Apache-2.0
// All pairs of different sets of shingles whose Jaccard similarity reaches a bound, by prefixes: complete and exact.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/shingle_set.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// The set of each class, by one of its documents.
struct shingle_sets {
    const word_list& documents;
    const shingle_counts& counts;
    shingle_rule rule;
    std::vector<std::uint32_t> firsts;  ///< the document, by class
    std::vector<std::uint64_t> sizes;   ///< of the set
    std::vector<class_age> ages;
};

/// The pairs with |A ∩ B| / |A ∪ B| ≥ similarity that the scope requests according to their ages. No two sets are equal.
/// Adds the pairs whose intersection was computed to the counts.
/// - Memory: a third of the place's memory for the shingles of prefixes, which spill to run().scratch_folder(); 16 bytes a
///   class; 8 bytes a pair whose prefixes share a shingle, else out_of_memory.
std::vector<class_pair> join_by_similarity(cpu_place& place, const shingle_sets& sets,
                                           const decimal& similarity, const duplicate_scope& scope,
                                           duplicate_counts& counts);

/// find_by_shingles() with a rule whose hashes may be weak.
std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const shingle_rule& rule, const decimal& similarity,
                                             const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
