// SPDX-License-Identifier: Apache-2.0
// Stable radix sort of keys and of (key, value) pairs, of a whole array and within segments. Contract class: exact, the
// same bits on every place. Equal keys keep their order, in both directions: ascending ids stay ascending among ties.
//
// Floats: −0 and +0 are equal keys and keep their bits; infinities are ordinary; a NaN is rejected (invalid_value, "key P
// is not a number", P the first; CUDA: when the place is next synchronised; the arrays are then undefined).
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

struct sort_options {
    order direction = order::ascending;
    /// Unsigned keys only: no key has this bit or a higher one set. Fewer bits need fewer passes. Not checked.
    unsigned key_bits = std::numeric_limits<unsigned>::max();
};

/// Sorts in place. CPU: reads and writes everything twice, in cache-sized buckets. It takes n keys of extra memory, and up
/// to 5 MiB per thread; one thread sorts up to 512 KiB, with twice their size in addition. CUDA: one pass for each 8 bits
/// of key; takes n keys in addition, and 2 KiB for each 5632 keys or more to count with; does not synchronise.
template <sortable_key Key>
void sort_keys(cpu_place& place, std::span<Key> keys, sort_options options = {});
template <sortable_key Key>
void sort_keys(cuda_place& place, device_span<Key> keys, sort_options options = {});

/// Sorts both in place by key. Throws usage_error if the sizes differ. Memory as for keys, with pairs for keys; on the CPU
/// a pair of a 32-bit and a 64-bit item counts 16 bytes.
template <sortable_key Key, payload Value>
void sort_pairs(cpu_place& place, std::span<Key> keys, std::span<Value> values, sort_options options = {});
template <sortable_key Key, payload Value>
void sort_pairs(cuda_place& place, device_span<Key> keys, device_span<Value> values,
                sort_options options = {});

/// Sorts each segment in place: segment s has the items [offsets[s], offsets[s + 1]).
/// - `offsets` has one entry more than there are segments and ascends from 0 to keys.size() (offsets_not_rising is recorded
///   otherwise); no offsets means no segments and no items.
/// - Any mixture of sizes: empty segments, millions of small ones, one giant.
/// - CPU: takes up to 1 MiB per thread, and as much as sort_keys and sort_pairs for each segment of more than 512 KiB.
/// - CUDA: synchronises once, to read the sizes, and throws there for invalid offsets, and once more if a segment is longer
///   than 2²² (2²⁴ of 64-bit keys). Takes a byte per item and a little more, and n keys or pairs if a segment is longer
///   than 4096.
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
