// SPDX-License-Identifier: Apache-2.0
// Exact distances of scattered pairs of a query and a row: the pairs that the filter in 8-bit integers could not exclude.
// Rows are read once each, in no order, so the number of loads in flight decides: four threads per pair, each with four
// neighbouring components of every sixteen, which are also four of the canonical order's sixteen sums.
#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/nearest/quantized/quantized_cuda.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned lanes = 4;     // per pair
constexpr unsigned together = 4;  // components that a lane takes of every sixteen

struct pair_list {
    device_rows rows, queries;
    const std::uint64_t* pairs;
    std::uint64_t size;
    std::uint32_t items;  ///< summed_items
    bool aligned;         ///< groups of both are
};

/// Four neighbouring threads own pair i: thread l of them the components 4l … 4l + 3 of every sixteen. Any grid that covers
/// lanes · size; no shared memory. Many small blocks, so that gathers of all of them are in flight.
template <class Pair, class Key>
__global__ void __launch_bounds__(block_threads)
    pair_keys_kernel(pair_list list, key_maker<Key> make, Key* keys) {
    using sum = typename Pair::sum;
    constexpr unsigned everyone = 0xffffffffu;
    const std::uint64_t i = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / lanes;
    const unsigned lane = threadIdx.x % lanes;
    const std::uint64_t pair = i < list.size ? list.pairs[i] : no_row;
    const auto query = static_cast<std::uint32_t>(pair >> 32), row = static_cast<std::uint32_t>(pair);
    sum sums[together] = {};
    if (row != no_row) {
        const auto* a = list.rows.row<Pair::type>(row);
        const auto* b = list.queries.row<Pair::type>(query);
#pragma unroll 4
        for (std::uint32_t first = lane * together; first < list.items; first += lanes * together) {
            const auto x = read_group<Pair::type>(a, first, list.items, list.aligned);
            const auto y = read_group<Pair::type>(b, first, list.items, list.aligned);
            for (unsigned c = 0; c < together; ++c)
                sums[c] = with_part<Pair::kind>(sums[c], loaded_value<Pair::type>(x.at[c]),
                                                loaded_value<Pair::type>(y.at[c]));
        }
    }
    for (const int apart : {2, 1})  // sum i of sixteen with sum i + 8, then i + 4
        for (sum& mine : sums) mine = joined<Pair::kind>(mine, __shfl_xor_sync(everyone, mine, apart));
    const sum all =
        joined<Pair::kind>(joined<Pair::kind>(sums[0], sums[2]), joined<Pair::kind>(sums[1], sums[3]));
    if (lane == 0 && i < list.size) keys[i] = row == no_row ? no_key<Key> : make(all, query, row);
}

}  // namespace

template <class Key>
void distance_keys_of_pairs(cuda_place& place, const row_tile<cuda_place>& tile,
                            const row_tile<cuda_place>& queries, vector_metric metric,
                            device_span<const std::uint64_t> pairs, device_span<Key> keys) {
    with_pair_traits<Key>(tile.type, metric, tile.dimensions, [&](auto pair) {
        const pair_list list{
            device_view(tile), device_view(queries),       pairs.data(),
            pairs.size(),      summed_items(tile, metric), groups_aligned(tile) && groups_aligned(queries)};
        const key_maker<Key> make{metric, tile.squares.data(), queries.squares.data()};
        const unsigned blocks = cuda::blocks_for(pairs.size(), block_threads / lanes);
        QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_threads)}),
                     (pair_keys_kernel<decltype(pair), Key>), list, make, keys.data());
    });
}
template void distance_keys_of_pairs(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                                     vector_metric, device_span<const std::uint64_t>,
                                     device_span<std::uint32_t>);
template void distance_keys_of_pairs(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                                     vector_metric, device_span<const std::uint64_t>,
                                     device_span<std::uint64_t>);

}  // namespace quern::nearest_detail
