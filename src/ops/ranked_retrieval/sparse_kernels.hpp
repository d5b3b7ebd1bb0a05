// SPDX-License-Identifier: Apache-2.0
// Sparse rows against sixteen queries at once: what the kernels read, and the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/ranked_retrieval/sparse_pair.hpp"

namespace quern::ranked_retrieval_detail {

inline constexpr std::size_t group_queries = 16;

/// Columns in the order in which sums are formed: by partial sum, then rising. `height`: 16 << height is no less than the
/// dimensions. Below 2^32 − 1, as columns are.
constexpr std::uint32_t place_of_column(std::uint32_t column, unsigned height) {
    return (column % partial_sums) << height | column / partial_sums;
}

/// Up to sixteen queries, a lane each, or one. The columns that any of them has, by their places, have slots 0, 1, …; a
/// slot has a line, the values of the queries there, 0 where one lacks the column. A column's slot is found by its bucket,
/// place >> shift.
struct query_group {
    std::size_t width = group_queries;  ///< lanes of a line: 16 or 1
    unsigned height = 0;
    unsigned shift = 0;                      ///< 0: a bucket is a place, and `firsts` is not read
    const std::uint32_t* present = nullptr;  ///< bit b % 32 of word b / 32: bucket b has a column
    const std::uint32_t* before = nullptr;   ///< how many such buckets are in words before
    const std::uint32_t* firsts =
        nullptr;  ///< of the i-th such bucket, the first slot; behind them, all slots
    const std::uint32_t* places = nullptr;        ///< of slots; behind them, one that no column has
    std::uint32_t starts[partial_sums + 1] = {};  ///< of a partial sum, the first slot
    const float* lines = nullptr;                 ///< [slot · width + lane]
    /// [slot · width + lane] the part of the line and of a row without the column; a line of any finite numbers behind.
    const float* alone = nullptr;
    const double* squares = nullptr;  ///< of sixteen queries, for cosine, and sql2 and l2 by products

    constexpr std::size_t slots() const { return starts[partial_sums]; }
};

/// Rows `begin` to `end` of the list, or of all.
struct row_stretch {
    sparse_rows rows{};
    const std::uint32_t* list = nullptr;  ///< null: row i is i
    const double* squares = nullptr;      ///< of all rows, for cosine
    std::size_t begin = 0, end = 0;
    constexpr std::size_t id(std::size_t i) const { return list == nullptr ? i : list[i]; }
};

/// keys[(i − begin) · width + lane]: rank keys, the bits of key_of_parts. Rows look their columns up. Of sql2 and l2:
/// Σa² + Σb² − 2·Σab, which are their keys where every sum is exact.
void sparse_product_keys(const query_group& group, const row_stretch& rows, vector_metric metric,
                         std::uint32_t* keys);
/// Of sql2, l2, l1 and linf: the columns of the row are merged with those of the group, partial sum by partial sum.
void sparse_merged_keys(const query_group& group, const row_stretch& rows, vector_metric metric,
                        std::uint32_t* keys);

}  // namespace quern::ranked_retrieval_detail
