// SPDX-License-Identifier: Apache-2.0
// What sort and segmented sort share on a GPU: one radix sort of an array. See radix_sort_kernels.cuh for the method.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/place.hpp"
#include "primitives/raw_keys.cuh"
#include "primitives/sort/sort.hpp"

namespace quern::primitives::cuda {

/// How many low bits of a key differ at most: options.key_bits for unsigned keys.
template <sortable_key Key>
constexpr unsigned bits_to_sort(sort_options options) {
    constexpr unsigned all = 8 * sizeof(Key);
    return std::is_unsigned_v<Key> && options.key_bits < all ? options.key_bits : all;
}

/// Room for a second copy of what is sorted; null lets radix_sort take it.
template <class Raw, class Value>
struct sort_room {
    Raw* keys = nullptr;
    Value* values = nullptr;
};

/// Enqueues a stable sort, in place, of `count` keys as raw_keys.cuh has them, with their values (null for no_value).
/// `look_for_nan`: notes the first key that is not a number, by its position from `keys` on.
template <class Raw, class Value>
void radix_sort(cuda_place& place, Raw* keys, Value* values, std::uint64_t count, key_bits_t<Raw> mask,
                unsigned bits, bool look_for_nan, sort_room<Raw, Value> room = {});

/// Notes the first key that is not a number (key_not_a_number). Nothing for integers.
template <class Raw>
void refuse_nan(cuda_place& place, const Raw* keys, std::uint64_t count);

}  // namespace quern::primitives::cuda
