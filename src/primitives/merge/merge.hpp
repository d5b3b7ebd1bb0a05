// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs into one. Contract class: exact and stable: equal keys keep the order of the runs, and their order
// within a run. Floats as in sort.hpp; the runs must be sorted, which is not checked.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// Merges the runs [offsets[r], offsets[r + 1]) of `keys` and `values` into `out_keys` and `out_values`, which have the
/// same sizes and do not overlap them. Offsets as for segmented_sort_keys, in host memory on every place; any number of
/// runs, including empty ones.
///
/// CPU: one pass (a tree of losers over all runs, cut into equal chunks by key rank for the threads); about 320 bytes for
/// each run and thread. CUDA: ⌈log₂ runs⌉ passes; more than 32 runs (512 of 64-bit keys), whose passes would take longer
/// than sorting, are copied to the output and sorted there, stably and therefore with the same result. With more than two
/// runs it takes as much memory as the pairs in addition. Checks the offsets first (offsets_not_rising, thrown immediately
/// on every place); does not synchronise.
template <sortable_key Key, payload Value>
void merge_pairs(cpu_place& place, std::span<const Key> keys, std::span<const Value> values,
                 std::span<const std::uint64_t> offsets, std::span<Key> out_keys, std::span<Value> out_values,
                 order direction = order::ascending);
template <sortable_key Key, payload Value>
void merge_pairs(cuda_place& place, device_span<const Key> keys, device_span<const Value> values,
                 std::span<const std::uint64_t> offsets, device_span<Key> out_keys,
                 device_span<Value> out_values, order direction = order::ascending);

template <sortable_key Key>
void merge_keys(cpu_place& place, std::span<const Key> keys, std::span<const std::uint64_t> offsets,
                std::span<Key> out_keys, order direction = order::ascending);
template <sortable_key Key>
void merge_keys(cuda_place& place, device_span<const Key> keys, std::span<const std::uint64_t> offsets,
                device_span<Key> out_keys, order direction = order::ascending);

}  // namespace quern::primitives
