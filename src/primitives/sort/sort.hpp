// SPDX-License-Identifier: Apache-2.0
// Stable radix sort of keys and of (key, value) pairs, whole and within segments. Contract class: exact, the same
// bits on every place. Equal keys keep their order, in both directions: ids that rise go on rising among ties.
//
// Floats: −0 and +0 are equal keys and keep their bits; infinities are ordinary; a NaN is refused (invalid_value,
// "key P is not a number", P the first; CUDA: when the place is next synchronised, and the arrays are then
// worth nothing).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

struct sort_options {
    order direction = order::ascending;
    /// Unsigned keys only: no key has a bit set from this one on. Fewer bits, fewer passes. Not checked.
    unsigned key_bits = std::numeric_limits<unsigned>::max();
};

/// Sorts in place. Cost: O(n) passes over the keys, 8 to 11 bits each; takes n keys of memory beside. CUDA: does not
/// synchronise.
template <sortable_key Key>
void sort_keys(cpu_place& place, std::span<Key> keys, sort_options options = {});
template <sortable_key Key>
void sort_keys(cuda_place& place, device_span<Key> keys, sort_options options = {});

/// Sorts both in place by key. Throws usage_error where the sizes differ. Takes n pairs of memory beside.
template <sortable_key Key, payload Value>
void sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values, sort_options options = {});
template <sortable_key Key, payload Value>
void sort_pairs(cuda_place& place, device_span<Key> keys, device_span<Value> values,
                sort_options options = {});

/// Sorts each segment in place: segment s holds the items [offsets[s], offsets[s + 1]). `offsets` has one entry
/// more than there are segments, rises from 0 to keys.size() (offsets_not_rising is noted otherwise); no offsets
/// at all means no segments and no items. Any mixture of sizes: empty segments, millions of small ones, one giant.
/// CUDA: synchronises once, to learn the sizes, and throws there for wrong offsets; takes a byte an item and
/// a little more, and n keys or pairs where a segment is longer than 4096.
template <sortable_key Key>
void segmented_sort_keys(cpu_place& place, std::span<Key> keys, std::span<const std::uint64_t> offsets,
                         sort_options options = {});
template <sortable_key Key>
void segmented_sort_keys(cuda_place& place, device_span<Key> keys, device_span<const std::uint64_t> offsets,
                         sort_options options = {});
template <sortable_key Key, payload Value>
void segmented_sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values,
                          std::span<const std::uint64_t> offsets, sort_options options = {});
template <sortable_key Key, payload Value>
void segmented_sort_pairs(cuda_place& place, device_span<Key> keys, device_span<Value> values,
                          device_span<const std::uint64_t> offsets, sort_options options = {});

}  // namespace quern::primitives
