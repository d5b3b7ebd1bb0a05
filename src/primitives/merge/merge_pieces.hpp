// SPDX-License-Identifier: Apache-2.0
// The merge of the CPU place, for runs that may be in several pieces: merge_pairs is built on it, and the external sort
// calls it for the blocks it has read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cpu/cpu_place.hpp"
#include "primitives/merge/rank_split.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Merges the pieces, stable by run, and writes the pairs of ranks [first_rank, first_rank + out_keys.size()), which must
/// exist, to `out_keys` and `out_values` (unused for no_value). Compiled for every sortable_key with uint32, uint64 and
/// no_value. Takes merge_bytes_per_piece of memory for each piece and thread.
template <sortable_key Key, class Value>
void merge_pieces(cpu_place& place, std::span<const sorted_piece<Key, Value>> pieces,
                  std::uint64_t first_rank, std::span<Key> out_keys, Value* out_values, order direction);

inline constexpr std::size_t merge_bytes_per_piece = 320;

}  // namespace quern::primitives
