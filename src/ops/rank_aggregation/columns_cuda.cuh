// SPDX-License-Identifier: Apache-2.0
// Lists as columns: a cell for each object and list; all bits are set if the object is not in the list.
#pragma once

#include <cstdint>

#include "ops/rank_aggregation/ranked_table.cuh"

namespace quern::rank_aggregation_detail {

/// The objects [first, first + size).
struct object_range {
    std::uint32_t first, size;
};

/// The maximum objects of one fill_columns call, and its extra memory per object.
template <class Cell>
inline constexpr std::uint32_t max_columns = (1u << 16) / sizeof(Cell) * 1024;
template <class Cell>
inline constexpr std::uint64_t extra_bytes = 2 * sizeof(Cell) < 8 ? 8 : 2 * sizeof(Cell);

/// Writes the columns of these objects: list i's at cells + i · stride. Cell: Score for scores; uint32 for ranks.
template <class Score, class Cell>
void fill_columns(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride);

}  // namespace quern::rank_aggregation_detail
