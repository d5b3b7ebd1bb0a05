// SPDX-License-Identifier: Apache-2.0
// What the filter's kernels for Hopper (quantized_cuda_filter.cu) and for other devices (quantized_cuda_filter_portable.cu)
// have in common: products of codes by tensor cores (exact), the comparison of bounds, and the lists of candidates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/nearest/quantized/quantized_cuda.cuh"

namespace quern::nearest_detail {

inline constexpr unsigned warp = 32;
inline constexpr unsigned everyone = 0xffffffffu;
inline constexpr unsigned block_warps = 8;
inline constexpr unsigned slab_steps = 4;  // per stage
inline constexpr unsigned tile_blocks = quantized_tile_rows / block_rows;
inline constexpr unsigned slab_bytes = quantized_tile_rows * step_components * slab_steps;
inline constexpr unsigned term_bytes = quantized_tile_rows * sizeof(row_terms);

/// Eight warps over Queries × 128 pairs, each over WarpQueries × WarpRows.
template <unsigned Queries, unsigned WarpQueries, unsigned WarpRows, unsigned Blocks>
struct filter_shape {
    static constexpr unsigned queries = Queries, warp_queries = WarpQueries, warp_rows = WarpRows;
    static constexpr unsigned blocks = Blocks;  // per multiprocessor, a limit on registers
    static constexpr unsigned query_blocks = WarpQueries / block_rows, row_blocks = WarpRows / block_rows;
    static constexpr unsigned query_slab_bytes = Queries * step_components * slab_steps;
    static_assert(Queries / WarpQueries * (quantized_tile_rows / WarpRows) == block_warps);
    static_assert(WarpRows <= 64, "a word of candidates for sixteen queries");
};
using many_queries = filter_shape<256, 64, 64, 1>;  // 128 sums per thread fill a multiprocessor
using hundred_queries = filter_shape<128, 64, 32, 2>;
using some_queries = filter_shape<64, 32, 32, 2>;
using few_queries = filter_shape<16, 16, 16, 3>;

/// The use of shared memory, and the number of blocks.
struct filter_plan {
    unsigned stages, stage_bytes, query_bytes;
    unsigned query_tiles, workers;
    bool resident;  ///< queries stay in shared memory; otherwise they arrive with each slab
    __host__ __device__ unsigned shared_bytes() const { return query_bytes + stages * stage_bytes; }
};

/// The part of a block in a round.
template <class Shape>
struct filter_share {
    static constexpr unsigned warps_across = quantized_tile_rows / Shape::warp_rows;
    static constexpr unsigned step_query_bytes = Shape::queries * step_components;
    static constexpr unsigned step_row_bytes = quantized_tile_rows * step_components;
    const filter_work& work;
    const filter_plan& plan;
    std::uint32_t query_tile, worker;
    std::uint32_t slabs;   ///< of a tile of rows
    std::uint32_t chunks;  ///< slabs of all tiles, each of at least 2^12 bytes
    const unsigned char *query_codes, *row_codes;

    __device__ filter_share(const filter_work& all, const filter_plan& planned)
        : work(all),
          plan(planned),
          query_tile(blockIdx.x % planned.query_tiles),
          worker(blockIdx.x / planned.query_tiles),
          slabs((all.steps + slab_steps - 1) / slab_steps),
          chunks((worker < all.round.tiles ? (all.round.tiles - worker - 1) / planned.workers + 1 : 0) *
                 slabs),
          query_codes(reinterpret_cast<const unsigned char*>(all.query_codes) +
                      std::uint64_t{query_tile} * all.steps * step_query_bytes),
          row_codes(reinterpret_cast<const unsigned char*>(all.row_codes)) {}

