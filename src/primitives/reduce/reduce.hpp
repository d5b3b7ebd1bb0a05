// SPDX-License-Identifier: Apache-2.0
// Sums, maxima and minima, of a whole array and of each segment. Contract class: exact. Integers: sums wrap modulo 2⁶⁴, so
// every order gives the same. Floats: sums are taken in double, in one canonical order for any number of threads, width
// of vector or shape of launch:
//
//   Blocks of 1,024 values, from the first value of the sum on. In a block, lane l of 32 adds, from +0, the values
//   l, l + 32, l + 64, … in turn. The lanes are folded: for h = 16, 8, 4, 2, 1, lane l < h adds lane l + h. The sums
//   of the blocks are then summed by the same rule, until one is left. A missing value adds nothing; the sum of
//   nothing is +0.
//
// A segment's sum is that of its values alone, by the same rule from its first value on.
#pragma once

#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

enum class reduce_operation { sum, maximum, minimum };

/// What T is reduced to: unsigned → uint64, signed → int64, floats → double.
template <class T>
struct reduced_type_of;
template <class T>
    requires one_of<T, std::uint8_t, std::uint32_t, std::uint64_t>
struct reduced_type_of<T> {
    using type = std::uint64_t;
};
template <class T>
    requires one_of<T, std::int32_t, std::int64_t>
struct reduced_type_of<T> {
    using type = std::int64_t;
};
template <floating_value T>
struct reduced_type_of<T> {
    using type = double;
};
template <class T>
using reduced_type = typename reduced_type_of<T>::type;
template <class T>
concept reducible = requires { typename reduced_type_of<T>::type; };

/// For no values: the operation's identity: 0; the lowest value of T (−∞ for floats); the greatest (+∞).
/// - Maxima and minima reject NaN (key_not_a_number) and give +0 for a zero of either sign.
/// - Sums propagate NaN and infinities (a NaN result is always the same quiet NaN).
/// - Extra memory: about 8 bytes for each 1,024 values; CUDA, except for sums of floats: less than 1 MB. Synchronises.
template <reducible T>
reduced_type<T> reduce(cpu_place& place, std::span<const T> values,
                       reduce_operation operation = reduce_operation::sum);
template <reducible T>
reduced_type<T> reduce(cuda_place& place, device_span<const T> values,
                       reduce_operation operation = reduce_operation::sum);

/// out[s]: the reduction of segment s. Segments as in primitives/segments.hpp; `out` has one entry per segment (usage_error
/// otherwise). Extra memory: CPU as reduce; CUDA less than 0.15 bytes per value. CUDA: does not synchronise; rejections are
/// thrown when the place is next synchronised; at most 2⁴⁰ values (usage_error).
template <reducible T>
void segmented_reduce(cpu_place& place, std::span<const T> values, std::span<const std::uint64_t> offsets,
                      std::span<reduced_type<T>> out, reduce_operation operation = reduce_operation::sum);
template <reducible T>
void segmented_reduce(cuda_place& place, device_span<const T> values,
                      device_span<const std::uint64_t> offsets, device_span<reduced_type<T>> out,
                      reduce_operation operation = reduce_operation::sum);

}  // namespace quern::primitives
