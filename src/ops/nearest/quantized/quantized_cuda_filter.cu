// SPDX-License-Identifier: Apache-2.0
// The filter on the GPU: products of codes by tensor cores (mma.sync m16n8k32 of 8-bit integers, exact); every pair whose
// bound reaches its query's limit is appended to the query's list. Products never leave registers. Here: its kernel for
// Hopper, and the choice.
//
// A block keeps a tile of queries in shared memory and processes tiles of rows, which the copy engine loads ahead into a
// ring of stages. Barriers in shared memory signal that a stage has arrived and that all warps have finished with it. So
// warps run independently: while some multiply, others compare.
#include <algorithm>
#include <cstdint>

#include "device/cuda/hopper.cuh"
#include "ops/nearest/quantized/quantized_filter.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned max_stages = 4;

/// Block b owns the query tile b % query_tiles, and of the round's row tiles those of its worker, b / query_tiles:
/// neighbours read the same rows at about the same time. Thread 0 loads slabs. Dynamic shared memory, as planned: the
/// queries' codes if they are resident; then the stages: a slab of rows, one of queries if they are not resident, terms.
template <class Shape, bool Floats>
__global__ void __launch_bounds__(block_warps* warp, Shape::blocks)
    find_candidates_kernel(const filter_work work, const filter_plan plan) {
    if (!cuda::hopper_code) return;
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ std::uint64_t full[max_stages], empty[max_stages], queries_here;
    __shared__ filter_terms terms[Shape::queries];
    __shared__ found_pairs pairs[block_warps];
    const filter_share<Shape> share(work, plan);
    unsigned char* const stages = memory + plan.query_bytes;
    const auto bring_chunk = [&](std::uint32_t c, unsigned stage) {
        cuda::arrive_expecting(full + stage, share.chunk_bytes(c));
        share.copy_chunk(c, stages + stage * plan.stage_bytes,
                         [&](unsigned char* to, const unsigned char* from, unsigned bytes) {
                             cuda::bring(to, from, bytes, full + stage);
                         });
    };

    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < plan.stages; ++s) {
            cuda::make_barrier(full + s, 1);
            cuda::make_barrier(empty + s, block_warps * warp);
        }
        cuda::make_barrier(&queries_here, 1);
        cuda::show_barriers();
    }
    share.load_terms(terms);
    __syncthreads();
    if (share.chunks == 0) return;
    if (threadIdx.x == 0) {
        if (plan.resident) {
            cuda::arrive_expecting(&queries_here, plan.query_bytes);
            cuda::bring(memory, share.query_codes, plan.query_bytes, &queries_here);
        }
        for (unsigned c = 0; c < share.chunks && c < plan.stages; ++c) bring_chunk(c, c);
    }
    if (plan.resident) cuda::wait_for(&queries_here, 0);

    filter_warp<Shape, Floats> mine(share, terms, pairs[threadIdx.x / warp]);
    unsigned stage = 0, parity = 0;  // of chunk c: c % stages, c / stages % 2
    for (std::uint32_t c = 0; c < share.chunks; ++c) {
        const unsigned char* const here = stages + stage * plan.stage_bytes;
        cuda::wait_for(full + stage, parity);
        mine.multiply(here, memory);
        // The stage of the previous chunk is refilled as soon as all warps have finished with it.
        if (threadIdx.x == 0 && c != 0 && c - 1 + plan.stages < share.chunks) {
            const unsigned before = stage == 0 ? plan.stages - 1 : stage - 1;
            cuda::wait_for(empty + before, stage == 0 ? parity ^ 1 : parity);
            bring_chunk(c - 1 + plan.stages, before);
        }
        mine.finish(c, here);
        __syncwarp();
        cuda::arrive(empty + stage);  // by every thread: racecheck does not see through a warp's barrier
        if (++stage == plan.stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    mine.append_rest();
}

template <class Shape>
void find_with(cuda_place& place, const filter_work& work) {
    constexpr unsigned max_shared = 212u << 10, max_resident = 128u << 10;
    constexpr std::uint32_t step_query_bytes = filter_share<Shape>::step_query_bytes;
    filter_plan plan{};
    plan.resident = work.steps <= max_resident / step_query_bytes;
    plan.query_bytes = plan.resident ? work.steps * step_query_bytes : 0;
    const unsigned rows_bytes = std::min(work.steps, slab_steps) * quantized_tile_rows * step_components;
    plan.stage_bytes = (plan.resident ? rows_bytes : slab_bytes + Shape::query_slab_bytes) + term_bytes;
    plan.stages = std::min(max_stages, (max_shared - plan.query_bytes) / plan.stage_bytes);
    launch_filter(place, work, plan, Shape::queries,
                  work.steps <= max_float_steps ? find_candidates_kernel<Shape, true>
                                                : find_candidates_kernel<Shape, false>);
}

}  // namespace

unsigned filter_queries(std::uint32_t query_count) {
    if (query_count <= few_queries::queries) return few_queries::queries;
    if (query_count <= some_queries::queries) return some_queries::queries;
    return query_count <= hundred_queries::queries ? hundred_queries::queries : many_queries::queries;
}

void find_candidates(cuda_place& place, const filter_work& work) {
    if (work.query_count == 0 || work.round.tiles == 0) return;
    if (!place.abilities().hopper()) return find_candidates_portably(place, work);
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
