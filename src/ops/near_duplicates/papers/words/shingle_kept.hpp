// SPDX-License-Identifier: Apache-2.0
// The rule near-kept by shingles without a list of all pairs: n pages of one template make n (n - 1) / 2 pairs, of which the
// rule needs n.
#pragma once

#include <optional>
#include <vector>

#include "ops/near_duplicates/papers/words/shingle_set.hpp"
#include "quern/ops/near_kept.hpp"

namespace quern::near_duplicates_detail {

/// The documents that near_kept() removes by the pairs of method shingle in this scope. The documents that stay come before all
/// others. On the CPU. Nothing if an index of the prefixes of what stays does not fit half of the memory: then the pairs
/// decide. Adds the intersections to the counts. Throws usage_error, interrupted, out_of_memory.
/// Memory: that of find_by_shingles(), without its candidates and pairs; 24 to 56 bytes for each shingle in a prefix of a
/// document that stays. Cost: a set for each document that is unlike all before it, or near one that stays; and the
/// intersections with documents that stay and share a shingle of the prefix, up to the first near one.
std::optional<std::vector<removed_duplicate>> near_kept_by_shingles(
    const word_list& documents, const shingle_rule& rule, const decimal& similarity,
    const duplicate_scope& scope, const kept_order& order, const context& ctx, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
