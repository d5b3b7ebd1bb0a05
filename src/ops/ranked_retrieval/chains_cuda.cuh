// SPDX-License-Identifier: Apache-2.0
// Keys by the partial sums as they are defined: sixteen lanes a pair, lane c the components c, c + 16, … Any type, any
// number of components, any stride and beginning. The paper's method is this with a block for each vector.
#pragma once

#include "device/cuda/check.cuh"
#include "ops/ranked_retrieval/components.cuh"

namespace quern::ranked_retrieval_detail {

/// The keys of these pairs.
template <class Key>
void chain_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys);

}  // namespace quern::ranked_retrieval_detail
