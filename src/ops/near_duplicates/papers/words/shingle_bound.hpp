// SPDX-License-Identifier: Apache-2.0
// What a bound of the Jaccard similarity means for sizes, and the hash of a shingle. For every compiler and place: nvcc
// accepts constexpr functions as device code.
#pragma once

#include <cstdint>

namespace quern::near_duplicates_detail {

/// A similarity bound in terms of sizes, in integers: no product exceeds 2 · 10⁹ · 2³² < 2⁶³.
struct similarity_bound {
    std::uint64_t numerator, denominator;

    static constexpr std::uint64_t ratio_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }
    /// The minimum size of a set that can be similar to one of `size`, which is not smaller.
    constexpr std::uint64_t min_size(std::uint64_t size) const {
        return ratio_up(numerator * size, denominator);
    }
    /// The number of elements that two sets with these sizes in total must share.
    constexpr std::uint64_t required(std::uint64_t together) const {
        return ratio_up(numerator * together, numerator + denominator);
    }
    /// shared >= required(together), without a division.
    constexpr bool reaches(std::uint64_t shared, std::uint64_t together) const {
        return shared * (numerator + denominator) >= numerator * together;
    }
    /// The lengths of prefixes: of a set as the larger one of a pair, and as the smaller one, which is not longer.
    constexpr std::uint64_t prefix(std::uint64_t size) const { return size - min_size(size) + 1; }
    constexpr std::uint64_t prefix_as_smaller(std::uint64_t size) const {
        return size - required(2 * size) + 1;
    }
};

/// A shingle's hash: shingle_mixed(width + the sum of shingle_mixed(word i) · shingle_base^(width − 1 − i)), modulo 2⁶⁴.
/// Mixed at the end, since the low bits of a polynomial depend on low bits alone.
inline constexpr std::uint64_t shingle_base = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t shingle_mixed(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u + shingle_base;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

}  // namespace quern::near_duplicates_detail
