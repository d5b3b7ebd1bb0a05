// SPDX-License-Identifier: Apache-2.0
// The merge path over segments' ends and items (Merrill and Garland 2016): a thread finds where each diagonal crosses it,
// and the load-balancing search gives every block 4,096 steps of it: items, ends of empty segments, or both. In a block,
// the ends are marked at the items that follow them; a running maximum over the marks numbers the items.
#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/segments.cuh"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;
constexpr unsigned rows = 16;  // items per lane
constexpr unsigned tile_steps = block_threads * rows;

/// The point where diagonal `diagonal` ≤ segments + items crosses the path. Reads only offsets[1 … count], with any values.
__device__ merge_path_point path_at(const segments_view& segments, std::uint64_t items,
                                    std::uint64_t diagonal) {
    std::uint64_t low = diagonal > items ? diagonal - items : 0, high = min(diagonal, segments.count);
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (segments.offsets[middle + 1] <= diagonal - middle - 1) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return {low, diagonal - low};
}

/// ⌊p · whole / pieces⌋ without overflow.
__device__ std::uint64_t part_of(std::uint64_t p, std::uint64_t whole, std::uint64_t pieces) {
    using wide = unsigned __int128;
    return static_cast<std::uint64_t>(wide{p} * whole / pieces);
}

/// Thread p finds point p: of `pieces` equal pieces, or of pieces of `steps` if that is not 0. No shared memory; a grid
/// that covers the points.
__global__ void find_path_points_kernel(segments_view segments, std::uint64_t pieces, std::uint64_t steps,
                                        merge_path_point* points) {
    const std::uint64_t p = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (p > pieces || segments.broken()) return;
    const std::uint64_t items = segments.count == 0 ? 0 : segments.offsets[segments.count];
    const std::uint64_t whole = segments.count + items;
    points[p] = path_at(segments, items, steps != 0 ? min(p * steps, whole) : part_of(p, whole, pieces));
}

void find_path_points(cuda_place& place, const segments_view& segments, std::uint64_t pieces,
                      std::uint64_t steps, merge_path_point* points) {
    constexpr unsigned threads = 128;
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(pieces + 1, threads), threads}),
                 find_path_points_kernel, segments, pieces, steps, points);
}

/// Block b writes the items between points b and b + 1. Warp w numbers the tile's items [512 w, 512 (w + 1)), a row of 32
/// at a time. Shared memory: one mark per item (8 KB): how many of the tile's segments have ended before it.
template <class Segment>
__global__ __launch_bounds__(block_threads) void number_items_kernel(segments_view segments,
                                                                     const merge_path_point* points,
                                                                     Segment* out) {
    __shared__ std::uint16_t ended[tile_steps];
    __shared__ unsigned last_of_warp[warps];
    if (segments.broken()) return;
    const merge_path_point begin = points[blockIdx.x], end = points[blockIdx.x + 1];
    const unsigned items = static_cast<unsigned>(end.item - begin.item);
    const unsigned ends = static_cast<unsigned>(end.segment - begin.segment);
    for (unsigned i = threadIdx.x; i < tile_steps; i += block_threads) ended[i] = 0;
    __syncthreads();
    const std::uint64_t* const end_of = segments.offsets + begin.segment + 1;
    for (unsigned e = threadIdx.x; e < ends; e += block_threads) {
        const std::uint64_t at = end_of[e];
        const bool is_last = e + 1 == ends || end_of[e + 1] != at;
        if (is_last && at - begin.item < items) ended[at - begin.item] = static_cast<std::uint16_t>(e + 1);
    }
    __syncthreads();
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = warp * rows * 32 + lane;
    unsigned numbers[rows], last = 0;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned mark = ended[first + r * 32];
        const unsigned marked = __ballot_sync(~0u, mark != 0), to_here = marked & (~0u >> (31 - lane));
        const unsigned nearest =
            __shfl_sync(~0u, mark, 31 - __clz(static_cast<int>(to_here)));  // none: any lane's
        numbers[r] = to_here != 0 ? nearest : last;
        if (marked != 0) last = __shfl_sync(~0u, mark, 31 - __clz(static_cast<int>(marked)));
    }
    if (lane == 0) last_of_warp[warp] = last;
    __syncthreads();
    unsigned before = 0;
    for (unsigned w = 0; w < warp; ++w) before = max(before, last_of_warp[w]);
#pragma unroll
    for (unsigned r = 0; r < rows; ++r)
        if (first + r * 32 < items)
            out[begin.item + first + r * 32] = static_cast<Segment>(begin.segment + max(before, numbers[r]));
}

}  // namespace

template <payload Segment>
void load_balancing_search(cuda_place& place, device_span<const std::uint64_t> offsets,
                           device_span<Segment> segments) {
    const std::uint64_t count = segments_in(offsets.size());
    if constexpr (sizeof(Segment) == 4) check_32_bits("load_balancing_search", count, "segments", "numbers");
    const checked_segments checked(place, offsets, segments.size());
    if (segments.empty()) return;
    const unsigned tiles = cuda::blocks_for(count + segments.size(), tile_steps);
    const cuda_array<merge_path_point> points(place, tiles + 1, "points of the merge path");
    find_path_points(place, checked.view(), tiles, tile_steps, points.data());
    QUERN_LAUNCH(place, (cuda::launch_shape{tiles, block_threads}), number_items_kernel<Segment>,
                 checked.view(), points.data(), segments.data());
}

void merge_path_partition(cuda_place& place, device_span<const std::uint64_t> offsets,
                          device_span<merge_path_point> points) {
    check_capacity("merge_path_partition", "points", points.size(), 2);
    const checked_segments checked(place, offsets, checked_segments::unknown_items);
    find_path_points(place, checked.view(), points.size() - 1, 0, points.data());
}

template void load_balancing_search(cuda_place&, device_span<const std::uint64_t>,
                                    device_span<std::uint32_t>);
template void load_balancing_search(cuda_place&, device_span<const std::uint64_t>,
                                    device_span<std::uint64_t>);

}  // namespace quern::primitives
