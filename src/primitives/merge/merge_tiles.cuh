// SPDX-License-Identifier: Apache-2.0
// Shared by merging runs and sorting long segments on a GPU: one pass that merges pairs of runs, cut into tiles of equal
// output (Green, McColl and Bader, "GPU Merge Path", 2012). The caller's list of tiles determines what is merged.
#pragma once

#include <cstdint>

#include "device/cuda/cuda_place.hpp"
#include "primitives/raw_keys.cuh"

namespace quern::primitives::cuda {

/// Outputs per tile: a power of two, so that long segments can be cut at multiples of it.
template <class Raw>
inline constexpr unsigned merge_tile_size = sizeof(Raw) == 4 ? 4096 : 2048;

/// A range of output and its two input ranges; among equal keys those of `a` come first.
struct merge_tile {
    std::uint64_t a, b, out;  ///< positions in the arrays
    std::uint32_t a_count, b_count;
    std::uint32_t source;  ///< which of the two buffers is read; the other one is written
};

template <class Raw, class Value>
struct merge_buffers {
    struct one {
        const Raw* keys;
        const Value* values;
        Raw* out_keys;  ///< the destination for this buffer
        Value* out_values;
    } of[2];
    key_bits_t<Raw> mask;
};

/// Enqueues the merging of `count` tiles in device memory. Values are null for no_value.
template <class Raw, class Value>
void merge_tiles(cuda_place& place, const merge_tile* tiles, std::uint64_t count,
                 merge_buffers<Raw, Value> buffers);

/// How many of the first `diagonal` outputs of merging a and b come from a. On the path, a's equal keys go first.
template <class Raw>
__device__ __forceinline__ std::uint64_t merge_path(const Raw* a, std::uint64_t a_count, const Raw* b,
                                                    std::uint64_t b_count, std::uint64_t diagonal,
                                                    key_bits_t<Raw> mask) {
    std::uint64_t low = diagonal > b_count ? diagonal - b_count : 0;
    std::uint64_t high = diagonal < a_count ? diagonal : a_count;
    while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (masked(b[diagonal - 1 - middle], mask) < masked(a[middle], mask))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/// The tile whose output begins at `begin` of the merge of the runs [first, first + a_count) and, after it, b_count more,
/// and is at most `size` long. Called by two neighbouring threads, an even lane and the next, all 32 lanes of a warp at
/// once: each searches one end, the even one gets the tile.
template <class Raw>
__device__ inline merge_tile cut_tile(const Raw* keys, std::uint64_t first, std::uint64_t a_count,
                                      std::uint64_t b_count, std::uint64_t begin, unsigned size,
                                      std::uint32_t source, key_bits_t<Raw> mask) {
    const std::uint64_t total = a_count + b_count;
    const std::uint64_t end = begin + size < total ? begin + size : total;
    const Raw* a = keys + first;
    const std::uint64_t mine =
        merge_path(a, a_count, a + a_count, b_count, threadIdx.x % 2 == 0 ? begin : end, mask);
    const std::uint64_t a_begin = mine;
    std::uint64_t a_end = __shfl_down_sync(~0u, mine, 1);
    // For sorted runs the path only advances; for unsorted ones, still nothing outside the runs may be read.
    if (a_end < a_begin) a_end = a_begin;
    if (a_end > a_begin + (end - begin)) a_end = a_begin + (end - begin);
    return {first + a_begin,
            first + a_count + begin - a_begin,
            first + begin,
            static_cast<std::uint32_t>(a_end - a_begin),
            static_cast<std::uint32_t>((end - a_end) - (begin - a_begin)),
            source};
}

}  // namespace quern::primitives::cuda
