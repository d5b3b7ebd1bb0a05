// SPDX-License-Identifier: Apache-2.0
// Exact distances of sparse rows on a GPU. sql2, l1 and linf have a part for every column that either row has: the two are
// merged, a thread a pair, as many pairs at once as the device holds. Products look columns up instead
// (sparse_products_cuda.cu).
#include <algorithm>

#include "ops/ranked_retrieval/sparse_cuda.cuh"

namespace quern::ranked_retrieval_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned rows_of_block = 32;  // a lane, a row
constexpr unsigned warps = block_threads / 32;
constexpr unsigned queries_of_block = 64;  // eight a warp, one after the other
constexpr unsigned most_blocks_in_y = 65'535;
constexpr unsigned staged_entries = 3'968;  // with the sums 47 KB: four blocks a multiprocessor

/// Rows [32·block.x, +32), the queries of its share of the grid in y: the rows' entries are copied to shared memory where they fit; then
/// a thread merges its row with the queries of its warp, in turn. Lanes of a warp read one query, at about the same
/// place, and write neighbouring keys. Partial sum c of thread t lies at [c][t]: no two lanes in one bank.
template <part_kind Kind>
__global__ void __launch_bounds__(block_threads) merge_pairs_kernel(sparse_pairs pairs) {
    __shared__ std::uint32_t staged_columns[staged_entries];
    __shared__ float staged_values[staged_entries];
    __shared__ float sums[partial_sums][block_threads];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint64_t i = std::uint64_t{blockIdx.x} * rows_of_block + lane;
    const bool here = i < pairs.n;
    const std::uint64_t id = here ? pairs.row_at(i) : 0;
    sparse_row row{};
    if (here) row = pairs.rows[id];

    // Every warp finds where its lane's row begins among the staged ones: the sizes, summed.
    std::uint64_t end = row.size;
    for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint64_t before = __shfl_up_sync(~0u, end, step);
        if (lane >= step) end += before;
    }
    const bool fits = __shfl_sync(~0u, end, 31) <= staged_entries;
    if (fits) {
        const auto begin = static_cast<std::uint32_t>(end - row.size);
        for (unsigned r = warp; r < rows_of_block; r += warps) {  // a warp copies four rows
            const auto size = static_cast<std::uint32_t>(__shfl_sync(~0u, row.size, r));
            const std::uint32_t to = __shfl_sync(~0u, begin, r);
            const auto* const columns = reinterpret_cast<const std::uint32_t*>(
                __shfl_sync(~0u, reinterpret_cast<unsigned long long>(row.columns), r));
            const auto* const values = reinterpret_cast<const float*>(
                __shfl_sync(~0u, reinterpret_cast<unsigned long long>(row.values), r));
            for (std::uint32_t e = lane; e < size; e += 32) {
                staged_columns[to + e] = columns[e];
                staged_values[to + e] = values[e];
            }
        }
        row = {staged_columns + begin, staged_values + begin, row.size};
    }
    __syncthreads();
    if (!here) return;

    float* const own = &sums[0][threadIdx.x];
    for (std::uint64_t q = blockIdx.y * warps + warp; q < pairs.query_count; q += gridDim.y * warps) {
#pragma unroll
        for (unsigned c = 0; c < partial_sums; ++c) own[c * block_threads] = 0;
        for_each_part<Kind>(row, pairs.queries[q], [&](std::uint32_t column, float part) {
            add_part<Kind>(own[column % partial_sums * block_threads], part);
        });
        pairs.keys[q * pairs.n + i] = pairs.key(joined_sums<Kind>(own, block_threads), id, q);
    }
}

void merge_pairs(cuda_place& place, const sparse_pairs& pairs) {
    const dim3 grid(cuda::blocks_for(pairs.n, rows_of_block),
                    std::min(cuda::blocks_for(pairs.query_count, queries_of_block), most_blocks_in_y));
    with_part_kind(pairs.metric, [&](auto kind) {
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), merge_pairs_kernel<kind>, pairs);
    });
}

}  // namespace

template <class Key>
void distance_keys(cuda_place& place, const sparse_tile<cuda_place>& tile,
                   const sparse_tile<cuda_place>& queries, vector_metric metric,
                   device_span<const std::uint32_t> rows, device_span<Key> keys) {
    const sparse_pairs pairs{.rows = rows_of(tile),
                             .queries = rows_of(queries),
                             .list = rows.empty() ? nullptr : rows.data(),
                             .n = rows.empty() ? tile.rows : rows.size(),
                             .query_count = queries.rows,
                             .dimensions = tile.dimensions,
                             .row_squares = tile.squares.data(),
                             .query_squares = queries.squares.data(),
                             .metric = metric,
                             .keys = keys.data()};
    if (pairs.n == 0 || pairs.query_count == 0) return;
    const bool looked_up =
        part_of(metric) == part_kind::products && look_up_products(place, pairs, queries.columns.size());
    if (!looked_up) merge_pairs(place, pairs);
}

template void distance_keys<std::uint32_t>(cuda_place&, const sparse_tile<cuda_place>&,
                                           const sparse_tile<cuda_place>&, vector_metric,
                                           device_span<const std::uint32_t>, device_span<std::uint32_t>);

}  // namespace quern::ranked_retrieval_detail
