// SPDX-License-Identifier: Apache-2.0
// Run-length encoding in one pass (primitives/look_back.cuh). Tiles pass on the number of runs that have begun, and the
// start of the last one. The thread that finds the next run's head writes a run's length, so that no run is iterated over.
#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/look_back.cuh"
#include "primitives/select/select.hpp"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;
constexpr unsigned rows = 16;  // values per thread
constexpr unsigned words = rows * warps;
constexpr unsigned words_per_lane = words / 32;
constexpr unsigned tile_values = block_threads * rows;
constexpr unsigned look_back_rows = 2;

/// value: runs begun; second: 1 + the position where the last of them began, 0 if there is none.
struct runs_before {
    static constexpr bool uses_second = true;
    __device__ cuda::tile_prefix operator()(cuda::tile_prefix a, cuda::tile_prefix b) const {
        return {a.value + b.value, max(a.second, b.second)};
    }
};

template <class T>
struct runs_to_write {
    T* unique;
    std::uint64_t unique_capacity;
    std::uint64_t* counts;
    std::uint64_t counts_capacity;

    __device__ void head(std::uint64_t run, T value) const {
        if (run < unique_capacity) unique[run] = value;
    }
    __device__ void length(std::uint64_t run, std::uint64_t count) const {
        if (run < counts_capacity) counts[run] = count;
    }
};

/// Heads of runs in a tile: 32 neighbouring values per word, and the state before each word in the tile.
struct tile_heads {
    unsigned bits[words];
    unsigned runs_before[words];
    unsigned last_before[words];  ///< 1 + the place in the tile; 0: none
};

/// Called by one whole warp: computes the state before each word. Returns the tile's runs and its last head's position + 1,
/// to every lane.
__device__ uint2 scan_words(tile_heads& heads) {
    const unsigned lane = threadIdx.x % 32, first = lane * words_per_lane;
    unsigned runs = 0, last = 0;
#pragma unroll
    for (unsigned k = 0; k < words_per_lane; ++k) {
        const unsigned bits = heads.bits[first + k];
        runs += static_cast<unsigned>(__popc(bits));
        if (bits != 0) last = (first + k) * 32 + 32 - static_cast<unsigned>(__clz(static_cast<int>(bits)));
    }
    unsigned all_runs = runs, all_last = last;
#pragma unroll
    for (unsigned d = 1; d < 32; d *= 2) {
        const unsigned r = __shfl_up_sync(~0u, all_runs, d), l = __shfl_up_sync(~0u, all_last, d);
        if (lane >= d) {
            all_runs += r;
            all_last = max(all_last, l);
        }
    }
    unsigned before = all_runs - runs, last_before = __shfl_up_sync(~0u, all_last, 1);
    if (lane == 0) last_before = 0;
#pragma unroll
    for (unsigned k = 0; k < words_per_lane; ++k) {
        const unsigned bits = heads.bits[first + k];
        heads.runs_before[first + k] = before;
        heads.last_before[first + k] = last_before;
        before += static_cast<unsigned>(__popc(bits));
        if (bits != 0)
            last_before = (first + k) * 32 + 32 - static_cast<unsigned>(__clz(static_cast<int>(bits)));
    }
    return {__shfl_sync(~0u, all_runs, 31), __shfl_sync(~0u, all_last, 31)};
}

/// Block b encodes tile b; thread t its values t, t + 256, …, so that a row of a warp is one line of memory and one word of
/// heads. Warp 0 looks back. Shared memory: 1.5 KB. The last block writes the number of runs and the last length.
template <class T>
__global__ __launch_bounds__(block_threads) void encode_runs_kernel(const T* values, std::uint64_t count,
                                                                    runs_to_write<T> out,
                                                                    cuda::tile_word* tiles,
                                                                    std::uint64_t* runs) {
    __shared__ tile_heads heads;
    __shared__ cuda::tile_prefix before;
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_values;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    T mine[rows];
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const std::uint64_t i = begin + r * block_threads + threadIdx.x;
        bool head = false;
        if (i < count) {
            mine[r] = values[i];
            head = i == 0 || values[i - 1] != mine[r];
        }
        const unsigned bits = __ballot_sync(~0u, head);
        if (lane == 0) heads.bits[r * warps + warp] = bits;
    }
    __syncthreads();
    if (warp == 0) {
        const uint2 in_tile = scan_words(heads);
        const cuda::tile_prefix own{in_tile.x, in_tile.y == 0 ? 0 : begin + in_tile.y};
        cuda::tile_prefix found{0, 0};
        if (blockIdx.x != 0) {
            if (lane == 0) cuda::publish(tiles + blockIdx.x, own, cuda::tile_state::own);
            found = cuda::look_back<look_back_rows>(tiles, blockIdx.x, runs_before{}, {0, 0});
        }
        const cuda::tile_prefix all = runs_before{}(found, own);
        if (lane == 0) {
            cuda::publish(tiles + blockIdx.x, all, cuda::tile_state::whole);
            before = found;
            if (blockIdx.x == gridDim.x - 1) {
                out.length(all.value - 1, count - (all.second - 1));
                *runs = all.value;
            }
        }
    }
    __syncthreads();
    const cuda::tile_prefix found = before;
#pragma unroll
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned word = r * warps + warp, bits = heads.bits[word];
        if ((bits >> lane & 1) == 0) continue;
        const unsigned lower = bits & ((1u << lane) - 1);
        const std::uint64_t run =
            found.value + heads.runs_before[word] + static_cast<unsigned>(__popc(lower));
        out.head(run, mine[r]);
        if (run == 0) continue;
        const std::uint64_t place = begin + word * 32;
        std::uint64_t last = found.second;  // 1 + the position of the previous head
        if (lower != 0) {
            last = place + 32 - static_cast<unsigned>(__clz(static_cast<int>(lower)));
        } else if (heads.last_before[word] != 0) {
            last = begin + heads.last_before[word];
        }
        out.length(run - 1, place + lane + 1 - last);
    }
}

}  // namespace

template <payload T>
std::size_t run_length_encode(cuda_place& place, device_span<const T> values, device_span<T> unique,
                              device_span<std::uint64_t> counts) {
    if (values.empty()) {
        place.synchronise();
        return 0;
    }
    const unsigned blocks = cuda::blocks_for(values.size(), tile_values);
    cuda_array<cuda::tile_word> tiles(place, blocks, "a run-length encoding's tiles");
    cuda_array<std::uint64_t> runs(place, 1, "a run-length encoding's count");
    place.fill_bytes(tiles.data(), 0, tiles.span().size_bytes());
    const runs_to_write<T> out{unique.data(), unique.size(), counts.data(), counts.size()};
    QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads}), encode_runs_kernel<T>, values.data(),
                 values.size(), out, tiles.data(), runs.data());
    std::uint64_t count = 0;
    copy_out<std::uint64_t>(place, runs.span(), std::span(&count, 1));
    check_capacity("run_length_encode", "unique", unique.size(), count);
    check_capacity("run_length_encode", "counts", counts.size(), count);
    return count;
}

template std::size_t run_length_encode(cuda_place&, device_span<const std::uint32_t>,
                                       device_span<std::uint32_t>, device_span<std::uint64_t>);
template std::size_t run_length_encode(cuda_place&, device_span<const std::uint64_t>,
                                       device_span<std::uint64_t>, device_span<std::uint64_t>);

}  // namespace quern::primitives
