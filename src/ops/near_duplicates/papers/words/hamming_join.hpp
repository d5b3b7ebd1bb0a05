// SPDX-License-Identifier: Apache-2.0
// All pairs of fingerprints within a Hamming distance: complete, by the permuted tables of Manku, Jain and Das Sarma,
// "Detecting near-duplicates for web crawling", 2007.
//
// The 64 bits are cut into h + k blocks. Two fingerprints that differ in at most h bits differ in at most h blocks, so at
// least k blocks agree. For each choice of k blocks, a table is sorted by these, and the fingerprints that agree there are
// compared. A pair counts only in the table of its first k agreeing blocks, so none is found twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"

namespace quern::near_duplicates_detail {

struct fingerprint_list {
    std::vector<std::uint64_t> fingerprints;  ///< all different
    std::vector<std::uint32_t> classes;       ///< the class of each
};

/// How the bits are cut: k blocks of h + k must agree.
struct hamming_plan {
    unsigned blocks = 0, agreeing = 0;
};
/// The cheapest k for n fingerprints if their bits were uniform: few tables with long runs to compare, or many tables with
/// short ones. k = 0 is one table with a single run: every pair is compared. Any choice finds the same pairs.
hamming_plan plan_hamming_join(std::uint64_t fingerprints, unsigned bits);

/// All pairs of classes within `bits` that the scope requests according to their ages; no fingerprint is in two lists.
std::vector<class_pair> join_by_hamming_distance(cpu_place& place,
                                                 std::array<fingerprint_list, class_ages> lists,
                                                 unsigned bits, const hamming_plan& plan,
                                                 const duplicate_scope& scope, duplicate_counts& counts);

// Hamming distances with the vector registers of the current processor.

/// Writes the positions of the values that differ from x in at most `bits` bits to `found`, ascending; returns their
/// number. `found` must hold `size` positions.
std::size_t find_near(const std::uint64_t* values, std::size_t size, std::uint64_t x, unsigned bits,
                      std::uint32_t* found);

}  // namespace quern::near_duplicates_detail