    __device__ std::uint32_t row_tile(std::uint32_t chunk) const {
        return work.round.tile(worker + chunk / slabs * plan.workers);
    }
    __device__ unsigned steps(std::uint32_t slab) const {
        return min(slab_steps, work.steps - slab * slab_steps);
    }
    /// Calls copy(to, from, bytes) for all that a chunk needs in its stage; both ends are aligned to sixteen bytes.
    template <class Copy>
    __device__ void copy_chunk(std::uint32_t chunk, unsigned char* stage, const Copy& copy) const {
        const std::uint32_t slab = chunk % slabs, tile = row_tile(chunk);
        copy(stage, row_codes + (std::uint64_t{tile} * work.steps + slab * slab_steps) * step_row_bytes,
             steps(slab) * step_row_bytes);
        if (!plan.resident)
            copy(stage + slab_bytes, query_codes + std::uint64_t{slab} * slab_steps * step_query_bytes,
                 steps(slab) * step_query_bytes);
        if (slab == slabs - 1)
            copy(
                stage + plan.stage_bytes - term_bytes,
                reinterpret_cast<const unsigned char*>(work.rows + std::uint64_t{tile} * quantized_tile_rows),
                term_bytes);
    }
    __device__ unsigned chunk_bytes(std::uint32_t chunk) const {
        const std::uint32_t slab = chunk % slabs;
        return steps(slab) * (step_row_bytes + (plan.resident ? 0 : step_query_bytes)) +
               (slab == slabs - 1 ? term_bytes : 0);
    }
    /// By a block: the terms of its queries; those past the last want nothing.
    __device__ void load_terms(filter_terms* terms) const {
        for (unsigned i = threadIdx.x; i < Shape::queries; i += block_warps * warp) {
            const std::uint32_t q = query_tile * Shape::queries + i;
            terms[i] = q < work.query_count ? work.queries[q]
                                            : filter_terms{0, 0, 0, std::numeric_limits<float>::infinity()};
        }
    }
};

// ---- Products ----

/// With so few steps products are below 2^22, and sums start from float_origin: reinterpreted as floats, they are 3·2^22
/// plus the product, without a conversion.
inline constexpr std::uint32_t max_float_steps = 8;
inline constexpr float float_origin = 0x1.8p23f;
static_assert(max_float_steps * step_components * 127 * 127 < 1u << 22);

/// A thread's part of its warp's products: for sixteen queries m and eight rows n, the queries g and g + 8 and the rows 2t
/// and 2t + 1 (g = thread / 4, t = thread % 4), those of (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
template <class Shape>
struct products {
    int at[Shape::query_blocks][Shape::row_blocks * 2][4];
};

/// Adds 32 components' products, or (First) starts with them, from `origin` on. `queries`, `rows`: the warp's first block
/// of the step.
template <class Shape, bool First>
__device__ void add_step(products<Shape>& sums, const uint4* queries, const uint4* rows, unsigned lane,
                         int origin) {
    const int origins[4] = {origin, origin, origin, origin};
    uint4 a[Shape::query_blocks];
#pragma unroll
    for (unsigned m = 0; m < Shape::query_blocks; ++m) a[m] = queries[m * block_vectors + lane];
#pragma unroll
    for (unsigned n = 0; n < Shape::row_blocks; ++n) {
        const uint4 b = rows[n * block_vectors + lane];
#pragma unroll
        for (unsigned m = 0; m < Shape::query_blocks; ++m) {
            for (const bool second : {false, true}) {
                auto& sum = sums.at[m][2 * n + second];
                const unsigned low = second ? b.z : b.x, high = second ? b.w : b.y;
                if constexpr (First)
                    cuda::multiply_bytes(sum, a[m], low, high, origins);
                else
                    cuda::multiply_bytes(sum, a[m], low, high, sum);
            }
        }
    }
}

/// Adds a slab, or starts with it.
template <class Shape>
__device__ void add_slab(products<Shape>& sums, const uint4* queries, const uint4* rows, unsigned lane,
                         unsigned steps, bool first, int origin) {
    constexpr unsigned query_step = Shape::queries / block_rows * block_vectors;
    constexpr unsigned row_step = tile_blocks * block_vectors;
    if (first)
        add_step<Shape, true>(sums, queries, rows, lane, origin);
    else
        add_step<Shape, false>(sums, queries, rows, lane, origin);
    if (steps == slab_steps) {
#pragma unroll
        for (unsigned s = 1; s < slab_steps; ++s)
            add_step<Shape, false>(sums, queries + s * query_step, rows + s * row_step, lane, origin);
    } else {
#pragma unroll 1
        for (unsigned s = 1; s < steps; ++s)
            add_step<Shape, false>(sums, queries + s * query_step, rows + s * row_step, lane, origin);
    }
}

// ---- Comparing ----

/// Bit 4 n + e of word m: product (m, n, e) may be of a wanted pair (upper_bound, is_candidate). `Floats`: sums start at
/// float_origin, and scale · float_origin is exact.
template <class Shape, bool Floats>
__device__ void compare(const products<Shape>& sums, const filter_terms* queries, const row_terms* rows,
                        unsigned lane, unsigned (&wanted)[Shape::query_blocks]) {
    filter_terms query[Shape::query_blocks * 2];
#pragma unroll
    for (unsigned m = 0; m < Shape::query_blocks * 2; ++m) query[m] = queries[m * 8 + lane / 4];
#pragma unroll
    for (unsigned m = 0; m < Shape::query_blocks; ++m) wanted[m] = 0;
#pragma unroll
    for (unsigned n = 0; n < Shape::row_blocks * 2; ++n) {
        const float4 two[2] = {reinterpret_cast<const float4*>(rows)[n * 8 + lane % 4 * 2],
                               reinterpret_cast<const float4*>(rows)[n * 8 + lane % 4 * 2 + 1]};
#pragma unroll
        for (unsigned m = 0; m < Shape::query_blocks; ++m) {
#pragma unroll
            for (unsigned e = 0; e < 4; ++e) {
                const filter_terms& q = query[2 * m + e / 2];
                const row_terms r{two[e % 2].x, two[e % 2].y, two[e % 2].z, two[e % 2].w};
                const float product =
                    Floats ? __fmaf_rn(__int_as_float(sums.at[m][n][e]), q.scale, -float_origin * q.scale)
                           : q.scale * static_cast<float>(sums.at[m][n][e]);
                const float bound =
                    __fmaf_rn(r.scale, product, __fmaf_rn(r.rest, q.size, __fmaf_rn(r.size, q.rest, r.a)));
                if (!(bound < q.limit)) wanted[m] |= 1u << (4 * n + e);
            }
        }
    }
}

/// The pairs a warp has found, in shared memory until places in the lists are requested for all: one request takes as long
/// as a hundred.
struct found_pairs {
    static constexpr unsigned size = 128;
    uint2 at[size];  ///< query, row
};

/// Appends a warp's pairs to their queries' lists. All lanes must call it.
__device__ inline void append(const filter_work& work, const found_pairs& pairs, unsigned count,
                              unsigned lane) {
    constexpr unsigned each = found_pairs::size / warp;
    std::uint32_t slots[each];
    __syncwarp();
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        slots[i] = work.capacity;
        if (i * warp + lane >= count) continue;
        const auto [query, row] = pairs.at[i * warp + lane];
        if (query >= work.query_count || row >= work.row_count) continue;
        if (work.allowed != nullptr && (work.allowed[row / 64] >> (row % 64) & 1) == 0) continue;
        slots[i] = atomicAdd(work.counts + query, 1u);
    }
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        if (slots[i] >= work.capacity) continue;
        const auto [query, row] = pairs.at[i * warp + lane];
        work.found[std::uint64_t{query} * work.capacity + slots[i]] = row;
    }
    __syncwarp();
}

