// SPDX-License-Identifier: Apache-2.0
// The filter on GPUs of every architecture: as quantized_cuda_filter.cu, but all threads of a block copy a chunk to shared
// memory, in the background from 8.0 on, and all wait for each other. One or two stages, as many as fit.
#include <algorithm>
#include <cstdint>

#include "ops/nearest/quantized/quantized_filter.cuh"

namespace quern::nearest_detail {
namespace {

/// Blocks and dynamic shared memory as in find_candidates_kernel.
template <class Shape, bool Floats>
__global__ void __launch_bounds__(block_warps* warp, Shape::blocks)
    find_portably_kernel(const filter_work work, const filter_plan plan) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ filter_terms terms[Shape::queries];
    __shared__ found_pairs pairs[block_warps];
    const filter_share<Shape> share(work, plan);
    unsigned char* const stages = memory + plan.query_bytes;
    const auto copy = [](unsigned char* to, const unsigned char* from, unsigned bytes) {
        constexpr unsigned unit = sizeof(uint4);
        for (unsigned at = threadIdx.x * unit; at < bytes; at += block_warps * warp * unit)
            cuda::copy_16(to + at, from + at);
    };
    share.load_terms(terms);
    if (share.chunks == 0) return;
    if (plan.resident) copy(memory, share.query_codes, plan.query_bytes);
    share.copy_chunk(0, stages, copy);
    cuda::end_copy_group();

    filter_warp<Shape, Floats> mine(share, terms, pairs[threadIdx.x / warp]);
    for (std::uint32_t c = 0; c < share.chunks; ++c) {
        const unsigned stage = plan.stages == 2 ? c % 2 : 0;
        const bool more = c + 1 < share.chunks;
        if (more && plan.stages == 2) {
            share.copy_chunk(c + 1, stages + (stage ^ 1) * plan.stage_bytes, copy);
            cuda::end_copy_group();
            cuda::wait_for_copies<1>();
        } else {
            cuda::wait_for_copies<0>();
        }
        __syncthreads();
        const unsigned char* const here = stages + stage * plan.stage_bytes;
        mine.multiply(here, memory);
        mine.finish(c, here);
        __syncthreads();  // all have finished with the stage
        if (more && plan.stages == 1) {
            share.copy_chunk(c + 1, stages, copy);
            cuda::end_copy_group();
        }
    }
    mine.append_rest();
}

/// Queries are resident if two stages fit with them.
template <class Shape>
void find_with(cuda_place& place, const filter_work& work) {
    auto* const kernel = work.steps <= max_float_steps ? find_portably_kernel<Shape, true>
                                                       : find_portably_kernel<Shape, false>;
    const std::size_t room = cuda::shared_room(place, kernel);
    const std::uint64_t query_bytes = std::uint64_t{work.steps} * filter_share<Shape>::step_query_bytes;
    const unsigned rows_bytes = std::min(work.steps, slab_steps) * quantized_tile_rows * step_components;
    filter_plan plan{};
    plan.resident = query_bytes + 2 * (rows_bytes + term_bytes) <= room;
    plan.query_bytes = plan.resident ? static_cast<unsigned>(query_bytes) : 0;
    plan.stage_bytes = (plan.resident ? rows_bytes : slab_bytes + Shape::query_slab_bytes) + term_bytes;
    plan.stages = plan.query_bytes + 2 * plan.stage_bytes <= room ? 2 : 1;
    launch_filter(place, work, plan, Shape::queries, kernel);
}

}  // namespace

void find_candidates_portably(cuda_place& place, const filter_work& work) {
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
