// SPDX-License-Identifier: Apache-2.0
// Which kernels compute the keys of pairs on a GPU.
#include "ops/ranked_retrieval/chains_cuda.cuh"

namespace quern::ranked_retrieval_detail {

template <class Key>
void distance_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                   vector_metric metric, device_span<const std::uint32_t> rows, device_span<Key> keys) {
    chain_keys(place, tile, queries, metric, pairs_of(tile, queries, rows), keys.data());
}
template void distance_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                            vector_metric, device_span<const std::uint32_t>, device_span<std::uint32_t>);
template void distance_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                            vector_metric, device_span<const std::uint32_t>, device_span<std::uint64_t>);

}  // namespace quern::ranked_retrieval_detail
