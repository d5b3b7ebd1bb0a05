// SPDX-License-Identifier: Apache-2.0
// Sums of products without error, rounded once: Kulisch's long accumulator (Kulisch and Miranker 1986). Every product of
// two floats is a multiple of 2^-298, of two doubles of 2^-2148. The sum of any number of them is an integer in these
// units, held in digits of 32 bits, each in a signed word of 64 whose upper half takes the carries of 2^30 additions.
// Integers: the order of additions does not matter.
//
// Plain functions on an array of `limbs` words, so that a kernel may place the words anywhere and add to them with atomics;
// and exact_sum, which owns them. For every compiler, on host and device.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "primitives/types.hpp"

namespace quern::primitives {

/// The layout of a Value, and of a sum of products of two.
template <floating_value Value>
struct exact_layout {
    static constexpr bool is_float = std::is_same_v<Value, float>;
    using bits = std::conditional_t<is_float, std::uint32_t, std::uint64_t>;
    static constexpr unsigned precision = is_float ? 24 : 53;
    static constexpr unsigned exponents = is_float ? 0xff : 0x7ff;  ///< exponent field of non-finite values
    /// The position of the smallest subnormal Value's unit, in bits from the unit of products, which is its square.
    static constexpr unsigned least = is_float ? 149 : 1074;
    static constexpr unsigned product_digits = is_float ? 2 : 4;
    /// Digits for 2^64 products of the greatest values: 554 + 64 bits, 4,196 + 64 bits.
    static constexpr unsigned limbs = is_float ? 20 : 134;
    static constexpr bits infinity = bits{exponents} << (precision - 1);
    static constexpr bits quiet_nan = infinity | bits{1} << (precision - 2);
    static constexpr bits sign = ~(~bits{0} >> 1);
};

/// Flags, or-ed together, for values that cannot be added.
enum exact_flag : unsigned { sum_is_nan = 1, sum_has_plus_infinity = 2, sum_has_minus_infinity = 4 };

/// The maximum number of products before words must be carried (carry_limbs).
inline constexpr std::uint64_t max_uncarried = std::uint64_t{1} << 29;

/// Calls add(limb, amount) for the digits of a · x, |amount| < 2^32; returns flags if the product is not finite.
template <floating_value Value, class Add>
constexpr unsigned add_exact_product(Value a, Value x, Add&& add) {
    using layout = exact_layout<Value>;
    using bits = typename layout::bits;
    constexpr unsigned fraction_bits = layout::precision - 1;
    constexpr bits fraction = (bits{1} << fraction_bits) - 1;
    const bits a_bits = std::bit_cast<bits>(a), x_bits = std::bit_cast<bits>(x);
    const bool negative = ((a_bits ^ x_bits) & layout::sign) != 0;
    unsigned a_exponent = static_cast<unsigned>((a_bits & ~layout::sign) >> fraction_bits);
    unsigned x_exponent = static_cast<unsigned>((x_bits & ~layout::sign) >> fraction_bits);
    std::uint64_t a_part = a_bits & fraction, x_part = x_bits & fraction;
    if (a_exponent == layout::exponents || x_exponent == layout::exponents) {
        const bool no_number = (a_exponent == layout::exponents && a_part != 0) ||
                               (x_exponent == layout::exponents && x_part != 0) ||
                               (a_exponent | a_part) == 0 || (x_exponent | x_part) == 0;
        if (no_number) return sum_is_nan;
        return negative ? sum_has_minus_infinity : sum_has_plus_infinity;
    }
    if (a_exponent == 0)
        a_exponent = 1;
    else
        a_part |= std::uint64_t{1} << fraction_bits;
    if (x_exponent == 0)
        x_exponent = 1;
    else
        x_part |= std::uint64_t{1} << fraction_bits;
    if (a_part == 0 || x_part == 0) return 0;

    std::uint32_t digits[layout::product_digits] = {};
    if constexpr (layout::is_float) {
        const std::uint64_t product = a_part * x_part;
        digits[0] = static_cast<std::uint32_t>(product);
        digits[1] = static_cast<std::uint32_t>(product >> 32);
    } else {
        const std::uint64_t low = 0xffffffff;
        const std::uint64_t bottom = (a_part & low) * (x_part & low);
        const std::uint64_t middle =  // below 2^55
            (a_part & low) * (x_part >> 32) + (a_part >> 32) * (x_part & low) + (bottom >> 32);
        const std::uint64_t top = (a_part >> 32) * (x_part >> 32) + (middle >> 32);
        digits[0] = static_cast<std::uint32_t>(bottom);
        digits[1] = static_cast<std::uint32_t>(middle);
        digits[2] = static_cast<std::uint32_t>(top);
        digits[3] = static_cast<std::uint32_t>(top >> 32);
    }
    const unsigned position = a_exponent + x_exponent - 2, shift = position % 32;
    unsigned limb = position / 32;
    std::uint64_t carried = 0;
    for (const std::uint32_t digit : digits) {
        const std::uint64_t shifted = std::uint64_t{digit} << shift | carried;
        const auto amount = static_cast<std::int64_t>(shifted & 0xffffffff);
        add(limb++, negative ? -amount : amount);
        carried = shifted >> 32;
    }
    const auto amount = static_cast<std::int64_t>(carried);
    add(limb, negative ? -amount : amount);
    return 0;
}

/// Moves the bits above 32 of each word into the next: all words but the last are then within [0, 2^32), and the sign of
/// the last is that of the sum. Words within ±2^62.
template <floating_value Value>
constexpr void carry_limbs(std::int64_t* limbs) {
    constexpr unsigned last = exact_layout<Value>::limbs - 1;
    std::int64_t carry = 0;
    for (unsigned i = 0; i < last; ++i) {
        const std::int64_t word = limbs[i] + carry;
        limbs[i] = word & 0xffffffff;
        carry = word >> 32;
    }
    limbs[last] += carry;
}

/// The sum as the nearest Value, ties to even; non-finite results by the flags. Overwrites the words.
template <floating_value Value>
constexpr Value round_limbs(std::int64_t* limbs, unsigned flags) {
    using layout = exact_layout<Value>;
    using bits = typename layout::bits;
    constexpr unsigned both = sum_has_plus_infinity | sum_has_minus_infinity;
    if ((flags & sum_is_nan) != 0 || (flags & both) == both) return std::bit_cast<Value>(layout::quiet_nan);
    if ((flags & sum_has_plus_infinity) != 0) return std::bit_cast<Value>(layout::infinity);
    if ((flags & sum_has_minus_infinity) != 0)
        return std::bit_cast<Value>(static_cast<bits>(layout::infinity | layout::sign));

    carry_limbs<Value>(limbs);
    const bool negative = limbs[layout::limbs - 1] < 0;
    if (negative) {
        for (unsigned i = 0; i < layout::limbs; ++i) limbs[i] = -limbs[i];
        carry_limbs<Value>(limbs);
    }
    unsigned top = layout::limbs;
    while (top > 0 && limbs[top - 1] == 0) --top;
    if (top == 0) return Value(0);
    --top;
    unsigned highest = 32 * top;
    for (auto digit = static_cast<std::uint64_t>(limbs[top]); digit > 1; digit >>= 1) ++highest;

    // `unit` is the position of the result's last binary digit.
    const unsigned normal = highest < layout::precision - 1 ? 0 : highest - (layout::precision - 1);
    const unsigned unit = normal < layout::least ? layout::least : normal;
    const auto word = [limbs](unsigned i) {
        return i < layout::limbs ? static_cast<std::uint64_t>(limbs[i]) : std::uint64_t{0};
    };
    const unsigned first = unit / 32, shift = unit % 32;
    std::uint64_t whole = word(first) >> shift | word(first + 1) << (32 - shift);
    if (shift != 0) whole |= word(first + 2) << (64 - shift);
    const unsigned half = unit - 1;
    if ((word(half / 32) >> half % 32 & 1) != 0) {
        std::uint64_t below = word(half / 32) & ((std::uint64_t{1} << half % 32) - 1);
        for (unsigned i = 0; i < half / 32; ++i) below |= word(i);
        if (below != 0 || (whole & 1) != 0) ++whole;
    }
    // A carry out of the fraction correctly continues into the exponent.
    std::uint64_t rounded = (std::uint64_t{unit - layout::least} << (layout::precision - 1)) + whole;
    if (rounded > layout::infinity) rounded = layout::infinity;
    return std::bit_cast<Value>(static_cast<bits>(rounded | (negative ? layout::sign : bits{0})));
}

/// A sum of products that owns its words: 160 bytes for floats, 1,072 for doubles.
template <floating_value Value>
class exact_sum {
  public:
    constexpr void add_product(Value a, Value x) {
        if (uncarried_ == max_uncarried) {
            carry_limbs<Value>(limbs_);
            uncarried_ = 0;
        }
        ++uncarried_;
        flags_ |=
            add_exact_product(a, x, [this](unsigned limb, std::int64_t amount) { limbs_[limb] += amount; });
    }
    constexpr void add(exact_sum other) {
        carry_limbs<Value>(limbs_);
        carry_limbs<Value>(other.limbs_);
        for (unsigned i = 0; i < exact_layout<Value>::limbs; ++i) limbs_[i] += other.limbs_[i];
        flags_ |= other.flags_;
        uncarried_ = 1;
    }
    constexpr Value rounded() const {
        exact_sum copy = *this;
        return round_limbs<Value>(copy.limbs_, copy.flags_);
    }

  private:
    std::int64_t limbs_[exact_layout<Value>::limbs] = {};
    unsigned flags_ = 0;
    std::uint64_t uncarried_ = 0;
};

}  // namespace quern::primitives
