// SPDX-License-Identifier: Apache-2.0
// The requirements on sets, queries and options, and the messages that reject them: the same on every place and for any
// partition.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/nearest/index/tile.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/nearest.hpp"

namespace quern::nearest_detail {

/// Sizes, strides and alignment; throws usage_error. `what`: "the vectors", "the queries".
void check_sizes(const vectors_view& view, std::string_view what);
void check_sizes(const sparse_vectors_view& view, std::string_view what);

/// Whether the type has the metric; throws usage_error.
void check_metric(const vectors_view& view, vector_metric metric);
void check_metric(const sparse_vectors_view& view, vector_metric metric);

/// Whether queries have the set's form; throws usage_error.
void check_alike(const vectors_view& set, const vectors_view& queries);
void check_alike(const sparse_vectors_view& set, const sparse_vectors_view& queries);

void check_options(const retrieval_options& options, std::uint64_t rows);

/// The maximum magnitude of a float (for f64, of a double) with which no sum of products of so many components can
/// overflow: a quarter of the maximum is reserved for rounding, and more from 2^27 components on.
double greatest_component(vector_type type, vector_metric metric, std::uint32_t dimensions);

/// Whether rows with these facts must be rejected.
bool has_fault(const row_stats& stats, vector_type type, vector_metric metric, std::uint32_t dimensions);

/// Throws invalid_value for the first row to reject, "row 17 has a value that is not finite"; its position is that row's,
/// relative to `first_row`. Reads every component, in the caller's memory. `what`: "row", "query".
[[noreturn]] void throw_first_fault(const vectors_view& view, vector_metric metric, std::uint64_t first_row,
                                    std::string_view what);
[[noreturn]] void throw_first_fault(const sparse_vectors_view& view, vector_metric metric,
                                    std::uint64_t first_row, std::string_view what);

}  // namespace quern::nearest_detail
