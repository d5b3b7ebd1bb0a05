// SPDX-License-Identifier: Apache-2.0
// All pairs of different sets of shingles whose Jaccard similarity reaches a bound, by prefixes: complete and exact.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/shingle_set.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// The set of each class, by one of its documents.
struct shingle_sets {
    const word_list& documents;
    const shingle_counts* counts;  ///< null on a GPU, which has its own
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

/// Of each document's set.
struct set_measures {
    cpu_array<std::uint64_t> sizes, hashes;  ///< equal sets have equal hashes
};

set_measures measure_sets(cpu_place& place, const word_list& documents, const shingle_rule& rule,
                          const shingle_counts& counts_of);
/// Documents of one hash whose sets are the same. `counts_of` may be null. Releases the hashes.
document_classes classes_of_sets(cpu_place& place, const word_list& documents, const shingle_rule& rule,
                                 const shingle_counts* counts_of, set_measures& measures);
/// Releases the sizes.
shingle_sets sets_of_classes(const word_list& documents, const shingle_rule& rule,
                             const shingle_counts* counts_of, const document_classes& classes,
                             const duplicate_scope& scope, set_measures& measures);

/// All pairs of documents. Documents of one hash whose sets are the same become a class, by their words; `join` finds the
/// pairs of classes. `counts_of` may be null.
std::vector<duplicate_pair> pairs_by_sets(
    cpu_place& place, const word_list& documents, const shingle_rule& rule, const shingle_counts* counts_of,
    set_measures measures, const duplicate_scope& scope, duplicate_counts& counts,
    const std::function<std::vector<class_pair>(const shingle_sets&)>& join);

/// find_by_shingles() with a rule whose hashes may be weak.
/// - On a GPU (shingle_join_cuda.cu): the same pairs. Device memory: 56 bytes a word and 120 a document if that much is left,
///   else parts; of the host's 80 bytes a document, 64 MiB, and the pairs.
std::vector<duplicate_pair> find_by_shingles(cpu_place& place, const word_list& documents,
                                             const shingle_rule& rule, const decimal& similarity,
                                             const duplicate_scope& scope, duplicate_counts& counts);
std::vector<duplicate_pair> find_by_shingles(cuda_place& place, const word_list& documents,
                                             const shingle_rule& rule, const decimal& similarity,
                                             const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
