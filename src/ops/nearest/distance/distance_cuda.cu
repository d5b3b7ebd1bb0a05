// SPDX-License-Identifier: Apache-2.0
// Chooses the kernels for the keys of pairs on a GPU.
#include "ops/nearest/distance/chains_cuda.cuh"
#include "ops/nearest/distance/scan_cuda.cuh"
#include "ops/nearest/distance/tiles_cuda.cuh"

namespace quern::nearest_detail {
namespace {

/// For this many queries, a separate pass over the rows for each takes less time than tiles.
constexpr std::uint32_t few_queries = 4;

}  // namespace

template <class Key>
void distance_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                   vector_metric metric, device_span<const std::uint32_t> rows, device_span<Key> keys) {
    const wanted_pairs wanted = pairs_of(tile, queries, rows);
    const bool done =
        tile.type == vector_type::f64         ? false  // only by chains
        : queries.rows > few_queries          ? tile_keys(place, tile, queries, metric, wanted, keys.data())
        : in_words(tile) && in_words(queries) ? scan_words(place, tile, queries, metric, wanted, keys.data())
        : rows.empty() && in_bytes(tile)      ? scan_bytes(place, tile, queries, metric, keys.data())
                                              : false;
    if (!done) chain_keys(place, tile, queries, metric, wanted, keys.data());
}
template void distance_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                            vector_metric, device_span<const std::uint32_t>, device_span<std::uint32_t>);
template void distance_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                            vector_metric, device_span<const std::uint32_t>, device_span<std::uint64_t>);

}  // namespace quern::nearest_detail
