// SPDX-License-Identifier: Apache-2.0
// Sums in double over rows of f32 and f64 in vector registers, for values (bounded_distance.hpp): in any order, fused if the
// processor can.
#pragma once

#include <cstddef>

#include "ops/nearest/distance/components.hpp"

namespace quern::nearest_detail {

/// Queries are doubles padded with zeros to a multiple of this.
inline constexpr std::size_t value_unit = 16;

/// sums[q] of the row and query q, which begins at queries[q · stride]. Not different_bits.
void sum_values(part_kind kind, const float* row, const double* queries, std::size_t stride,
                std::size_t query_count, std::size_t dimensions, double* sums);
void sum_values(part_kind kind, const double* row, const double* queries, std::size_t stride,
                std::size_t query_count, std::size_t dimensions, double* sums);

/// Σ a².
double sum_of_squares(const float* row, std::size_t dimensions);
double sum_of_squares(const double* row, std::size_t dimensions);

}  // namespace quern::nearest_detail