/// Adds the pairs of a word of compare()'s bits, whose first is of `query` and `row`, to the warp's `count` pairs; appends
/// them when full. All lanes must call it.
__device__ inline void take(const filter_work& work, found_pairs& pairs, unsigned& count, unsigned wanted,
                            std::uint32_t query, std::uint32_t row, unsigned lane) {
    while (__any_sync(everyone, wanted != 0)) {
        const auto mine = static_cast<unsigned>(__popc(wanted));
        unsigned up_to = mine;  // of this lane and the lanes before it
        for (unsigned apart = 1; apart < warp; apart *= 2) {
            const unsigned before = __shfl_up_sync(everyone, up_to, apart);
            if (lane >= apart) up_to += before;
        }
        for (unsigned slot = count + up_to - mine; wanted != 0 && slot < found_pairs::size; ++slot) {
            const unsigned bit = static_cast<unsigned>(__ffs(static_cast<int>(wanted))) - 1;
            pairs.at[slot] = make_uint2(query + bit % 4 / 2 * 8, row + bit / 4 * 8 + bit % 2);
            wanted &= wanted - 1;
        }
        count = min(found_pairs::size, count + __shfl_sync(everyone, up_to, warp - 1));
        if (count < found_pairs::size) return;
        append(work, pairs, count, lane);
        count = 0;
    }
}

