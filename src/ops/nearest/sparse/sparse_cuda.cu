// SPDX-License-Identifier: Apache-2.0
// Exact distances of sparse rows on a GPU. sql2, l1 and linf have a part for every column that either row has: the two are
// merged, one thread per pair, as many pairs at once as the device holds. Products look columns up instead
// (sparse_products_cuda.cu).
#include <algorithm>
#include <array>

#include "device/cuda/check.cuh"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_cuda.cuh"
#include "ops/nearest/sparse/sparse_pair.hpp"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned rows_of_block = 32;  // one lane per row
constexpr unsigned warps = block_threads / 32;
constexpr unsigned queries_of_block = 64;  // eight per warp, one after another
constexpr unsigned max_blocks_in_y = 65'535;
constexpr unsigned staged_entries = 3'968;  // with the sums 47 KB: four blocks per multiprocessor

/// An entry for merging, read in one step. Each row ends with `no_more`.
struct alignas(8) entry {
    std::uint32_t column;
    float value;
};
constexpr std::uint32_t no_more = ~0u;  // columns are below

__device__ inline entry loaded(const entry* from) {
    const uint2 both = __ldg(reinterpret_cast<const uint2*>(from));
    return {both.x, __uint_as_float(both.y)};
}

/// One warp per query: entries of query q go to its first entry's number + q.
__global__ void __launch_bounds__(block_threads)
    join_entries_kernel(sparse_rows queries, std::uint32_t count, entry* to) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * warps;
    for (std::uint64_t q = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32; q < count; q += step) {
        const sparse_row own = queries[q];
        entry* const begin = to + (own.columns - queries.columns) + q;
        for (std::uint64_t e = threadIdx.x % 32; e < own.size; e += 32)
            begin[e] = {own.columns[e], own.values[e]};
        if (threadIdx.x % 32 == 0) begin[own.size] = {no_more, 0};
    }
}

/// Adds the parts of all columns of a and b to sums[c · block_threads]. If a's column equals b's, both advance.
template <part_kind Kind>
__device__ inline void add_merged(const entry* a, const entry* b, float* sums) {
    entry of_a = *a, of_b = loaded(b);
    while (true) {
        const std::uint32_t column = min(of_a.column, of_b.column);
        if (column == no_more) return;
        const bool take_a = of_a.column == column, take_b = of_b.column == column;
        if (Kind != part_kind::products || (take_a && take_b)) {
            const float own = part<Kind>(take_a ? of_a.value : 0.0f, take_b ? of_b.value : 0.0f);
            add_part<Kind>(sums[column % partial_sums * block_threads], own);
        }
        if (take_a) of_a = *++a;
        if (take_b) of_b = loaded(++b);
    }
}

/// Rows [32·block.x, +32), the queries of its share of the grid in y. The rows' entries are copied to shared memory if they
/// fit; then a thread merges its row with the queries of its warp, in turn. Lanes of a warp read one query, at about the
/// same position, and write neighbouring keys. Partial sum c of thread t is at [c][t]: no two lanes in one bank.
template <part_kind Kind>
__global__ void __launch_bounds__(block_threads, 4)
    merge_pairs_kernel(sparse_pairs pairs, const entry* __restrict__ queries) {
    __shared__ entry staged[staged_entries];
    __shared__ float sums[partial_sums][block_threads];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint64_t i = std::uint64_t{blockIdx.x} * rows_of_block + lane;
    const bool here = i < pairs.n;
    const std::uint64_t id = here ? pairs.row_at(i) : 0;
    sparse_row row{};
    if (here) row = pairs.rows[id];

    // Every warp finds the start of its lane's row among the staged ones: a prefix sum of the sizes.
    std::uint64_t end = row.size + 1;
    for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint64_t before = __shfl_up_sync(~0u, end, step);
        if (lane >= step) end += before;
    }
    const bool fits = __shfl_sync(~0u, end, 31) <= staged_entries;
    const auto begin = static_cast<std::uint32_t>(end - row.size - 1);
    if (fits) {
        for (unsigned r = warp; r < rows_of_block; r += warps) {  // a warp copies four rows
            const auto size = static_cast<std::uint32_t>(__shfl_sync(~0u, row.size, r));
            const std::uint32_t to = __shfl_sync(~0u, begin, r);
            const std::uint64_t from =
                __shfl_sync(~0u, static_cast<std::uint64_t>(row.columns - pairs.rows.columns), r);
            for (std::uint32_t e = lane; e < size; e += 32)
                staged[to + e] = {pairs.rows.columns[from + e], pairs.rows.values[from + e]};
            if (lane == 0) staged[to + size] = {no_more, 0};
        }
    }
    __syncthreads();
    if (!here) return;

    float* const own = &sums[0][threadIdx.x];
    for (std::uint64_t q = blockIdx.y * warps + warp; q < pairs.query_count; q += gridDim.y * warps) {
#pragma unroll
        for (unsigned c = 0; c < partial_sums; ++c) own[c * block_threads] = 0;
        if (fits) {
            add_merged<Kind>(staged + begin,
                             queries + (pairs.queries.offsets[q] - pairs.queries.offsets[0]) + q, own);
        } else {
            for_each_part<Kind>(row, pairs.queries[q], [&](std::uint32_t column, float part) {
                add_part<Kind>(own[column % partial_sums * block_threads], part);
            });
        }
        pairs.keys[q * pairs.n + i] =
            pairs.key(joined_sums<Kind>(own, block_threads), id, static_cast<std::uint32_t>(q));
    }
}

