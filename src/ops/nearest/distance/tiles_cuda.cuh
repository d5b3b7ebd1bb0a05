// SPDX-License-Identifier: Apache-2.0
// Keys of many queries at the speed of arithmetic, with tiles of rows and queries in registers.
#pragma once

#include "device/cuda/check.cuh"
#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {

/// The keys of every query and every row, or every listed row. Rows and queries may have any alignment. If such sums are
/// not supported (is_common), returns false and does nothing.
template <class Key>
bool tile_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
               vector_metric metric, const wanted_pairs& wanted, Key* keys);

}  // namespace quern::nearest_detail
