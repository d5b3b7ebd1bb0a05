// SPDX-License-Identifier: Apache-2.0
// What sets, queries and options must be, and the words in which they are refused: the same on every place and however
// a set is cut.
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/ranked_retrieval/tile.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/ranked_retrieval.hpp"

namespace quern::ranked_retrieval_detail {

/// Sizes, strides and alignment; throws usage_error. `what`: "the vectors", "the queries".
void check_sizes(const vectors_view& view, std::string_view what);
void check_sizes(const sparse_vectors_view& view, std::string_view what);

/// Whether the type has the metric; throws usage_error.
void check_metric(const vectors_view& view, vector_metric metric);
void check_metric(const sparse_vectors_view& view, vector_metric metric);

/// Whether queries are what the set is; throws usage_error.
void check_alike(const vectors_view& set, const vectors_view& queries);
void check_alike(const sparse_vectors_view& set, const sparse_vectors_view& queries);

void check_options(const retrieval_options& options, std::uint64_t rows);

/// The greatest size of a float (of f64, of a double) so that no sum of products of so many components can overflow, whatever they are: a
/// quarter of the greatest one is left to roundings, and more from 2^27 components on.
double greatest_component(vector_type type, vector_metric metric, std::uint32_t dimensions);

/// Whether there is something to refuse in rows with these facts.
bool has_fault(const row_facts& facts, vector_type type, vector_metric metric, std::uint32_t dimensions);

/// Throws invalid_value for the first row that is to be refused, "row 17 holds a value that is not finite"; its position
/// is that row's, counted from `first_row`. Looks at every component, in the caller's memory. `what`: "row", "query".
[[noreturn]] void throw_first_fault(const vectors_view& view, vector_metric metric, std::uint64_t first_row,
                                    std::string_view what);
[[noreturn]] void throw_first_fault(const sparse_vectors_view& view, vector_metric metric,
                                    std::uint64_t first_row, std::string_view what);

}  // namespace quern::ranked_retrieval_detail
