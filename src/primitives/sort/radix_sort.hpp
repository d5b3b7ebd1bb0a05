// SPDX-License-Identifier: Apache-2.0
// What sort and segmented sort share on a GPU: one radix sort with memory that the caller gives.
#pragma once

#include <cstdint>

#include "device/cuda/place.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::primitives::cuda {

/// In place of a value where keys travel alone.
struct no_value {};

/// How many low bits of a key differ at most: options.key_bits for unsigned keys.
template <sortable_key Key>
constexpr unsigned bits_to_sort(sort_options options) {
    constexpr unsigned all = 8 * sizeof(Key);
    return std::is_unsigned_v<Key> && options.key_bits < all ? options.key_bits : all;
}

/// Enqueues a stable sort of `count` keys with their values, which it leaves where they were; the spares are room
/// for as many. Values are null for no_value. Does not look for NaN.
template <sortable_key Key, class Value>
void radix_sort(cuda_place& place, Key* keys, Key* spare_keys, Value* values, Value* spare_values,
                std::uint64_t count, sort_options options);

/// Notes the first key that is not a number (key_not_a_number). Nothing for integers.
template <sortable_key Key>
void refuse_nan(cuda_place& place, device_span<const Key> keys);

}  // namespace quern::primitives::cuda
