// SPDX-License-Identifier: Apache-2.0
// All pairs of different sets whose Jaccard similarity reaches a bound, by prefixes: complete and exact.
#pragma once

#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "ops/near_duplicates/papers/words/word_sets.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

// Numbers for the shingles of a collection: equal numbers mean equal shingles.

/// The shingles of each document in the order of its text.
struct shingle_numbers {
    /// The number of a shingle that occurs once in the whole collection. Two of these are never equal.
    static constexpr std::uint32_t occurs_once = 0xffffffff;

    cpu_array<std::uint32_t> numbers;
    cpu_array<std::uint64_t> offsets;  ///< one more than documents, the first 0
    std::uint32_t end = 0;             ///< greater than all numbers except occurs_once

    word_list view() const { return {numbers.span(), offsets.span()}; }
};

/// Numbers the shingles of `width` words: equal numbers are equal words and vice versa. A non-empty document with fewer
/// words has one shingle: all its words.
/// - Cost: ⌈log₂ width⌉ sorts of all positions.
/// - Memory: 8 bytes per word, and 28 more to sort all at once; else in as many parts as half of the place's memory
///   requires.
/// - Throws usage_error if more than 2³² − 2 different sequences occur more than once.
shingle_numbers number_shingles(cpu_place& place, const word_list& documents, unsigned width);

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
