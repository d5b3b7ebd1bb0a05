// SPDX-License-Identifier: Apache-2.0
#include "primitives/merge/merge_tiles.cuh"

#include <type_traits>

#include "device/cuda/check.cuh"

namespace quern::primitives::cuda {
namespace {

using quern::cuda::launch_shape;

constexpr unsigned merge_threads = 256;

/// A block merges a tile; each thread merges a part of equal length, found by its diagonal. The merge moves positions, 16
/// bits each; keys and values are then fetched by position for coalesced stores: the values from global memory, where a
/// warp's are in at most two ranges. Shared memory: the tile's keys, and a position for each; positions are spread (one gap
/// every 32 words) because a thread writes its own consecutively. 24 KiB for 32-bit keys: eight blocks per multiprocessor,
/// which hides the latency of the serial merge.
template <class Raw, class Value>
__global__ void __launch_bounds__(merge_threads)
    merge_tiles_kernel(const merge_tile* tiles, merge_buffers<Raw, Value> buffers) {
    constexpr unsigned tile_size = merge_tile_size<Raw>;
    constexpr unsigned per_thread = tile_size / merge_threads;
    const auto spread = [](unsigned i) { return i + i / 64 * 2; };
    const auto spread_key = [](unsigned i) { return i + i * sizeof(Raw) / 128; };
    __shared__ Raw keys[tile_size + tile_size * sizeof(Raw) / 128];
    __shared__ std::uint16_t taken[tile_size + tile_size / 64 * 2];
    const merge_tile tile = tiles[blockIdx.x];
    const auto from = tile.source == 0 ? buffers.of[0] : buffers.of[1];
    const auto to = tile.source == 0 ? buffers.of[1] : buffers.of[0];
    const unsigned a_count = tile.a_count;
    const unsigned count = a_count + tile.b_count;

#pragma unroll
    for (unsigned u = 0; u < per_thread; ++u) {
        const unsigned i = threadIdx.x + u * merge_threads;
        if (i < count) {
            const std::uint64_t at = i < a_count ? tile.a + i : tile.b + (i - a_count);
            keys[spread_key(i)] = masked(from.keys[at], buffers.mask);
        }
    }
    __syncthreads();

    const unsigned diagonal = min(threadIdx.x * per_thread, count);
    unsigned low = diagonal > tile.b_count ? diagonal - tile.b_count : 0;
    unsigned high = min(diagonal, a_count);
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (keys[spread_key(a_count + diagonal - 1 - middle)] < keys[spread_key(middle)])
            high = middle;
        else
            low = middle + 1;
    }
    unsigned a = low, b = a_count + diagonal - low;
    Raw a_key = keys[spread_key(min(a, tile_size - 1))], b_key = keys[spread_key(min(b, tile_size - 1))];
#pragma unroll
    for (unsigned u = 0; u < per_thread; ++u) {
        const unsigned out = threadIdx.x * per_thread + u;
        const bool take_b = a >= a_count || (b < count && b_key < a_key);
        if (out < count) taken[spread(out)] = static_cast<std::uint16_t>(take_b ? b : a);
        if (take_b)
            b_key = keys[spread_key(min(++b, tile_size - 1))];
        else
            a_key = keys[spread_key(min(++a, tile_size - 1))];
    }
    __syncthreads();

#pragma unroll
    for (unsigned u = 0; u < per_thread; ++u) {
        const unsigned i = threadIdx.x + u * merge_threads;
        if (i >= count) break;
        const unsigned source = taken[spread(i)];
        to.out_keys[tile.out + i] = masked(keys[spread_key(source)], buffers.mask);
        if constexpr (!std::is_same_v<Value, no_value>)
            to.out_values[tile.out + i] =
                from.values[source < a_count ? tile.a + source : tile.b + (source - a_count)];
    }
}

}  // namespace

template <class Raw, class Value>
void merge_tiles(cuda_place& place, const merge_tile* tiles, std::uint64_t count,
                 merge_buffers<Raw, Value> buffers) {
    QUERN_LAUNCH(place, (launch_shape{static_cast<unsigned>(count), merge_threads}),
                 (merge_tiles_kernel<Raw, Value>), tiles, buffers);
}

#define QUERN_MERGE_TILES(RAW)                                                                              \
    template void merge_tiles(cuda_place&, const merge_tile*, std::uint64_t, merge_buffers<RAW, no_value>); \
    template void merge_tiles(cuda_place&, const merge_tile*, std::uint64_t,                                \
                              merge_buffers<RAW, std::uint32_t>);                                           \
    template void merge_tiles(cuda_place&, const merge_tile*, std::uint64_t,                                \
                              merge_buffers<RAW, std::uint64_t>);
QUERN_MERGE_TILES(std::uint32_t)
QUERN_MERGE_TILES(std::uint64_t)
QUERN_MERGE_TILES(float)
QUERN_MERGE_TILES(double)

}  // namespace quern::primitives::cuda
