// SPDX-License-Identifier: Apache-2.0
// Distances of sparse rows on a GPU: two methods, the same keys.
#pragma once

#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_pair.hpp"

namespace quern::nearest_detail {

/// The arguments of every kernel: rows (of a list, or of the tile), queries, and the destination of keys.
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

/// ip and cosine by looking columns up. `query_entries`: of all queries. False, with nothing enqueued, if the tables would
/// be too large.
bool look_up_products(cuda_place& place, const sparse_pairs& pairs, std::uint64_t query_entries);

}  // namespace quern::nearest_detail
