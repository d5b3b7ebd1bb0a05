// SPDX-License-Identifier: Apache-2.0
// Chooses the kernels for the keys of pairs on a GPU, and has the one that fits all.
#include "ops/nearest/distance/distance_cuda.cuh"

#include <algorithm>

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned max_blocks = 1u << 20, max_queries = 65'535;
/// For this many queries, a separate pass over the rows for each takes less time than tiles.
constexpr std::uint32_t few_queries = 4;

/// Sixteen lanes per pair, two pairs per warp; the grid covers a query's pairs in x and queries in y. A row is read once
/// for each of its pairs, 16 components at a time; queries come from the cache. No shared memory.
template <class Traits, class Key>
__global__ void __launch_bounds__(block_threads)
    sum_chains_kernel(device_rows rows, device_rows queries, std::uint32_t count, wanted_pairs wanted,
                      key_maker<Key> key_of, Key* keys) {
    using sum_type = typename Traits::sum;
    constexpr unsigned warp_pairs = 32 / partial_sums;
    const unsigned chain = threadIdx.x % partial_sums, half = threadIdx.x % 32 / partial_sums;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (block_threads / 32);
    const std::uint64_t warp = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / 32;
    for (std::uint32_t q = blockIdx.y; q < wanted.queries; q += gridDim.y) {
        for (std::uint64_t first = warp * warp_pairs; first < wanted.size; first += warps * warp_pairs) {
            const std::uint64_t i = first + half;
            const std::uint32_t row = wanted.row(i < wanted.size ? i : first);
            const sum_type sum =
                tree_of_lanes<Traits::kind>(partial_sum<Traits::type, Traits::kind, sum_type>(
                    rows.row<Traits::type>(row), queries.row<Traits::type>(q), count, chain));
            if (chain == 0 && i < wanted.size) keys[q * wanted.size + i] = key_of(sum, q, row);
        }
    }
}

}  // namespace

template <class Key>
void chain_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    with_pair_traits<Key>(tile.type, metric, tile.dimensions, [&]<class Traits>(Traits) {
        const dim3 grid(std::min(cuda::blocks_for(wanted.size, block_threads / partial_sums), max_blocks),
                        std::min(wanted.queries, max_queries));
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), (sum_chains_kernel<Traits, Key>),
                     device_view(tile), device_view(queries), summed_items(tile, metric), wanted,
                     (key_maker<Key>{metric, tile.squares.data(), queries.squares.data()}), keys);
    });
}
template void chain_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         const wanted_pairs&, std::uint32_t*);
template void chain_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         const wanted_pairs&, std::uint64_t*);

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
