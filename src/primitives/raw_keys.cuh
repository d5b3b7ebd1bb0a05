// SPDX-License-Identifier: Apache-2.0
// Maps six types of key and two directions to four types and one direction: a kernel that is not bound by arithmetic takes
// keys as std::uint32_t, std::uint64_t, float or double in ascending order, and a mask. The keys' bits are combined with
// the mask (xor) on load and again on store, so that stored keys equal loaded ones. For floats the mask is the sign bit in
// descending order and zero otherwise, so −0 and +0 stay equal and keep their bits; for integers it moves the first key of
// the order to 0.
#pragma once

#include <cstdint>
#include <type_traits>

#include "primitives/keys.hpp"

namespace quern::primitives::cuda {

template <sortable_key Key>
using raw_key = std::conditional_t<floating_value<Key>, Key, key_bits_t<Key>>;

template <sortable_key Key>
constexpr key_bits_t<Key> mask_for(order direction) {
    using bits = key_bits_t<Key>;
    const bits descending = direction == order::descending ? ~bits{0} : bits{0};
    if constexpr (floating_value<Key>)
        return descending & top_bit<bits>;
    else if constexpr (std::is_signed_v<Key>)
        return descending ^ top_bit<bits>;
    else
        return descending;
}

/// Applies a mask, and removes it.
template <class Raw>
__device__ __forceinline__ Raw masked(Raw key, key_bits_t<Raw> mask) {
    if constexpr (std::is_same_v<Raw, float>)
        return __uint_as_float(__float_as_uint(key) ^ mask);
    else if constexpr (std::is_same_v<Raw, double>)
        return __longlong_as_double(
            static_cast<long long>(static_cast<std::uint64_t>(__double_as_longlong(key)) ^ mask));
    else
        return key ^ mask;
}

}  // namespace quern::primitives::cuda
