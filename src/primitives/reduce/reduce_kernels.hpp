// SPDX-License-Identifier: Apache-2.0
// Sums and extremes of floats with the vector registers of the current processor: the same bits for every width.
#pragma once

#include <cstddef>

namespace quern::primitives::reduce_detail {

inline constexpr std::size_t block_size = 1024, block_lanes = 32;

/// The canonical sum of one block of `size` ≤ 1,024 values. Up to `readable` ≥ size values may be read.
double sum_block(const float* values, std::size_t size, std::size_t readable);
double sum_block(const double* values, std::size_t size, std::size_t readable);

/// sums[b] for every block of `size` values, the last of which may be short.
void sum_blocks(const float* values, std::size_t size, double* sums);
void sum_blocks(const double* values, std::size_t size, double* sums);

template <class T>
struct float_extreme {
    T value;
    bool not_a_number;  ///< there is a NaN among the values; `value` is then undefined
};
/// The maximum of `start` and the values, or the minimum. The sign of a zero is not determined.
float_extreme<float> extreme(const float* values, std::size_t size, float start, bool greatest);
float_extreme<double> extreme(const double* values, std::size_t size, double start, bool greatest);

}  // namespace quern::primitives::reduce_detail
