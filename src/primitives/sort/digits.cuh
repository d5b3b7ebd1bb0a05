// SPDX-License-Identifier: Apache-2.0
// Digits of keys for the radix sorts. A kernel holds keys as ordered bits: an invertible, order-preserving map to unsigned
// numbers, in which −0 and +0 are neighbours; they become equal when a digit is extracted.
#pragma once

#include <cstdint>

#include "primitives/raw_keys.cuh"

namespace quern::primitives::cuda {

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

}  // namespace quern::primitives::cuda
