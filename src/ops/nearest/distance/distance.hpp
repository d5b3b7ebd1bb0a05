// SPDX-License-Identifier: Apache-2.0
// Defines each distance, to the bit, and its rank key: an unsigned number of 32 or 64 bits, the smaller the better, so that
// sorting, selecting and merging are independent of metrics. A plain header, for every place.
//
// Floats (f32, f16, bf16; the latter two are exact as f32): all in single precision, each operation rounded, nothing
// contracted.
// - Component i is added to the partial sum i % 16, with ascending i; a component's part is rounded, then added.
// - The partial sums are added as a tree, p[i] += p[i + 8], then 4, 2, 1.
// - A missing component adds +0, which changes no bit: so sparse vectors have the sums of their dense equivalents.
// - Parts: (a − b)·(a − b); a·b; |a − b|. linf takes the maximum part.
//
// f64: the same in double precision, with keys of 64 bits. The order of l2 is that of the sums: two different sums may have
// the same reported root.
//
// Integers (i16, i8, u8, bits): exact.
//
// Cosine: c = s / √(x·y) in double, with s the sum of products, x and y the sums of squares (floats as above, in f32, then
// exact as doubles; integers exact, then rounded to double).
// - The distance is 1 − c, clamped to [0, 2], rounded to f32; 1 if x or y is 0. A vector's distance to itself is 0.
// - For f64, s, x and y are doubles, and x·y could overflow or underflow. So x and y are first scaled to between 1 and 4 by
//   powers of 4, and s by their roots, which otherwise changes no bit of c.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "primitives/keys.hpp"
#include "quern/ops/nearest.hpp"

namespace quern::nearest_detail {

/// A key that no distance has; rows excluded from the ranking may have it.
template <class Key>
inline constexpr Key no_key = std::numeric_limits<Key>::max();

inline constexpr unsigned partial_sums = 16;

constexpr bool is_float(vector_type type) {
    return type == vector_type::f32 || type == vector_type::f16 || type == vector_type::bf16 ||
           type == vector_type::f64;
}

// ---- Keys of float sums: 32 bits ----

/// sql2, l2, l1, linf, and cosine's distance: never below 0.
constexpr std::uint32_t key_of_distance(float distance) {
    return std::bit_cast<std::uint32_t>(distance);
}
/// ip: the maximum is best; −0 is 0.
constexpr std::uint32_t key_of_product(float product) {
    return ~primitives::ordered_bits(product + 0.0f);
}

constexpr float distance_of_key(std::uint32_t key) {
    return std::bit_cast<float>(key);
}
constexpr float product_of_key(std::uint32_t key) {
    const std::uint32_t on_line = ~key ^ 0x80000000u;  // inverse of primitives::place_on_line
    return std::bit_cast<float>((on_line & 0x80000000u) == 0 ? on_line : (0u - on_line) | 0x80000000u);
}

// ---- Keys of sums in double: the same in 64 bits ----

constexpr std::uint64_t key_of_distance(double distance) {
    return std::bit_cast<std::uint64_t>(distance);
}
constexpr std::uint64_t key_of_product(double product) {
    return ~primitives::ordered_bits(product + 0.0);
}
constexpr double distance_of_key(std::uint64_t key) {
    return std::bit_cast<double>(key);
}
constexpr double product_of_key(std::uint64_t key) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const std::uint64_t on_line = ~key ^ sign;
    return std::bit_cast<double>((on_line & sign) == 0 ? on_line : (0u - on_line) | sign);
}

// ---- Cosine ----

/// `product` = Σ a·b, `x` = Σ a², `y` = Σ b², `root` = √(x·y), each operation rounded once in double.
constexpr float cosine_distance(double product, double x, double y, double root) {
    if (x == 0 || y == 0) return 1;
    const double distance = 1 - product / root;
    return static_cast<float>(distance < 0 ? 0 : distance > 2 ? 2 : distance);
}

/// The sums of a cosine.
struct cosine_sums {
    double product, x, y;
};

/// The power of 2 whose square scales a positive number to between 1 and 4.
constexpr double evening_power(double positive) {
    constexpr double normal = 0x1p108;  // every subnormal number times it is normal
    const bool subnormal = std::bit_cast<std::uint64_t>(positive) >> 52 == 0;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(subnormal ? positive * normal : positive);
    const int exponent = static_cast<int>(bits >> 52) - 1023 - (subnormal ? 108 : 0);
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - (exponent >> 1)) << 52);
}

/// The same cosine from sums whose products stay within the range of double.
constexpr cosine_sums evened(cosine_sums sums) {
    if (sums.x == 0 || sums.y == 0) return {0, 0, 0};
    const double x = evening_power(sums.x), y = evening_power(sums.y);
    return {sums.product * x * y, sums.x * x * x, sums.y * y * y};
}

// ---- Keys of integers: 32 bits if the set and its queries allow, otherwise 64 ----

/// sql2, l2, l1, linf, hamming: the number itself. ip: the difference to the maximum number.
template <class Key>
constexpr Key key_of_product(std::int64_t product) {
    return static_cast<Key>(static_cast<Key>(no_key<Key> >> 1) - static_cast<Key>(product));
}
template <class Key>
constexpr std::int64_t integer_product_of_key(Key key) {
    // Unsigned, because a key of 64 bits may exceed the range of signed integers.
    return static_cast<std::int64_t>(std::uint64_t{no_key<Key> >> 1} - std::uint64_t{key});
}

/// The minimum and the maximum component of the set and the queries.
struct integer_range {
    std::int32_t least = 0, greatest = 0;
};

/// Whether every key of integers in the range is below no_key<uint32>.
constexpr bool fits_32_bits(vector_metric metric, integer_range range, std::uint32_t dimensions) {
    const auto difference = static_cast<std::uint64_t>(std::int64_t{range.greatest} - range.least);
    const auto size =
        static_cast<std::uint64_t>(std::max(std::int64_t{range.greatest}, -std::int64_t{range.least}));
    constexpr std::uint64_t max = no_key<std::uint32_t> - 1;
    switch (metric) {
        case vector_metric::l2:
        case vector_metric::sql2:
            return difference == 0 || difference * difference <= max / dimensions;
        case vector_metric::ip:
            return size == 0 || size * size <= (max / 2) / dimensions;
        case vector_metric::l1:
            return difference <= max / dimensions;
        default:
            return true;  // cosine: a float; linf, hamming: small
    }
}

/// The reported number of a key; type and metric define the kind of key.
template <class Key>
double reported_of_key(vector_type type, vector_metric metric, Key key) {
    if (metric != vector_metric::cosine && type == vector_type::f64) {
        const std::uint64_t bits = key;
        if (metric == vector_metric::ip) return product_of_key(bits);
        return metric == vector_metric::l2 ? std::sqrt(distance_of_key(bits)) : distance_of_key(bits);
    }
    if (metric == vector_metric::cosine || is_float(type)) {
        const auto bits = static_cast<std::uint32_t>(key);
        if (metric == vector_metric::ip) return double{product_of_key(bits)};
        const double distance = double{distance_of_key(bits)};
        return metric == vector_metric::l2 ? std::sqrt(distance) : distance;
    }
    if (metric == vector_metric::ip) return static_cast<double>(integer_product_of_key(key));
    const auto number = static_cast<double>(key);
    return metric == vector_metric::l2 ? std::sqrt(number) : number;
}

}  // namespace quern::nearest_detail
