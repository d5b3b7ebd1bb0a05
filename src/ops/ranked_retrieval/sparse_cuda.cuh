// SPDX-License-Identifier: Apache-2.0
// Distances of sparse rows on a GPU: two ways, the same keys.
#pragma once

#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/ranked_retrieval/sparse_pair.hpp"
#include "ops/ranked_retrieval/tile.hpp"

namespace quern::ranked_retrieval_detail {

/// What every kernel is given: rows (of a list, or of the tile), queries, and where keys go.
struct sparse_pairs {
    sparse_rows rows, queries;
    const std::uint32_t* list = nullptr;  ///< null: row i is i
    std::uint64_t n = 0;                  ///< rows to compare
    std::uint32_t query_count = 0, dimensions = 0;
    const double* row_squares = nullptr;  ///< for cosine
    const double* query_squares = nullptr;
    vector_metric metric = vector_metric::ip;
    std::uint32_t* keys = nullptr;  ///< [query · n + i]

    __device__ std::uint64_t row_at(std::uint64_t i) const { return list == nullptr ? i : list[i]; }
    __device__ std::uint32_t key(float sum, std::uint64_t row, std::uint32_t query) const {
        two_lengths lengths;
        if (metric == vector_metric::cosine) {
            lengths = {row_squares[row], query_squares[query], 0};
            lengths.root = sqrt(lengths.x * lengths.y);
        }
        return key_of_parts(metric, sum, lengths);
    }
};

/// ip and cosine by columns that are looked up. `query_entries`: of all queries. False, and nothing is enqueued: the
/// tables would be too large.
bool look_up_products(cuda_place& place, const sparse_pairs& pairs, std::uint64_t query_entries);

}  // namespace quern::ranked_retrieval_detail