void merge_pairs(cuda_place& place, const sparse_pairs& pairs, std::uint64_t query_entries) {
    const cuda_array<entry> queries(place, query_entries + pairs.query_count, "sparse queries");
    const unsigned join_blocks =
        std::min(cuda::blocks_for(pairs.query_count, warps), 8 * place.multiprocessors());
    QUERN_LAUNCH(place, (cuda::launch_shape{join_blocks, block_threads}), join_entries_kernel, pairs.queries,
                 pairs.query_count, queries.data());
    const dim3 grid(cuda::blocks_for(pairs.n, rows_of_block),
                    std::min(cuda::blocks_for(pairs.query_count, queries_of_block), max_blocks_in_y));
    with_part_kind(pairs.metric, [&](auto kind) {
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), merge_pairs_kernel<kind>, pairs,
                     queries.data());
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
    if (!looked_up) merge_pairs(place, pairs, queries.columns.size());
}

template void distance_keys<std::uint32_t>(cuda_place&, const sparse_tile<cuda_place>&,
                                           const sparse_tile<cuda_place>&, vector_metric,
                                           device_span<const std::uint32_t>, device_span<std::uint32_t>);

// Facts of sparse rows, computed on a GPU.

namespace {

constexpr unsigned all_lanes = ~0u;

/// A bad row, and a number with the maximum |a|'s bits in the upper half and ~row in the lower: its maximum gives the first
/// row with the maximum.
struct found_stats {
    unsigned long long greatest;
    std::uint32_t bad_row, unused;
};

/// One warp per row; a lane takes one entry of each 32. Sums of squares: lane c adds the squares of columns c, c + 16, …
/// one by one in their order. Any grid; no shared memory.
__global__ void __launch_bounds__(block_threads)
    look_at_rows_kernel(sparse_rows rows, std::uint32_t count, std::uint32_t dimensions, double* squares,
                        found_stats* found) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t bad = no_row;
    unsigned long long greatest = 0;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (block_threads / 32);
    for (std::uint64_t i = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / 32; i < count;
         i += warps) {
        const sparse_row row = rows[i];
        float sum = 0;
        for (std::uint64_t first = 0; first < row.size; first += 32) {
            const std::uint64_t e = first + lane;
            const bool here = e < row.size;
            const std::uint32_t column = here ? row.columns[e] : 0;
            const float value = here ? row.values[e] : 0.0f;
            const float size = fabsf(value);
            if (here &&
                (column >= dimensions || !is_finite(value) || (e != 0 && row.columns[e - 1] >= column)))
                bad = min(bad, static_cast<std::uint32_t>(i));
            if (is_finite(size) && size > 0) {
                const unsigned long long packed = static_cast<unsigned long long>(__float_as_uint(size))
                                                  << 32;
                greatest = max(greatest, packed | ~static_cast<std::uint32_t>(i));
            }
            if (squares == nullptr) continue;
            const unsigned in_order = static_cast<unsigned>(min(row.size - first, std::uint64_t{32}));
            for (unsigned s = 0; s < in_order; ++s) {
                const std::uint32_t of = __shfl_sync(all_lanes, column, s);
                const float term = __shfl_sync(all_lanes, value, s);
                if (of % partial_sums == lane) sum += term * term;
            }
        }
        if (squares == nullptr) continue;
        for (unsigned half = partial_sums / 2; half != 0; half /= 2)
            sum += __shfl_down_sync(all_lanes, sum, half, partial_sums);
        if (lane == 0) squares[i] = sum;
    }
    if (bad != no_row) atomicMin(&found->bad_row, bad);
    if (greatest != 0) atomicMax(&found->greatest, greatest);
}

}  // namespace

row_stats stats_of(cuda_place& place, const sparse_tile<cuda_place>& tile, device_span<double> squares) {
    if (!squares.empty() && squares.size() != tile.rows)
        throw usage_error("sums of squares are wanted of every row or of none");
    std::array<found_stats, 1> found{{{0, no_row, 0}}};
    const auto on_device = array_from(place, std::span<const found_stats>(found), "facts of vectors");
    const unsigned blocks =
        std::min(cuda::blocks_for(tile.rows, block_threads / 32), 16 * place.multiprocessors());
    QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads}), look_at_rows_kernel, rows_of(tile),
                 tile.rows, tile.dimensions, squares.empty() ? nullptr : squares.data(), on_device.data());
    copy_out<found_stats>(place, on_device.span(), found);
    row_stats stats;
    stats.bad_row = found[0].bad_row;
    if (found[0].greatest != 0) {
        stats.greatest = double{std::bit_cast<float>(static_cast<std::uint32_t>(found[0].greatest >> 32))};
        stats.greatest_row = ~static_cast<std::uint32_t>(found[0].greatest);
    }
    return stats;
}

}  // namespace quern::nearest_detail
