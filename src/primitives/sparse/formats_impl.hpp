// SPDX-License-Identifier: Apache-2.0
// Shared by the conversions to all formats.
#pragma once

#include <vector>

#include "primitives/first_position.hpp"
#include "primitives/segments.hpp"
#include "primitives/sparse/formats.hpp"

namespace quern::primitives::sparse_detail {

inline constexpr std::size_t rows_a_piece = std::size_t{1} << 14;

void check_sizes(std::uint32_t rows, std::uint32_t columns, std::size_t offsets, std::size_t column,
                 std::size_t value);
void check_columns(cpu_place& place, std::span<const std::uint32_t> column, std::uint32_t columns);

/// Rejects violations of csr_view: sizes (usage_error), then offsets, then columns (invalid_value).
template <floating_value Value>
void check(cpu_place& place, const csr_view<Value>& matrix) {
    check_sizes(matrix.rows, matrix.columns, matrix.offsets.size(), matrix.column.size(),
                matrix.value.size());
    check_offsets(place, matrix.offsets, matrix.column.size());
    check_columns(place, matrix.column, matrix.columns);
}

std::uint64_t longest_row(cpu_place& place, std::span<const std::uint64_t> offsets);

}  // namespace quern::primitives::sparse_detail
