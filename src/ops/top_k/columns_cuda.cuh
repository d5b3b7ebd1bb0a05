// SPDX-License-Identifier: Apache-2.0
// Lists as columns: a cell for each object and list, all bits set where the object is not in the list.
#pragma once

#include <cstdint>

#include "ops/top_k/ranked_table.cuh"

namespace quern::top_k_detail {

/// The objects [first, first + size).
struct object_range {
    std::uint32_t first, size;
};

/// The most objects that fill_columns takes at a time, and the memory beside that it takes for each.
template <class Cell>
inline constexpr std::uint32_t most_columns = (1u << 16) / sizeof(Cell) * 1024;
template <class Cell>
inline constexpr std::uint64_t bytes_beside = 2 * sizeof(Cell) < 8 ? 8 : 2 * sizeof(Cell);

/// Writes the columns of these objects side by side: list i's at cells + i · stride. Cell: Score, for scores; uint32, for
/// ranks.
template <class Score, class Cell>
void fill_columns(device_lists<Score>& lists, object_range range, Cell* cells, std::uint64_t stride);

}  // namespace quern::top_k_detail
