// SPDX-License-Identifier: Apache-2.0
// The merge of the CPU place, for runs that may lie in several pieces: what merge_pairs is made of, and what the
// sort beyond memory calls for the blocks it has read.
#pragma once

#include <span>

#include "device/cpu/place.hpp"
#include "primitives/merge/rank_split.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// What travels with keys that travel alone.
struct no_value {};

/// Merges all pieces into `out_keys` and `out_values` (as long as all pieces together; values unused for no_value),
/// stable by run. Compiled for every sortable_key with uint32, uint64 and no_value.
template <sortable_key Key, class Value>
void merge_pieces(cpu_place& place, std::span<const sorted_piece<Key, Value>> pieces, std::span<Key> out_keys,
                  Value* out_values, order direction);

}  // namespace quern::primitives
