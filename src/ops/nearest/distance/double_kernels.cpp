// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. The sixteen partial sums of a pair are two registers
// of AVX-512, four of AVX2; a row is loaded once for four queries. Nothing is contracted.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/distance/double_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/registers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t double_lanes = hn::MaxLanes(doubles()), double_sets = partial_sums / double_lanes;

template <part_kind Kind>
HWY_INLINE hn::Vec<doubles> with_part(hn::Vec<doubles> sum, hn::Vec<doubles> a, hn::Vec<doubles> b) {
    if constexpr (Kind == part_kind::products) {
        return hn::Add(sum, hn::Mul(a, b));
    } else {
        const auto difference = hn::Sub(a, b);
        if constexpr (Kind == part_kind::squares)
            return hn::Add(sum, hn::Mul(difference, difference));
        else
            return join<Kind>(sum, hn::Abs(difference));
    }
}

/// The tree over a pair's registers, then over the lanes of the last one.
template <part_kind Kind>
HWY_INLINE double tree_of(hn::Vec<doubles>* sums) {
#pragma GCC unroll 4
    for (std::size_t half = double_sets / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (std::size_t s = 0; s < half; ++s) sums[s] = join<Kind>(sums[s], sums[s + half]);
    HWY_ALIGN double left[double_lanes];
    hn::Store(sums[0], doubles(), left);
    for (std::size_t half = double_lanes / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i)
            left[i] =
                Kind == part_kind::greatest ? std::max(left[i], left[i + half]) : left[i] + left[i + half];
    return left[0];
}

template <part_kind Kind, std::size_t Queries>
void sum_row(const double* row, const double* queries, std::size_t stride, std::size_t dimensions,
             double* found) {
    const doubles d;
    hn::Vec<doubles> sums[Queries][double_sets];
    for (auto& of_query : sums)
        for (auto& sum : of_query) sum = hn::Zero(d);
    std::size_t j = 0;
    for (; j + partial_sums <= dimensions; j += partial_sums) {
        if constexpr (Queries == 1) {
            fetch_ahead(row + j, bytes_ahead);
            fetch_ahead(row + j + partial_sums / 2, bytes_ahead);
        }
#pragma GCC unroll 16
        for (std::size_t s = 0; s < double_sets; ++s) {
            const auto a = hn::LoadU(d, row + j + s * double_lanes);
#pragma GCC unroll 4
            for (std::size_t q = 0; q < Queries; ++q)
                sums[q][s] =
                    with_part<Kind>(sums[q][s], a, hn::LoadU(d, queries + q * stride + j + s * double_lanes));
        }
    }
    for (std::size_t s = 0; s < double_sets && j < dimensions; ++s, j += double_lanes) {
        const std::size_t count = std::min(double_lanes, dimensions - j);
        const auto a = load_first(d, row + j, count);
        for (std::size_t q = 0; q < Queries; ++q)
            sums[q][s] = with_part<Kind>(sums[q][s], a, load_first(d, queries + q * stride + j, count));
    }
    for (std::size_t q = 0; q < Queries; ++q) found[q] = tree_of<Kind>(sums[q]);
}

template <part_kind Kind>
void sum_row_with_queries(const double* row, const double* queries, std::size_t stride,
                          std::size_t query_count, std::size_t dimensions, double* found) {
    std::size_t q = 0;
    for (; q + 4 <= query_count; q += 4)
        sum_row<Kind, 4>(row, queries + q * stride, stride, dimensions, found + q);
    for (; q < query_count; ++q) sum_row<Kind, 1>(row, queries + q * stride, stride, dimensions, found + q);
}

void sum_doubles(part_kind kind, const double* row, const double* queries, std::size_t stride,
                 std::size_t query_count, std::size_t dimensions, double* sums) {
    using enum part_kind;
    switch (kind) {
        case products:
            return sum_row_with_queries<products>(row, queries, stride, query_count, dimensions, sums);
        case differences:
            return sum_row_with_queries<differences>(row, queries, stride, query_count, dimensions, sums);
        case greatest:
            return sum_row_with_queries<greatest>(row, queries, stride, query_count, dimensions, sums);
        default:
            return sum_row_with_queries<squares>(row, queries, stride, query_count, dimensions, sums);
    }
}

/// As bits of unsigned numbers, magnitudes ascend and NaNs are above infinity: a maximum of integers finds both.
double look_at_doubles(const double* row, std::size_t dimensions, double& square) {
    const longs i;
    const auto magnitude = hn::Set(i, std::numeric_limits<std::int64_t>::max());
    auto max = hn::Zero(i);
    for (std::size_t j = 0; j < dimensions; j += double_lanes) {
        const std::size_t count = std::min(double_lanes, dimensions - j);
        const auto values =
            count == double_lanes ? hn::LoadU(doubles(), row + j) : load_first(doubles(), row + j, count);
        const auto sizes = hn::And(hn::BitCast(i, values), magnitude);
        max = hn::IfThenElse(hn::Gt(sizes, max), sizes, max);
    }
    HWY_ALIGN std::int64_t each[double_lanes];
    hn::Store(max, i, each);
    std::int64_t greatest = 0;
    for (const std::int64_t size : each) greatest = std::max(greatest, size);
    sum_row<part_kind::products, 1>(row, row, 0, dimensions, &square);
    const auto found = std::bit_cast<double>(greatest);
    return is_finite(found) ? found : std::numeric_limits<double>::infinity();
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(sum_doubles);
HWY_EXPORT(look_at_doubles);

void sum_doubles(part_kind kind, const double* row, const double* queries, std::size_t stride,
                 std::size_t query_count, std::size_t dimensions, double* sums) {
    HWY_DYNAMIC_DISPATCH(sum_doubles)(kind, row, queries, stride, query_count, dimensions, sums);
}
double look_at_doubles(const double* row, std::size_t dimensions, double& square) {
    return HWY_DYNAMIC_DISPATCH(look_at_doubles)(row, dimensions, square);
}

}  // namespace quern::nearest_detail
#endif
