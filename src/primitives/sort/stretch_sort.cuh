// SPDX-License-Identifier: Apache-2.0
// Sorts within one multiprocessor, of which the segmented sort is made: very short segments many a block, longer ones
// and the pieces of long ones a block each.
#pragma once

#include <cstdint>

#include "device/cuda/place.hpp"
#include "primitives/raw_keys.cuh"

namespace quern::primitives::cuda {

/// What one block sorts: `length` items from `begin` on, written where they were or, for `to_spare`, at the same
/// positions of the spare arrays.
struct stretch {
    std::uint64_t begin;
    std::uint32_t length;
    std::uint32_t to_spare;
};

/// Lengths up to which a stretch is sorted by one way: counting, and blocks of three sizes.
inline constexpr std::uint32_t counted_length = 255;
inline constexpr unsigned block_kinds = 3;
constexpr std::uint32_t block_length(unsigned kind) {
    return kind == 0 ? 512 : kind == 1 ? 2048 : 4096;
}
inline constexpr std::uint32_t longest_stretch = block_length(block_kinds - 1);

/// Keys as raw_keys.cuh has them. Values are null for no_value.
template <class Raw, class Value>
struct sorted_arrays {
    Raw* keys;
    Raw* spare_keys;
    Value* values;
    Value* spare_values;
    key_bits_t<Raw> mask;
    unsigned bits;  ///< how many low bits of a key differ at most
};

/// Enqueues the sorting of `count` stretches of at most block_length(kind) items; the list is in device memory.
template <class Raw, class Value>
void sort_stretches(cuda_place& place, unsigned kind, const stretch* stretches, std::uint64_t count,
                    sorted_arrays<Raw, Value> arrays);

/// Enqueues the sorting of the first `length` items, at most longest_stretch, in place.
template <class Raw, class Value>
void sort_stretch(cuda_place& place, std::uint32_t length, sorted_arrays<Raw, Value> arrays);

/// Enqueues the sorting of segments of at most counted_length items: lengths[i] is the length of the one that begins
/// at i, and 0 where none does. In place.
template <class Raw, class Value>
void sort_counted(cuda_place& place, const std::uint8_t* lengths, std::uint64_t items,
                  sorted_arrays<Raw, Value> arrays);

}  // namespace quern::primitives::cuda
