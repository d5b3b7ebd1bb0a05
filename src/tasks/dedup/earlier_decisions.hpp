// SPDX-License-Identifier: Apache-2.0
// The decisions of earlier runs with a store, which later runs keep.
#pragma once

#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/duplicate_store.hpp"

namespace quern {

/// Pairs from which near_kept() decides about the documents of a store: the stored ones, and each text with its first
/// equal one. `sketches`: of the texts; none with methods of words, whose stored pairs are all.
std::vector<duplicate_pair> pairs_to_decide(std::vector<duplicate_pair> stored,
                                            const text_sketches& sketches);

/// Decides about documents of which no run has decided yet, in their order, by rule near-kept. Leaves those out for
/// which `is_new` holds. `pairs` as above.
void complete_decisions(std::span<const duplicate_pair> pairs, const std::vector<bool>& is_new,
                        std::vector<document_decision>& decisions, const context& ctx);

}  // namespace quern
