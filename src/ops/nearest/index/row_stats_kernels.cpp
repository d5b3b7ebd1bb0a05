// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set. Float bits ascend with magnitudes, so one integer maximum finds the greatest
// component and all non-finite values. Squares of integers: pairs of 16 bits make 32 bits, at most 2^31, which are added in
// 64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/nearest/index/row_stats_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/registers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::nearest_detail {
namespace HWY_NAMESPACE {

// ---- Floats ----

/// The partial sums of a row's squares, folded to one register; `max` takes the maximum magnitude.
template <vector_type Type>
HWY_INLINE hn::Vec<floats> square_row(const stored_t<Type>* row, std::size_t dimensions,
                                      hn::Vec<integers>& max) {
    constexpr std::size_t sets = partial_sums / lanes;
    const floats d;
    const integers i;
    const auto magnitude = hn::Set(i, 0x7fffffff);
    hn::Vec<floats> sums[sets];
    const auto look = [&](std::size_t s, hn::Vec<floats> values) HWY_ATTR {
        max = hn::Max(max, hn::And(hn::BitCast(i, values), magnitude));
        sums[s] = hn::Add(sums[s], hn::Mul(values, values));
    };
#pragma GCC unroll 16
    for (std::size_t s = 0; s < sets; ++s) sums[s] = hn::Zero(d);
    std::size_t j = 0;
    for (; j + partial_sums <= dimensions; j += partial_sums) {
        fetch_ahead(row + j, bytes_ahead);
#pragma GCC unroll 16
        for (std::size_t s = 0; s < sets; ++s) look(s, load_floats<Type>(row + j + s * lanes));
    }
    for (std::size_t s = 0; s < sets && j < dimensions; ++s, j += lanes)
        look(s, load_floats<Type>(row + j, std::min(lanes, dimensions - j)));
#pragma GCC unroll 4
    for (std::size_t half = sets / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (std::size_t s = 0; s < half; ++s) sums[s] = hn::Add(sums[s], sums[s + half]);
    return sums[0];
}

template <vector_type Type>
std::uint32_t look_at(const std::byte* const* rows, std::size_t row_count, std::size_t dimensions,
                      double* squares) {
    const integers i;
    auto max = hn::Zero(i);
    HWY_ALIGN float found[lanes];
    for (std::size_t first = 0; first < row_count; first += lanes) {
        const std::size_t count = std::min(lanes, row_count - first);
        hn::Vec<floats> items[lanes];
        for (std::size_t r = 0; r < lanes; ++r) {
            const void* const row = rows[first + std::min(r, count - 1)];
            items[r] = square_row<Type>(static_cast<const stored_t<Type>*>(row), dimensions, max);
        }
        hn::Store(add_trees<part_kind::squares>(items), floats(), found);
        for (std::size_t r = 0; r < count; ++r) squares[first + r] = double{found[r]};
    }
    return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(i, max)));
}

std::uint32_t look_at_floats(vector_type type, const std::byte* const* rows, std::size_t row_count,
                             std::size_t dimensions, double* squares) {
    switch (type) {
        case vector_type::f16:
            return look_at<vector_type::f16>(rows, row_count, dimensions, squares);
        case vector_type::bf16:
            return look_at<vector_type::bf16>(rows, row_count, dimensions, squares);
        default:
            return look_at<vector_type::f32>(rows, row_count, dimensions, squares);
    }
}

// ---- Integers ----

template <vector_type Type>
integer_range look_at_shorts(const std::byte* const* rows, std::size_t row_count, std::size_t dimensions,
                             double* squares) {
    using stored = stored_t<Type>;
    std::int32_t least = std::numeric_limits<stored>::max(), max = std::numeric_limits<stored>::min();
#if HWY_TARGET != HWY_SCALAR
    const shorts d;
    const integers sums_of_pairs;
    const long_words wide;
    const auto lower = hn::Set(wide, 0xffffffffu);
    auto min_lanes = hn::Set(d, static_cast<std::int16_t>(least));
    auto max_lanes = hn::Set(d, static_cast<std::int16_t>(max));
#endif
    for (std::size_t i = 0; i < row_count; ++i) {
        const auto* const row = static_cast<const stored*>(static_cast<const void*>(rows[i]));
        std::uint64_t square = 0;
        std::size_t j = 0;
#if HWY_TARGET != HWY_SCALAR
        auto even = hn::Zero(wide), odd = even;
        for (; j + hn::MaxLanes(d) <= dimensions; j += hn::MaxLanes(d)) {
            fetch_ahead(row + j, bytes_ahead);
            const auto values = load_shorts(row + j);
            min_lanes = hn::Min(min_lanes, values);
            max_lanes = hn::Max(max_lanes, values);
            auto unused = hn::Zero(sums_of_pairs);
            const auto pairs = hn::BitCast(
                wide, hn::ReorderWidenMulAccumulate(sums_of_pairs, values, values, unused, unused));
            even = hn::Add(even, hn::And(pairs, lower));
            odd = hn::Add(odd, hn::ShiftRight<32>(pairs));
        }
        square = hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd)));
#endif
        for (; j < dimensions; ++j) {
            const std::int32_t value = row[j];
            least = std::min(least, value);
            max = std::max(max, value);
            square += static_cast<std::uint64_t>(std::int64_t{value} * value);
        }
        squares[i] = static_cast<double>(square);
    }
#if HWY_TARGET != HWY_SCALAR
    least = std::min<std::int32_t>(least, hn::GetLane(hn::MinOfLanes(d, min_lanes)));
    max = std::max<std::int32_t>(max, hn::GetLane(hn::MaxOfLanes(d, max_lanes)));
#endif
    return {least, max};
}

integer_range look_at_integers(vector_type type, const std::byte* const* rows, std::size_t row_count,
                               std::size_t dimensions, double* squares) {
    switch (type) {
        case vector_type::i16:
            return look_at_shorts<vector_type::i16>(rows, row_count, dimensions, squares);
        case vector_type::i8:
            return look_at_shorts<vector_type::i8>(rows, row_count, dimensions, squares);
        default:
            return look_at_shorts<vector_type::u8>(rows, row_count, dimensions, squares);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::nearest_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::nearest_detail {

HWY_EXPORT(look_at_floats);
HWY_EXPORT(look_at_integers);

std::uint32_t look_at_floats(vector_type type, const std::byte* const* rows, std::size_t row_count,
                             std::size_t dimensions, double* squares) {
    return HWY_DYNAMIC_DISPATCH(look_at_floats)(type, rows, row_count, dimensions, squares);
}
integer_range look_at_integers(vector_type type, const std::byte* const* rows, std::size_t row_count,
                               std::size_t dimensions, double* squares) {
    return HWY_DYNAMIC_DISPATCH(look_at_integers)(type, rows, row_count, dimensions, squares);
}

}  // namespace quern::nearest_detail
#endif
