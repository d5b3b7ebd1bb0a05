// SPDX-License-Identifier: Apache-2.0
// Shared by sort and segmented sort on a GPU: one radix sort of an array. radix_sort_kernels.cuh has the method.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/cuda_place.hpp"
#include "primitives/raw_keys.cuh"
#include "primitives/sort/sort.hpp"

namespace quern::primitives::cuda {

/// The maximum number of low bits in which keys differ: options.key_bits for unsigned keys.
template <sortable_key Key>
constexpr unsigned bits_to_sort(sort_options options) {
    constexpr unsigned all = 8 * sizeof(Key);
    return std::is_unsigned_v<Key> && options.key_bits < all ? options.key_bits : all;
}

/// Memory for a second copy of the data; null lets radix_sort allocate it.
template <class Raw, class Value>
struct sort_scratch {
    Raw* keys = nullptr;
    Value* values = nullptr;
};

/// Enqueues a stable sort, in place, of `count` keys in the form of raw_keys.cuh, with their values (null for no_value).
/// `look_for_nan`: records the first NaN key, by its position from `keys` on.
template <class Raw, class Value>
void radix_sort(cuda_place& place, Raw* keys, Value* values, std::uint64_t count, key_bits_t<Raw> mask,
                unsigned bits, bool look_for_nan, sort_scratch<Raw, Value> capacity = {});

/// Records the first NaN key (key_not_a_number). Does nothing for integers.
template <class Raw>
void refuse_nan(cuda_place& place, const Raw* keys, std::uint64_t count);

}  // namespace quern::primitives::cuda
