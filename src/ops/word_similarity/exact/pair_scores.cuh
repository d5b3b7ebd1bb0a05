// SPDX-License-Identifier: Apache-2.0
// Exact scores on the device, as fixed_rows.hpp defines them: the same integers and the same IEEE operations.
#pragma once

#include <cstdint>

#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// Some rows of the matrix in device memory: offsets from 0 for the first of them.
struct device_rows {
    const std::uint64_t* offsets;
    const std::uint32_t* columns;
    const float* weights;
    std::uint32_t first, count;  ///< the words of the rows
};

/// One row of these.
struct device_row {
    const std::uint32_t* columns;
    const float* weights;
    std::uint32_t length;
};

__device__ inline device_row row_of(const device_rows& rows, std::uint32_t local) {
    const std::uint64_t begin = rows.offsets[local];
    return {rows.columns + begin, rows.weights + begin,
            static_cast<std::uint32_t>(rows.offsets[local + 1] - begin)};
}

/// The nearest integer, ties to even, at least 1; `scaled` is the number times a power of two, without rounding.
__device__ inline unsigned long long to_fixed_point(double scaled) {
    const unsigned long long rounded = __double2ull_rn(scaled);
    return rounded == 0 ? 1 : rounded;
}

/// The addend of one shared context to the numerator; scale = 2^bits, for cosine 2^product_bits.
template <similarity_measure Measure>
__device__ inline unsigned long long shared_term(float a, float b, double scale) {
    if constexpr (Measure == similarity_measure::lin) {
        return to_fixed_point(static_cast<double>(a) * scale) +
               to_fixed_point(static_cast<double>(b) * scale);
    } else {
        return to_fixed_point(static_cast<double>(a) * static_cast<double>(b) * scale);
    }
}

/// norm: the row's sum of weights, for cosine of squares.
template <similarity_measure Measure>
__device__ inline double exact_score(unsigned long long shared, unsigned long long norm_a,
                                     unsigned long long norm_b) {
    if (shared == 0) return 0;
    if constexpr (Measure == similarity_measure::lin) {
        return static_cast<double>(shared) / static_cast<double>(norm_a + norm_b);
    } else {
        return static_cast<double>(shared) /
               (sqrt(static_cast<double>(norm_a)) * sqrt(static_cast<double>(norm_b)));
    }
}

/// The first place from `from` on whose column is at least the given one.
__device__ inline std::uint32_t find_column(const std::uint32_t* columns, std::uint32_t from,
                                            std::uint32_t end, std::uint32_t column) {
    while (from < end) {
        const std::uint32_t middle = from + (end - from) / 2;
        if (columns[middle] < column)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/// The numerator of a pair, by one whole warp: each lane looks up its entries of row a among the columns of row b, which
/// may be a copy elsewhere. All lanes get the result.
template <similarity_measure Measure>
__device__ inline unsigned long long sum_by_warp(const device_row& a, const device_row& b,
                                                 const std::uint32_t* columns_b, double scale) {
    unsigned long long sum = 0;
    std::uint32_t at = 0;
    for (std::uint32_t i = threadIdx.x % 32; i < a.length && at < b.length; i += 32) {
        const std::uint32_t column = a.columns[i];
        at = find_column(columns_b, at, b.length, column);
        if (at < b.length && columns_b[at] == column)
            sum += shared_term<Measure>(a.weights[i], b.weights[at], scale);
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    return sum;
}

/// The same, the entries of the shorter row looked up in the longer one.
template <similarity_measure Measure>
__device__ inline unsigned long long shared_by_warp(const device_row& a, const device_row& b, double scale) {
    return a.length <= b.length ? sum_by_warp<Measure>(a, b, b.columns, scale)
                                : sum_by_warp<Measure>(b, a, a.columns, scale);
}

}  // namespace quern::word_similarity_detail