/// What a warp does with chunks: adds their products, and after the last slab of a tile appends the pairs it wants.
template <class Shape, bool Floats>
struct filter_warp {
    const filter_share<Shape>& share;
    const filter_terms* terms;
    found_pairs& pairs;
    products<Shape> sums;
    unsigned found = 0;  // pairs not yet appended
    std::uint32_t slab = 0;

    __device__ filter_warp(const filter_share<Shape>& of, const filter_terms* queries, found_pairs& kept)
        : share(of), terms(queries), pairs(kept) {}

    static __device__ unsigned first_query() {
        return threadIdx.x / warp / filter_share<Shape>::warps_across * Shape::warp_queries;
    }
    static __device__ unsigned first_row() {
        return threadIdx.x / warp % filter_share<Shape>::warps_across * Shape::warp_rows;
    }
    /// `resident`: the codes of all queries, if they stay in shared memory.
    __device__ void multiply(const unsigned char* stage, const unsigned char* resident) {
        const auto* rows = reinterpret_cast<const uint4*>(stage) + first_row() / block_rows * block_vectors;
        const auto* queries =
            reinterpret_cast<const uint4*>(share.plan.resident ? resident + slab * Shape::query_slab_bytes
                                                               : stage + slab_bytes) +
            first_query() / block_rows * block_vectors;
        add_slab<Shape>(sums, queries, rows, threadIdx.x % warp, share.steps(slab), slab == 0,
                        Floats ? __float_as_int(float_origin) : 0);
    }
    /// After multiply.
    __device__ void finish(std::uint32_t chunk, const unsigned char* stage) {
        __syncwarp();
        if (++slab != share.slabs) return;
        slab = 0;
        const unsigned lane = threadIdx.x % warp;
        unsigned wanted[Shape::query_blocks];
        compare<Shape, Floats>(
            sums, terms + first_query(),
            reinterpret_cast<const row_terms*>(stage + share.plan.stage_bytes - term_bytes) + first_row(),
            lane, wanted);
        const std::uint32_t query = share.query_tile * Shape::queries + first_query() + lane / 4;
        const std::uint32_t row = share.row_tile(chunk) * quantized_tile_rows + first_row() + lane % 4 * 2;
#pragma unroll
        for (unsigned m = 0; m < Shape::query_blocks; ++m)
            take(share.work, pairs, found, wanted[m], query + m * block_rows, row, lane);
    }
    __device__ void append_rest() { append(share.work, pairs, found, threadIdx.x % warp); }
};

/// The numbers of tiles and workers of a plan whose shared memory is known.
template <class Kernel>
void launch_filter(cuda_place& place, const filter_work& work, filter_plan plan, unsigned queries,
                   Kernel* kernel) {
    plan.query_tiles = static_cast<unsigned>(tiles_of(work.query_count, queries));
    place.make_current();
    int at_once = 0;
    QUERN_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(plan.shared_bytes())));
    QUERN_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &at_once, kernel, static_cast<int>(block_warps * warp), plan.shared_bytes()));
    const unsigned blocks = place.multiprocessors() * static_cast<unsigned>(std::max(at_once, 1));
    plan.workers = std::min(std::max(1u, blocks / plan.query_tiles), work.round.tiles);
    QUERN_LAUNCH(place,
                 (cuda::launch_shape{dim3(plan.query_tiles * plan.workers), dim3(block_warps * warp),
                                     plan.shared_bytes()}),
                 kernel, work, plan);
}

/// As find_candidates, for devices without Hopper's copy engine or with less shared memory.
void find_candidates_portably(cuda_place& place, const filter_work& work);

}  // namespace quern::nearest_detail
