// SPDX-License-Identifier: Apache-2.0
// Keys of many queries at the speed of arithmetic: rows and queries meet in tiles of registers.
#pragma once

#include "device/cuda/check.cuh"
#include "ops/ranked_retrieval/components.cuh"

namespace quern::ranked_retrieval_detail {

/// The keys of every query and every row, or every listed row. Rows and queries may begin anywhere. False: not of such
/// sums (is_common), nothing done.
template <class Key>
bool tile_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
               vector_metric metric, const wanted_pairs& wanted, Key* keys);

}  // namespace quern::ranked_retrieval_detail
