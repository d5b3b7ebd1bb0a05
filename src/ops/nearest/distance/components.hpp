// SPDX-License-Identifier: Apache-2.0
// Component j of a row of any type, exactly: floats as f32 (every f16 and bf16 is one), f64 as f64, integers as int32. And
// the addend of a pair of components to a distance (distance.hpp). A plain header, for every place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ops/nearest/distance/distance.hpp"

namespace quern::nearest_detail {

// ---- Floats of 16 bits, exactly ----

constexpr float float_of_half(std::uint16_t half) {
    const std::uint32_t magnitude = half & 0x7fffu;
    std::uint32_t bits = (magnitude << 13) + (112u << 23);  // the exponent's bias: 15 → 127
    if (magnitude >= 0x7c00u) {
        bits = 0x7f800000u | magnitude << 13;  // infinities and NaNs
    } else if (magnitude < 0x0400u) {
        // Subnormal, m·2^-24: 2^-14·(1 + m/1024) minus 2^-14.
        constexpr std::uint32_t min_normal = 113u << 23;
        bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(min_normal + (magnitude << 13)) -
                                            std::bit_cast<float>(min_normal));
    }
    return std::bit_cast<float>(bits | static_cast<std::uint32_t>(half & 0x8000u) << 16);
}

constexpr float float_of_bfloat(std::uint16_t bfloat) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat) << 16);
}

// ---- Components ----

/// The stored form of a type; eight components for bits.
template <vector_type Type>
using stored_t = std::conditional_t<
    is_float(Type),
    std::conditional_t<Type == vector_type::f64, double,
                       std::conditional_t<Type == vector_type::f32, float, std::uint16_t>>,
    std::conditional_t<Type == vector_type::i16, std::int16_t,
                       std::conditional_t<Type == vector_type::i8, std::int8_t, std::uint8_t>>>;

/// The type of a component after it is read.
template <vector_type Type>
using component_t = std::conditional_t<Type == vector_type::f64, double,
                                       std::conditional_t<is_float(Type), float, std::int32_t>>;

/// The value of a stored component; not for bits.
template <vector_type Type>
constexpr component_t<Type> value_of(stored_t<Type> stored) {
    static_assert(Type != vector_type::bits, "eight components a byte: component()");
    if constexpr (Type == vector_type::f16)
        return float_of_half(stored);
    else if constexpr (Type == vector_type::bf16)
        return float_of_bfloat(stored);
    else
        return stored;
}

template <vector_type Type>
constexpr component_t<Type> component(const stored_t<Type>* row, std::uint32_t j) {
    if constexpr (Type == vector_type::bits)
        return row[j / 8] >> (j % 8) & 1;
    else
        return value_of<Type>(row[j]);
}

/// Whether the float is neither infinite nor NaN, by its bits.
constexpr bool is_finite(float value) {
    return (std::bit_cast<std::uint32_t>(value) & 0x7f800000u) != 0x7f800000u;
}
constexpr bool is_finite(double value) {
    return (std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff) != 0x7ff;
}

/// The first component of row i of a tile stored at `values`.
template <vector_type Type>
constexpr const stored_t<Type>* row_at(const std::byte* values, std::uint64_t stride, std::uint64_t i) {
    return static_cast<const stored_t<Type>*>(static_cast<const void*>(values + i * stride));
}

/// work(std::integral_constant<vector_type, …>) for the type: one implementation for all types.
template <class Work>
decltype(auto) with_type(vector_type type, Work&& work) {
    using enum vector_type;
    switch (type) {
        case f16:
            return work(std::integral_constant<vector_type, f16>());
        case bf16:
            return work(std::integral_constant<vector_type, bf16>());
        case i16:
            return work(std::integral_constant<vector_type, i16>());
        case i8:
            return work(std::integral_constant<vector_type, i8>());
        case u8:
            return work(std::integral_constant<vector_type, u8>());
        case bits:
            return work(std::integral_constant<vector_type, bits>());
        case f64:
            return work(std::integral_constant<vector_type, f64>());
        default:
            return work(std::integral_constant<vector_type, f32>());
    }
}

// ---- The part of a pair of components ----

/// Whether a metric sums squared differences, products, absolute differences or bits, or takes the maximum difference.
enum class part_kind { squares, products, differences, greatest, different_bits };

constexpr part_kind part_of(vector_metric metric) {
    switch (metric) {
        case vector_metric::ip:
        case vector_metric::cosine:
            return part_kind::products;
        case vector_metric::l1:
            return part_kind::differences;
        case vector_metric::linf:
            return part_kind::greatest;
        case vector_metric::hamming:
            return part_kind::different_bits;
        default:
            return part_kind::squares;
    }
}

/// work(std::integral_constant<part_kind, …>) for the metric, among those that the type has.
template <vector_type Type, class Work>
decltype(auto) with_part(vector_metric metric, Work&& work) {
    using enum part_kind;
    if constexpr (Type == vector_type::bits) {
        return work(std::integral_constant<part_kind, different_bits>());
    } else {
        switch (part_of(metric)) {
            case products:
                return work(std::integral_constant<part_kind, products>());
            case differences:
                return work(std::integral_constant<part_kind, differences>());
            case greatest:
                return work(std::integral_constant<part_kind, greatest>());
            case different_bits:
                if constexpr (Type == vector_type::u8)
                    return work(std::integral_constant<part_kind, different_bits>());
                [[fallthrough]];
            default:
                return work(std::integral_constant<part_kind, squares>());
        }
    }
}

/// Rounded once or twice, never contracted.
template <part_kind Kind>
constexpr float part(float a, float b) {
    if constexpr (Kind == part_kind::products) {
        return a * b;
    } else {
        const float difference = a - b;
        if constexpr (Kind == part_kind::squares) return difference * difference;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(difference) & 0x7fffffffu);
    }
}

template <part_kind Kind>
constexpr double part(double a, double b) {
    if constexpr (Kind == part_kind::products) {
        return a * b;
    } else {
        const double difference = a - b;
        if constexpr (Kind == part_kind::squares) return difference * difference;
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(difference) << 1 >> 1);
    }
}

/// For components of at most 16 bits, exact: below 2^32, and products between −2^30 and 2^30. different_bits: not here.
template <part_kind Kind>
constexpr std::int64_t part(std::int32_t a, std::int32_t b) {
    if constexpr (Kind == part_kind::products) {
        return std::int64_t{a} * b;
    } else {
        const std::int64_t difference = std::int64_t{a} - b;
        if constexpr (Kind == part_kind::squares) return difference * difference;
        return difference < 0 ? -difference : difference;
    }
}

}  // namespace quern::nearest_detail
