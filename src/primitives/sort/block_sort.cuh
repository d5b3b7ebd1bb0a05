// SPDX-License-Identifier: Apache-2.0
// Sorts within one multiprocessor, the building blocks of the segmented sort: many very short segments per block, and one
// block for each longer segment or piece of a long one.
#pragma once

#include <cstdint>

#include "device/cuda/cuda_place.hpp"
#include "primitives/raw_keys.cuh"

namespace quern::primitives::cuda {

/// Digits of keys for the radix sorts. A kernel holds keys as ordered bits: an invertible, order-preserving map to unsigned
/// numbers, in which −0 and +0 are neighbours; they become equal when a digit is extracted.
template <class Raw>
__device__ __forceinline__ key_bits_t<Raw> bits_of(Raw key) {
    if constexpr (std::is_same_v<Raw, float>)
        return __float_as_uint(key);
    else if constexpr (std::is_same_v<Raw, double>)
        return static_cast<std::uint64_t>(__double_as_longlong(key));
    else
        return key;
}

template <class Raw>
__device__ __forceinline__ key_bits_t<Raw> rising_bits(Raw key) {
    using bits = key_bits_t<Raw>;
    const bits stored = bits_of(key);
    if constexpr (floating_value<Raw>)
        return (stored & top_bit<bits>) != 0 ? static_cast<bits>(~stored) : stored ^ top_bit<bits>;
    else
        return stored;
}

template <class Raw>
__device__ __forceinline__ Raw from_rising_bits(key_bits_t<Raw> rising) {
    using bits = key_bits_t<Raw>;
    if constexpr (floating_value<Raw>)
        return masked<Raw>(
            Raw{}, (rising & top_bit<bits>) != 0 ? rising ^ top_bit<bits> : static_cast<bits>(~rising));
    else
        return rising;
}

/// Ordered bits in which −0 has become +0: the source of digits.
template <class Raw>
__device__ __forceinline__ key_bits_t<Raw> without_negative_zero(key_bits_t<Raw> rising) {
    if constexpr (floating_value<Raw>)
        return rising + (rising == top_bit<key_bits_t<Raw>> - 1);
    else
        return rising;
}

/// Eight bits of ordered bits, for CUB's ranking.
template <class Raw>
struct digit_of_rising {
    unsigned shift;
    __device__ __forceinline__ std::uint32_t Digit(key_bits_t<Raw> rising) const {
        return static_cast<std::uint32_t>(without_negative_zero<Raw>(rising) >> shift) & 255u;
    }
};

/// The work of one block: `length` items from `begin` on, written in place or, for `to_spare`, at the same positions of the
/// spare arrays.
struct block_range {
    std::uint64_t begin;
    std::uint32_t length;
    std::uint32_t to_spare;
};

/// The maximum lengths for each method: counting, and blocks of three sizes.
inline constexpr std::uint32_t counted_length = 255;
inline constexpr unsigned block_kinds = 3;
constexpr std::uint32_t block_length(unsigned kind) {
    return kind == 0 ? 512 : kind == 1 ? 2048 : 4096;
}
inline constexpr std::uint32_t longest_block_range = block_length(block_kinds - 1);

/// Keys in the form of raw_keys.cuh. Values are null for no_value.
template <class Raw, class Value>
struct sorted_arrays {
    Raw* keys;
    Raw* spare_keys;
    Value* values;
    Value* spare_values;
    key_bits_t<Raw> mask;
    unsigned bits;  ///< maximum number of low bits in which keys differ
};

/// Enqueues the sorting of `count` ranges of at most block_length(kind) items; the list is in device memory.
template <class Raw, class Value>
void sort_block_ranges(cuda_place& place, unsigned kind, const block_range* block_ranges, std::uint64_t count,
                       sorted_arrays<Raw, Value> arrays);

/// Enqueues the sorting of the first `length` items, at most longest_block_range, in place.
template <class Raw, class Value>
void sort_block_range(cuda_place& place, std::uint32_t length, sorted_arrays<Raw, Value> arrays);

/// Enqueues the sorting of segments of at most counted_length items: lengths[i] is the length of the one that begins at i,
/// and 0 if none does. In place.
template <class Raw, class Value>
void sort_counted(cuda_place& place, const std::uint8_t* lengths, std::uint64_t items,
                  sorted_arrays<Raw, Value> arrays);

}  // namespace quern::primitives::cuda
