// SPDX-License-Identifier: Apache-2.0
// All pairs of fingerprints within a Hamming distance: complete, by the permuted tables of Manku, Jain and Das Sarma,
// "Detecting near-duplicates for web crawling", 2007.
//
// Cut the 64 bits into h + k blocks. Two fingerprints that differ in at most h bits differ in at most h blocks, so they
// agree in k of them at least. For each choice of k blocks a table is sorted by these, and the fingerprints that agree
// there are compared. A pair is taken in the table of its first k agreeing blocks alone, so none comes twice.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/near_duplicates/duplicate_classes.hpp"

namespace quern::near_duplicates_detail {

struct fingerprint_list {
    std::vector<std::uint64_t> fingerprints;  ///< all different
    std::vector<std::uint32_t> classes;       ///< what each belongs to
};

/// How the bits are cut: k blocks of h + k agree.
struct hamming_plan {
    unsigned blocks = 0, agreeing = 0;
};
/// The cheapest k for n fingerprints if their bits were even: few tables with long runs to compare, or many tables with
/// short ones. k = 0 is one table that is all one run: every pair is compared. Any choice finds the same pairs.
hamming_plan plan_hamming_join(std::uint64_t fingerprints, unsigned bits);

/// All pairs of classes within `bits`, of those that the scope asks for by their ages; no fingerprint is in two lists.
std::vector<class_pair> join_by_hamming_distance(cpu_place& place,
                                                 std::array<fingerprint_list, class_ages> lists,
                                                 unsigned bits, const hamming_plan& plan,
                                                 const duplicate_scope& scope, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
