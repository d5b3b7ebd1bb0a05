// SPDX-License-Identifier: Apache-2.0
// Shared by the entry points of the similarity stage.
#pragma once

#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// Throws usage_error for options out of range.
void check(const similarity_options& options);

/// The matrix checked, restricted to the kept columns, in fixed point.
owned_rows kept_rows(cpu_place& place, const context_matrix_view& matrix, const similarity_options& options);

}  // namespace quern::word_similarity_detail
