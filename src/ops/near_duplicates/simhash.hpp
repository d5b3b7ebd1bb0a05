// SPDX-License-Identifier: Apache-2.0
// Fingerprints of documents (Charikar, "Similarity estimation techniques from rounding algorithms", 2002; Manku, Jain
// and Das Sarma, "Detecting near-duplicates for web crawling", 2007), and the method with words hashed as the caller
// likes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/place.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// The hash of a word of which only the id is known.
std::uint64_t hash_of_word_id(std::uint32_t word);

/// Every word w of a set adds weights[w] to the sums of the bits that hashes[w] has and takes it from the others; a
/// bit of the set's fingerprint is 1 where its sum exceeds `cut`.
std::vector<std::uint64_t> fingerprints_of(cpu_place& place, const word_list& sets,
                                           std::span<const std::uint64_t> hashes,
                                           std::span<const std::uint8_t> weights, std::int64_t cut);

/// The method with the hash of every word of the vocabulary given.
std::vector<duplicate_pair> find_by_simhash(cpu_place& place, const word_list& documents,
                                            std::span<const std::uint64_t> hashes,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
