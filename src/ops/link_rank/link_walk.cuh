// SPDX-License-Identifier: Apache-2.0
// Links on a GPU in the host's order: a range of them, and the target of each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace quern::link_rank_detail {

/// Links [first, first + count) of a graph. All in device memory.
struct link_chunk {
    const std::uint64_t* offsets;  ///< of the whole graph
    std::uint32_t nodes;           ///< not 0
    const std::uint32_t* sources;  ///< of the range
    std::uint64_t first, count;    ///< count is not 0
};

/// The target of link e: the last node in [low, high] whose links begin at or before e.
__device__ inline std::uint32_t target_of(const std::uint64_t* offsets, std::uint32_t low, std::uint32_t high,
                                          std::uint64_t e) {
    while (low < high) {
        const std::uint32_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= e)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/// The targets of the first and the last link of positions [begin, end) of a range. Called by every thread of the block;
/// `ends` are two words of shared memory.
__device__ inline void find_targets(const link_chunk& links, std::uint64_t begin, std::uint64_t end,
                                    std::uint32_t* ends) {
    if (threadIdx.x < 2)
        ends[threadIdx.x] =
            target_of(links.offsets, 0, links.nodes - 1, links.first + (threadIdx.x == 0 ? begin : end - 1));
    __syncthreads();
}

}  // namespace quern::link_rank_detail
