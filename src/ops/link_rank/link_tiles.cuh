// SPDX-License-Identifier: Apache-2.0
// The links of a graph in their original order, for a GPU. Those that fit its memory are kept there; the others arrive in
// tiles through one buffer, again in each step. For graphs too large for sliced_ell.cuh, and for links with weights.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <vector>

#include "device/input_array.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

// Links on a GPU in the host's order: a range of them, and the target of each.

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

class link_tiles {
  public:
    /// `graph` and `weights` (63-bit fractions, one per link, or none) are in host memory, have been checked and outlive
    /// this object. Takes at most 7/8 of 1/`shares` of the memory that the place has left, or reads all links in
    /// place. Throws out_of_memory.
    link_tiles(cuda_place& place, const link_graph_view& graph, std::span<const std::uint64_t> weights,
               unsigned shares = 1);

    /// Whether add copies tiles from the host, and therefore takes long.
    bool streams() const { return kept_ < graph_.sources.size(); }

    /// low[v] += Σ table[u] over links u→v, modulo 2^64. Does nothing where *halted is not 0.
    void add(cuda_place& place, const std::int32_t* table, std::uint64_t* low,
             const std::uint32_t* halted) const;
    void add(cuda_place& place, const std::int64_t* table, std::uint64_t* low,
             const std::uint32_t* halted) const;
    /// high[v]·2^64 + low[v] += Σ table[u]·weight, modulo 2^128, as signed numbers.
    void add_weighted(cuda_place& place, const std::int64_t* table, std::uint64_t* low, std::uint64_t* high,
                      const std::uint32_t* halted) const;

  private:
    /// Whether the place reads all links in the host's memory.
    bool take_in_place(cuda_place& place);
    template <class Enqueue>
    void for_each_tile(cuda_place& place, Enqueue enqueue) const;

    link_graph_view graph_;
    std::span<const std::uint64_t> host_weights_;
    // Of the links [0, kept_), and one tile of the others.
    input_array<cuda_place, std::uint64_t> offsets_, weights_;
    input_array<cuda_place, std::uint32_t> sources_;
    cuda_array<std::uint32_t> source_tile_;
    cuda_array<std::uint64_t> weight_tile_;
    std::uint64_t kept_ = 0;
};

}  // namespace quern::link_rank_detail
