// SPDX-License-Identifier: Apache-2.0
// Sparse rows against sixteen queries at once: what the kernels read, and the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/ranked_retrieval/sparse_pair.hpp"

namespace quern::ranked_retrieval_detail {

inline constexpr std::size_t group_queries = 16;

/// Up to sixteen queries, a lane each. The columns that any of them has, rising, have slots 0, 1, …; a slot has a line,
/// the values of the queries there, 0 where one lacks the column. A column's slot is found by its bucket, column >> shift.
struct query_group {
    const std::uint32_t* present = nullptr;  ///< bit b % 32 of word b / 32: bucket b has a column
    const std::uint32_t* before = nullptr;   ///< how many such buckets are in words before
    const std::uint32_t* firsts = nullptr;  ///< of the i-th such bucket, the first slot; behind them, `slots`
    unsigned shift = 0;                     ///< 0: a bucket is a column, and `firsts` is not read
    const std::uint32_t* columns = nullptr;  ///< of slots; behind them, one that no row has
    std::size_t slots = 0;
    const float* lines = nullptr;  ///< [slot · 16 + lane]
    const float* alone =
        nullptr;  ///< [slot · 16 + lane] the part of the line and of a row without the column
    const double* squares = nullptr;  ///< of sixteen queries, for cosine
};

/// Rows `begin` to `end` of the list, or of all.
struct row_stretch {
    sparse_rows rows;
    const std::uint32_t* list = nullptr;  ///< null: row i is i
    const double* squares = nullptr;      ///< of all rows, for cosine
    std::size_t begin = 0, end = 0;
    constexpr std::size_t id(std::size_t i) const { return list == nullptr ? i : list[i]; }
};

/// keys[(i − begin) · 16 + lane]: rank keys, the bits of key_of_parts. Rows look their columns up.
void sparse_product_keys(const query_group& group, const row_stretch& rows, vector_metric metric,
                         std::uint32_t* keys);
/// Of sql2, l2, l1 and linf: the columns of the row are merged with those of the group.
void sparse_merged_keys(const query_group& group, const row_stretch& rows, vector_metric metric,
                        std::uint32_t* keys);

}  // namespace quern::ranked_retrieval_detail
