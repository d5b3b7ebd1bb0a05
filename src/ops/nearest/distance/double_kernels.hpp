// SPDX-License-Identifier: Apache-2.0
// Sums over rows of f64 in vector registers, in the order of distance.hpp.
#pragma once

#include <cstddef>

#include "ops/nearest/distance/components.hpp"

namespace quern::nearest_detail {

/// sums[q] of the row and query q, which begins at queries[q · stride]. Not different_bits.
void sum_doubles(part_kind kind, const double* row, const double* queries, std::size_t stride,
                 std::size_t query_count, std::size_t dimensions, double* sums);

/// The maximum |a|, infinity if one is infinite or NaN; square = Σ a².
double look_at_doubles(const double* row, std::size_t dimensions, double& square);

}  // namespace quern::nearest_detail
