// SPDX-License-Identifier: Apache-2.0
// Keys by the partial sums of the definition: sixteen lanes per pair, lane c the components c, c + 16, … Any type, number
// of components, stride and alignment. The paper's method is this with one block per vector.
#pragma once

#include "device/cuda/check.cuh"
#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {

/// The keys of these pairs.
template <class Key>
void chain_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys);

}  // namespace quern::nearest_detail
