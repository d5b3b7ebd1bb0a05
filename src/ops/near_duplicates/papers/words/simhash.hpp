// SPDX-License-Identifier: Apache-2.0
// Fingerprints of documents (Charikar, "Similarity estimation techniques from rounding algorithms", 2002; Manku, Jain and
// Das Sarma, "Detecting near-duplicates for web crawling", 2007), and the method with any hash of words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// The hash of a word of which only the id is known.
std::uint64_t hash_of_word_id(std::uint32_t word);

/// Every word w of a set adds weights[w] to the sums of the bits that hashes[w] has and subtracts it from the others. A bit
/// of the set's fingerprint is 1 if its sum exceeds `cut`.
std::vector<std::uint64_t> fingerprints_of(cpu_place& place, const word_list& sets,
                                           std::span<const std::uint64_t> hashes,
                                           std::span<const std::uint8_t> weights, std::int64_t cut);

/// The method with a given hash for every word of the vocabulary.
std::vector<duplicate_pair> find_by_simhash(cpu_place& place, const word_list& documents,
                                            std::span<const std::uint64_t> hashes,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
