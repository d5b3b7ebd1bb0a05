// SPDX-License-Identifier: Apache-2.0
// Keys at the speed of memory: every row is read once, in pieces of sixteen bytes.
#pragma once

#include "device/cuda/check.cuh"
#include "ops/ranked_retrieval/components.cuh"

namespace quern::ranked_retrieval_detail {

/// The keys of pairs of rows that lie in words, tile and queries. False: not of such sums (is_common), nothing done.
template <class Key>
bool scan_words(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys);

/// Whether all rows of a tile can be had by scan_bytes: without gaps, a query small enough for shared memory.
inline bool in_bytes(const row_tile<cuda_place>& tile) {
    const std::uint64_t bytes = bytes_of_row(tile.type, tile.dimensions);
    return tile.stride == bytes && bytes <= 2048;
}

/// The keys of all rows of a tile, wherever rows begin. False as above.
template <class Key>
bool scan_bytes(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, Key* keys);

}  // namespace quern::ranked_retrieval_detail
