// SPDX-License-Identifier: Apache-2.0
// Sums of a pair by packed words: several components in each 32 bits, unpacked or multiplied in place.
#pragma once

#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {

template <vector_type Type>
inline constexpr unsigned items_of_word = 4 / sizeof(stored_t<Type>);

/// Item j of a word.
template <vector_type Type>
__device__ inline component_t<Type> item_of_word(std::uint32_t word, unsigned j) {
    if constexpr (Type == vector_type::f32)
        return __uint_as_float(word);
    else if constexpr (Type == vector_type::f16)
        return __half2float(
            __ushort_as_half(static_cast<unsigned short>(j == 0 ? word & 0xffffu : word >> 16)));
    else if constexpr (Type == vector_type::bf16)
        return __uint_as_float(j == 0 ? word << 16 : word & 0xffff0000u);
    else if constexpr (Type == vector_type::i16)
        return j == 0 ? static_cast<std::int32_t>(word << 16) >> 16 : static_cast<std::int32_t>(word) >> 16;
    else
        return value_of<Type>(static_cast<stored_t<Type>>(word >> (8 * j)));
}

/// The mask for bytes before differences are taken: differences of signed bytes equal those of the same bytes relative to
/// the minimum.
template <vector_type Type, part_kind Kind>
inline constexpr std::uint32_t byte_offsets =
    Type == vector_type::i8 && Kind != part_kind::products ? 0x80808080u : 0;

/// Σ x·y of four bytes each, added.
template <vector_type Type, std::unsigned_integral Sum>
__device__ inline Sum with_byte_products(Sum sum, std::uint32_t x, std::uint32_t y) {
    if constexpr (Type == vector_type::i8) {
        const auto left = static_cast<std::int32_t>(x), right = static_cast<std::int32_t>(y);
        if constexpr (sizeof(Sum) == 4)
            return static_cast<Sum>(__dp4a(left, right, static_cast<std::int32_t>(sum)));
        else
            return sum + static_cast<Sum>(static_cast<std::int64_t>(__dp4a(left, right, 0)));
    } else {
        if constexpr (sizeof(Sum) == 4)
            return __dp4a(x, y, sum);
        else
            return sum + __dp4a(x, y, 0u);
    }
}

/// An integer sum plus the items of one word, in any order. Bytes have been exclusive-ored with byte_offsets.
template <vector_type Type, part_kind Kind, std::unsigned_integral Sum>
__device__ inline Sum with_word(Sum sum, std::uint32_t a, std::uint32_t b) {
    if constexpr (Kind == part_kind::different_bits) {
        return sum + static_cast<Sum>(__popc(a ^ b));
    } else if constexpr (Type == vector_type::i16) {
        sum = with_part<Kind>(sum, item_of_word<Type>(a, 0), item_of_word<Type>(b, 0));
        return with_part<Kind>(sum, item_of_word<Type>(a, 1), item_of_word<Type>(b, 1));
    } else if constexpr (Kind == part_kind::products) {
        return with_byte_products<Type>(sum, a, b);
    } else {
        const std::uint32_t differences = __vabsdiffu4(a, b);
        if constexpr (Kind == part_kind::squares) {
            sum = with_byte_products<vector_type::u8>(sum, differences, differences);
        } else if constexpr (Kind == part_kind::differences) {
            sum = with_byte_products<vector_type::u8>(sum, differences, 0x01010101u);
        } else {
            for (unsigned j = 0; j < 4; ++j)
                sum = joined<Kind>(sum, static_cast<Sum>(differences >> (8 * j) & 0xffu));
        }
        return sum;
    }
}

/// Sixteen bytes of two rows, whose items go to one partial sum each (floats) or all to one sum (integers).
template <class Traits>
struct word_sums {
    using sum_type = typename Traits::sum;
    static constexpr bool floating = std::same_as<sum_type, float>;
    static constexpr unsigned count = floating ? 4 * items_of_word<Traits::type> : 1;
    sum_type sums[count] = {};

    __device__ void add(const uint4& a, const uint4& b) {
        const std::uint32_t left[] = {a.x, a.y, a.z, a.w}, right[] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (unsigned w = 0; w < 4; ++w) {
            if constexpr (floating) {
                constexpr unsigned items = items_of_word<Traits::type>;
#pragma unroll
                for (unsigned j = 0; j < items; ++j) {
                    sum_type& sum = sums[items * w + j];
                    sum = with_part<Traits::kind>(sum, item_of_word<Traits::type>(left[w], j),
                                                  item_of_word<Traits::type>(right[w], j));
                }
            } else {
                constexpr std::uint32_t offsets = byte_offsets<Traits::type, Traits::kind>;
                sums[0] =
                    with_word<Traits::type, Traits::kind>(sums[0], left[w] ^ offsets, right[w] ^ offsets);
            }
        }
    }

    /// Joins the sums of `lanes` neighbouring lanes (for floats 16 / count, lane l owning the partial sums from count · l
    /// on): the tree. All of them get the result. All lanes of the warp must call it.
    __device__ sum_type tree(unsigned lanes) {
        constexpr unsigned everyone = 0xffffffffu;
        if constexpr (floating) {
#pragma unroll
            for (unsigned half = partial_sums / 2; half >= count; half /= 2)
#pragma unroll
                for (sum_type& sum : sums)
                    sum = joined<Traits::kind>(sum, __shfl_xor_sync(everyone, sum, half / count));
            tree_of_array<Traits::kind, count>(sums);
        } else {
            for (unsigned half = lanes / 2; half != 0; half /= 2)
                sums[0] = joined<Traits::kind>(sums[0], __shfl_xor_sync(everyone, sums[0], half));
        }
        return sums[0];
    }
};

}  // namespace quern::nearest_detail
