// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. A row is read once for four queries, in steps of
// sixteen components, each with its own sum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/ranking/bounded_distance_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/registers-inl.hpp"
#include "ops/nearest/ranking/pair_distances.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {

constexpr std::size_t value_lanes = hn::MaxLanes(doubles()), value_sets = value_unit / value_lanes;

HWY_INLINE hn::Vec<doubles> load_values(const float* from) {
    return hn::PromoteTo(doubles(), hn::LoadU(hn::Rebind<float, doubles>(), from));
}
HWY_INLINE hn::Vec<doubles> load_values(const double* from) {
    return hn::LoadU(doubles(), from);
}

template <part_kind Kind>
HWY_INLINE hn::Vec<doubles> with_value(hn::Vec<doubles> sum, hn::Vec<doubles> a, hn::Vec<doubles> b) {
    if constexpr (Kind == part_kind::products) {
        return hn::MulAdd(a, b, sum);
    } else {
        const auto difference = hn::Sub(a, b);
        if constexpr (Kind == part_kind::squares)
            return hn::MulAdd(difference, difference, sum);
        else if constexpr (Kind == part_kind::greatest)
            return hn::Max(sum, hn::Abs(difference));
        else
            return hn::Add(sum, hn::Abs(difference));
    }
}

template <part_kind Kind>
HWY_INLINE double joined_values(hn::Vec<doubles>* sums) {
#pragma GCC unroll 4
    for (std::size_t half = value_sets / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (std::size_t s = 0; s < half; ++s)
            sums[s] = Kind == part_kind::greatest ? hn::Max(sums[s], sums[s + half])
                                                  : hn::Add(sums[s], sums[s + half]);
    HWY_ALIGN double left[value_lanes];
    hn::Store(sums[0], doubles(), left);
    for (std::size_t half = value_lanes / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i)
            left[i] =
                Kind == part_kind::greatest ? std::max(left[i], left[i + half]) : left[i] + left[i + half];
    return left[0];
}

/// One step of sixteen components, of which the queries begin at `queries`.
template <part_kind Kind, std::size_t Queries, class Stored>
HWY_INLINE void add_step(hn::Vec<doubles> (&sums)[Queries][value_sets], const Stored* row,
                         const double* queries, std::size_t stride) {
#pragma GCC unroll 16
    for (std::size_t s = 0; s < value_sets; ++s) {
        const auto a = load_values(row + s * value_lanes);
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q)
            sums[q][s] =
                with_value<Kind>(sums[q][s], a, hn::LoadU(doubles(), queries + q * stride + s * value_lanes));
    }
}

template <part_kind Kind, std::size_t Queries, class Stored>
HWY_INLINE void sum_value_row(const Stored* row, const double* queries, std::size_t stride,
                              std::size_t dimensions, double* found) {
    hn::Vec<doubles> sums[Queries][value_sets];
    for (auto& of_query : sums)
        for (auto& sum : of_query) sum = hn::Zero(doubles());
    std::size_t j = 0;
    for (; j + value_unit <= dimensions; j += value_unit) {
        if constexpr (Queries == 1) {
            fetch_ahead(row + j, bytes_ahead);
            if constexpr (sizeof(Stored) == 8) fetch_ahead(row + j + value_unit / 2, bytes_ahead);
        }
        add_step<Kind, Queries>(sums, row + j, queries + j, stride);
    }
    if (j < dimensions) {
        Stored rest[value_unit] = {};
        std::copy(row + j, row + dimensions, rest);
        add_step<Kind, Queries>(sums, rest, queries + j, stride);
    }
    for (std::size_t q = 0; q < Queries; ++q) found[q] = joined_values<Kind>(sums[q]);
}

template <part_kind Kind, class Stored>
void sum_value_row_with_queries(const Stored* row, const double* queries, std::size_t stride,
                                std::size_t query_count, std::size_t dimensions, double* found) {
    std::size_t q = 0;
    for (; q + 4 <= query_count; q += 4)
        sum_value_row<Kind, 4>(row, queries + q * stride, stride, dimensions, found + q);
    for (; q < query_count; ++q)
        sum_value_row<Kind, 1>(row, queries + q * stride, stride, dimensions, found + q);
}

template <class Stored>
HWY_INLINE void sum_values_of(part_kind kind, const Stored* row, const double* queries, std::size_t stride,
                              std::size_t query_count, std::size_t dimensions, double* sums) {
    using enum part_kind;
    switch (kind) {
        case products:
            return sum_value_row_with_queries<products>(row, queries, stride, query_count, dimensions, sums);
        case differences:
            return sum_value_row_with_queries<differences>(row, queries, stride, query_count, dimensions,
                                                           sums);
        case greatest:
            return sum_value_row_with_queries<greatest>(row, queries, stride, query_count, dimensions, sums);
        default:
            return sum_value_row_with_queries<squares>(row, queries, stride, query_count, dimensions, sums);
    }
}

void sum_values_of_floats(part_kind kind, const float* row, const double* queries, std::size_t stride,
                          std::size_t query_count, std::size_t dimensions, double* sums) {
    sum_values_of(kind, row, queries, stride, query_count, dimensions, sums);
}
void sum_values_of_doubles(part_kind kind, const double* row, const double* queries, std::size_t stride,
                           std::size_t query_count, std::size_t dimensions, double* sums) {
    sum_values_of(kind, row, queries, stride, query_count, dimensions, sums);
}

template <class Stored>
HWY_INLINE double square_values_of(const Stored* row, std::size_t dimensions) {
    hn::Vec<doubles> sums[value_sets];
    for (auto& sum : sums) sum = hn::Zero(doubles());
    const auto step = [&](const Stored* from) HWY_ATTR {
#pragma GCC unroll 16
        for (std::size_t s = 0; s < value_sets; ++s) {
            const auto a = load_values(from + s * value_lanes);
            sums[s] = hn::MulAdd(a, a, sums[s]);
        }
    };
    std::size_t j = 0;
    for (; j + value_unit <= dimensions; j += value_unit) step(row + j);
    if (j < dimensions) {
        Stored rest[value_unit] = {};
        std::copy(row + j, row + dimensions, rest);
        step(rest);
    }
    return joined_values<part_kind::products>(sums);
}
double square_floats(const float* row, std::size_t dimensions) {
    return square_values_of(row, dimensions);
}
double square_doubles(const double* row, std::size_t dimensions) {
    return square_values_of(row, dimensions);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(sum_values_of_floats);
HWY_EXPORT(sum_values_of_doubles);
HWY_EXPORT(square_floats);
HWY_EXPORT(square_doubles);

void sum_values(part_kind kind, const float* row, const double* queries, std::size_t stride,
                std::size_t query_count, std::size_t dimensions, double* sums) {
    HWY_DYNAMIC_DISPATCH(sum_values_of_floats)(kind, row, queries, stride, query_count, dimensions, sums);
}
void sum_values(part_kind kind, const double* row, const double* queries, std::size_t stride,
                std::size_t query_count, std::size_t dimensions, double* sums) {
    HWY_DYNAMIC_DISPATCH(sum_values_of_doubles)(kind, row, queries, stride, query_count, dimensions, sums);
}
double sum_of_squares(const float* row, std::size_t dimensions) {
    return HWY_DYNAMIC_DISPATCH(square_floats)(row, dimensions);
}
double sum_of_squares(const double* row, std::size_t dimensions) {
    return HWY_DYNAMIC_DISPATCH(square_doubles)(row, dimensions);
}

}  // namespace quern::nearest_detail
#endif
