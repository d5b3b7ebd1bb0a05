// SPDX-License-Identifier: Apache-2.0
// Keys as unsigned numbers: an order-preserving map from every key type to bits of the same width, so that sorting, merging
// and selecting use one comparison. A float is a sign and a magnitude; the map makes it a number in two's complement (−0
// and +0 become the same zero) and then moves the minimum to 0.
//
// The map is for comparing and for extracting digits; it is not invertible, because two zeros share a number. Code moves
// and returns the key itself, with its own bits.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "primitives/types.hpp"

namespace quern::primitives {

/// The unsigned number as wide as a key.
template <sortable_key Key>
using key_bits_t = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;

/// The highest bit alone.
template <class Bits>
inline constexpr Bits top_bit = Bits{1} << (8 * sizeof(Bits) - 1);

/// A float's stored bits → its place on the line of all floats, in two's complement: both zeros are 0, the smallest
/// positive float 1, the smallest negative −1. NaNs are beyond the infinities, at both ends.
template <class Bits>
constexpr Bits place_on_line(Bits stored) {
    using integer = std::make_signed_t<Bits>;
    const auto negative =
        static_cast<Bits>(static_cast<integer>(stored) >> (8 * sizeof(Bits) - 1));  // 0 or ~0
    return (stored ^ (negative >> 1)) - negative;
}

/// a < b exactly if ordered_bits(a) < ordered_bits(b); −0 and +0 have the same. Not for NaN.
template <sortable_key Key>
constexpr key_bits_t<Key> ordered_bits(Key key) {
    using bits = key_bits_t<Key>;
    const bits stored = std::bit_cast<bits>(key);
    if constexpr (floating_value<Key>)
        return place_on_line(stored) ^ top_bit<bits>;
    else if constexpr (std::is_signed_v<Key>)
        return stored ^ top_bit<bits>;
    else
        return stored;
}

/// The same for a direction: the first key has the smallest number, equal keys have equal numbers.
template <sortable_key Key>
constexpr key_bits_t<Key> ordered_bits(Key key, order direction) {
    const key_bits_t<Key> rising = ordered_bits(key);
    return direction == order::ascending ? rising : ~rising;
}

/// Always false for an integer.
template <sortable_key Key>
constexpr bool is_not_a_number(Key key) {
    if constexpr (floating_value<Key>)
        return key != key;
    else
        return false;
}

}  // namespace quern::primitives
