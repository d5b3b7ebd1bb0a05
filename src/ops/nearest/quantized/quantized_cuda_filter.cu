// SPDX-License-Identifier: Apache-2.0
// The filter on the GPU: products of codes by tensor cores (mma.sync m16n8k32 of 8-bit integers, exact); every pair whose
// bound reaches its query's limit is appended to the query's list. Products never leave registers.
//
// A block keeps a tile of queries in shared memory and processes tiles of rows, which the copy engine loads ahead into a
// ring of stages. Barriers in shared memory signal that a stage has arrived and that all warps have finished with it. So
// warps run independently: while some multiply, others compare.
#include <algorithm>
#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/nearest/quantized/quantized_cuda.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned warp = 32;
constexpr unsigned everyone = 0xffffffffu;
constexpr unsigned block_warps = 8;
constexpr unsigned slab_steps = 4;  // per stage
constexpr unsigned tile_blocks = quantized_tile_rows / block_rows;
constexpr unsigned slab_bytes = quantized_tile_rows * step_components * slab_steps;
constexpr unsigned term_bytes = quantized_tile_rows * sizeof(row_terms);
constexpr unsigned max_stages = 4;

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

// ---- Barriers and the copy engine ----

__device__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}
__device__ void make_barrier(std::uint64_t* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}
__device__ void arrive(std::uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void arrive_expecting(std::uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}
/// Waits for the end of the barrier's phase of that parity.
__device__ void wait_for(std::uint64_t* barrier, unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
        asm volatile(
            "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            " selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    }
}
/// Both ends aligned to sixteen bytes.
__device__ void bring(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

// ---- Products ----

/// sums = queries · rows + before.
__device__ void multiply(int (&sums)[4], const uint4& queries, unsigned low, unsigned high,
                         const int (&before)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(queries.x), "r"(queries.y), "r"(queries.z), "r"(queries.w), "r"(low), "r"(high), "r"(before[0]),
          "r"(before[1]), "r"(before[2]), "r"(before[3]));
}

/// With so few steps products are below 2^22, and sums start from float_origin: reinterpreted as floats, they are 3·2^22
/// plus the product, without a conversion.
constexpr std::uint32_t max_float_steps = 8;
constexpr float float_origin = 0x1.8p23f;
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
                    multiply(sum, a[m], low, high, origins);
                else
                    multiply(sum, a[m], low, high, sum);
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
__device__ void append(const filter_work& work, const found_pairs& pairs, unsigned count, unsigned lane) {
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
__device__ void take(const filter_work& work, found_pairs& pairs, unsigned& count, unsigned wanted,
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

// ---- The kernel ----

/// Block b owns the query tile b % query_tiles, and of the round's row tiles those of its worker, b / query_tiles:
/// neighbours read the same rows at about the same time. Thread 0 loads slabs. Dynamic shared memory, as planned: the
/// queries' codes if they are resident; then the stages: a slab of rows, one of queries if they are not resident, terms.
template <class Shape, bool Floats>
__global__ void __launch_bounds__(block_warps* warp, Shape::blocks)
    find_candidates_kernel(const filter_work work, const filter_plan plan) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ std::uint64_t full[max_stages], empty[max_stages], queries_here;
    __shared__ filter_terms terms[Shape::queries];
    __shared__ found_pairs pairs[block_warps];
    const unsigned lane = threadIdx.x % warp, w = threadIdx.x / warp;
    constexpr unsigned warps_across = quantized_tile_rows / Shape::warp_rows;
    const unsigned warp_query = w / warps_across * Shape::warp_queries;
    const unsigned warp_row = w % warps_across * Shape::warp_rows;
    const std::uint32_t query_tile = blockIdx.x % plan.query_tiles, worker = blockIdx.x / plan.query_tiles;
    const std::uint32_t tiles =
        worker < work.round.tiles ? (work.round.tiles - worker - 1) / plan.workers + 1 : 0;
    const std::uint32_t slabs = (work.steps + slab_steps - 1) / slab_steps;
    const std::uint32_t chunks = tiles * slabs;  // of at least 2^12 bytes, all in device memory

    unsigned char* const stages = memory + plan.query_bytes;
    constexpr unsigned step_query_bytes = Shape::queries * step_components;
    const auto* query_codes = reinterpret_cast<const unsigned char*>(work.query_codes) +
                              std::uint64_t{query_tile} * work.steps * step_query_bytes;
    const auto* row_codes = reinterpret_cast<const unsigned char*>(work.row_codes);

    const auto row_tile_of = [&](std::uint32_t c) {
        return work.round.tile(worker + c / slabs * plan.workers);
    };
    const auto bring_slab = [&](std::uint32_t c, unsigned stage) {
        const std::uint32_t slab = c % slabs, tile = row_tile_of(c);
        const unsigned steps = min(slab_steps, work.steps - slab * slab_steps);
        unsigned char* const to = stages + stage * plan.stage_bytes;
        std::uint64_t* const here = full + stage;
        constexpr unsigned step_row_bytes = quantized_tile_rows * step_components;
        const bool last = slab == slabs - 1;
        arrive_expecting(here, steps * (step_row_bytes + (plan.resident ? 0 : step_query_bytes)) +
                                   (last ? term_bytes : 0));
        bring(to, row_codes + (std::uint64_t{tile} * work.steps + slab * slab_steps) * step_row_bytes,
              steps * step_row_bytes, here);
        if (!plan.resident)
            bring(to + slab_bytes, query_codes + std::uint64_t{slab} * slab_steps * step_query_bytes,
                  steps * step_query_bytes, here);
        if (last)
            bring(to + plan.stage_bytes - term_bytes, work.rows + std::uint64_t{tile} * quantized_tile_rows,
                  term_bytes, here);
    };

    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < plan.stages; ++s) {
            make_barrier(full + s, 1);
            make_barrier(empty + s, block_warps * warp);
        }
        make_barrier(&queries_here, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (unsigned i = threadIdx.x; i < Shape::queries; i += block_warps * warp) {
        const std::uint32_t q = query_tile * Shape::queries + i;
        terms[i] = q < work.query_count ? work.queries[q]
                                        : filter_terms{0, 0, 0, std::numeric_limits<float>::infinity()};
    }
    __syncthreads();
    if (chunks == 0) return;
    if (threadIdx.x == 0) {
        if (plan.resident) {
            arrive_expecting(&queries_here, work.steps * step_query_bytes);
            bring(memory, query_codes, work.steps * step_query_bytes, &queries_here);
        }
        for (unsigned c = 0; c < chunks && c < plan.stages; ++c) bring_slab(c, c);
    }
    if (plan.resident) wait_for(&queries_here, 0);

    products<Shape> sums;
    unsigned found = 0;  // pairs of the warp not yet appended
    std::uint32_t slab = 0;
    unsigned stage = 0, parity = 0;  // of slab c: c % stages, c / stages % 2
    for (std::uint32_t c = 0; c < chunks; ++c) {
        const unsigned char* const here = stages + stage * plan.stage_bytes;
        wait_for(full + stage, parity);
        const auto* rows = reinterpret_cast<const uint4*>(here) + warp_row / block_rows * block_vectors;
        const auto* queries =
            reinterpret_cast<const uint4*>(plan.resident ? memory + slab * Shape::query_slab_bytes
                                                         : here + slab_bytes) +
            warp_query / block_rows * block_vectors;
        add_slab<Shape>(sums, queries, rows, lane, min(slab_steps, work.steps - slab * slab_steps), slab == 0,
                        Floats ? __float_as_int(float_origin) : 0);
        // The stage of the previous slab is refilled as soon as all warps have finished with it.
        if (threadIdx.x == 0 && c != 0 && c - 1 + plan.stages < chunks) {
            const unsigned before = stage == 0 ? plan.stages - 1 : stage - 1;
            wait_for(empty + before, stage == 0 ? parity ^ 1 : parity);
            bring_slab(c - 1 + plan.stages, before);
        }
        __syncwarp();
        if (++slab == slabs) {
            slab = 0;
            unsigned wanted[Shape::query_blocks];
            compare<Shape, Floats>(
                sums, terms + warp_query,
                reinterpret_cast<const row_terms*>(here + plan.stage_bytes - term_bytes) + warp_row, lane,
                wanted);
            const std::uint32_t query = query_tile * Shape::queries + warp_query + lane / 4;
            const std::uint32_t row = row_tile_of(c) * quantized_tile_rows + warp_row + lane % 4 * 2;
#pragma unroll
            for (unsigned m = 0; m < Shape::query_blocks; ++m)
                take(work, pairs[w], found, wanted[m], query + m * block_rows, row, lane);
        }
        __syncwarp();
        arrive(empty + stage);  // by every thread: racecheck does not see through a warp's barrier
        if (++stage == plan.stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    append(work, pairs[w], found, lane);
}

template <class Shape>
void find_with(cuda_place& place, const filter_work& work) {
    constexpr unsigned max_shared = 212u << 10, max_resident = 128u << 10;
    constexpr std::uint32_t step_query_bytes = Shape::queries * step_components;
    filter_plan plan{};
    plan.resident = work.steps <= max_resident / step_query_bytes;
    plan.query_bytes = plan.resident ? work.steps * step_query_bytes : 0;
    const unsigned rows_bytes = std::min(work.steps, slab_steps) * quantized_tile_rows * step_components;
    plan.stage_bytes = (plan.resident ? rows_bytes : slab_bytes + Shape::query_slab_bytes) + term_bytes;
    plan.stages = std::min(max_stages, (max_shared - plan.query_bytes) / plan.stage_bytes);
    plan.query_tiles = static_cast<unsigned>(tiles_of(work.query_count, Shape::queries));
    auto* const kernel = work.steps <= max_float_steps ? find_candidates_kernel<Shape, true>
                                                       : find_candidates_kernel<Shape, false>;
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

}  // namespace

unsigned filter_queries(std::uint32_t query_count) {
    if (query_count <= few_queries::queries) return few_queries::queries;
    if (query_count <= some_queries::queries) return some_queries::queries;
    return query_count <= hundred_queries::queries ? hundred_queries::queries : many_queries::queries;
}

void find_candidates(cuda_place& place, const filter_work& work) {
    if (work.query_count == 0 || work.round.tiles == 0) return;
    switch (filter_queries(work.query_count)) {
        case few_queries::queries:
            return find_with<few_queries>(place, work);
        case some_queries::queries:
            return find_with<some_queries>(place, work);
        case hundred_queries::queries:
            return find_with<hundred_queries>(place, work);
        default:
            return find_with<many_queries>(place, work);
    }
}

}  // namespace quern::nearest_detail
