// SPDX-License-Identifier: Apache-2.0
// The kernels for the keys of pairs on a GPU, and what each is for.
#pragma once

#include "device/cuda/check.cuh"
#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {

// Keys of many queries at the speed of arithmetic, with tiles of rows and queries in registers.

/// The keys of every query and every row, or every listed row. Rows and queries may have any alignment. If such sums are
/// not supported (is_common), returns false and does nothing.
template <class Key>
bool tile_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
               vector_metric metric, const wanted_pairs& wanted, Key* keys);

// Keys by the partial sums of the definition: sixteen lanes per pair, lane c the components c, c + 16, … Any type, number
// of components, stride and alignment. The paper's method is this with one block per vector.

/// The keys of these pairs.
template <class Key>
void chain_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys);

// Keys at memory speed: every row is read once, in pieces of sixteen bytes.

/// The keys of pairs of rows in words, tile and queries. If such sums are not supported (is_common), returns false and does
/// nothing.
template <class Key>
bool scan_words(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys);

/// Whether scan_bytes can process all rows of a tile: without gaps, a query small enough for shared memory.
inline bool in_bytes(const row_tile<cuda_place>& tile) {
    const std::uint64_t bytes = bytes_of_row(tile.type, tile.dimensions);
    return tile.stride == bytes && bytes <= 2048;
}

/// The keys of all rows of a tile, for any alignment. False as above.
template <class Key>
bool scan_bytes(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, Key* keys);

}  // namespace quern::nearest_detail
