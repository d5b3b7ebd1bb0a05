// SPDX-License-Identifier: Apache-2.0
// One-pass prefix scans over tiles: decoupled look-back (Merrill and Garland 2016). Each block reduces its tile, publishes
// the result, and adds up the published results of the previous blocks, back to one whose whole prefix is known. The data
// is read once and written once.
//
// A tile's word has 128 bits and is read and written atomically, so that a state is always consistent with its value.
//
// A tile has the index of its block, and a block waits only for blocks of lower index. This terminates if blocks are
// started in the order of their indices and keep running once started: CUDA does not promise the first, but every GPU so
// far does it, and CUB's scans rely on the same. The result depends on no order. (A ticket, which the radix sort takes,
// would avoid the assumption, for one more atomic operation per block at one address.)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace quern::cuda {

enum class tile_state : std::uint64_t {
    nothing = 0,  ///< the state of memory filled with zeros
    own = 1,      ///< the tile alone
    whole = 2,    ///< the tile and all before it
};

/// The data passed from tile to tile: a value, and a second one below 2⁶² where needed.
struct tile_prefix {
    std::uint64_t value, second;
};

struct alignas(16) tile_word {
    std::uint64_t value;
    std::uint64_t second_and_state;  ///< second · 4 + state
};

__device__ inline void publish(tile_word* word, tile_prefix prefix, tile_state state) {
    const std::uint64_t high = prefix.second << 2 | static_cast<std::uint64_t>(state);
    asm volatile(
        "{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.gpu.global.b128 [%0], both; }" ::"l"(word),
        "l"(prefix.value), "l"(high)
        : "memory");
}

__device__ inline tile_word look_at(const tile_word* word) {
    tile_word seen;
    asm volatile("{ .reg .b128 both; ld.relaxed.gpu.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                 : "=l"(seen.value), "=l"(seen.second_and_state)
                 : "l"(word)
                 : "memory");
    return seen;
}

/// The prefix of all tiles before `tile` (> 0), for every lane of the calling warp, which must be whole. Combine:
/// associative and commutative, on tile_prefix; `nothing` its identity. Reads a window of `rows` · 32 tiles at a time: the
/// fewer windows between a tile and the last known prefix, the sooner the next one is known.
template <unsigned rows, class Combine>
__device__ tile_prefix look_back(const tile_word* tiles, std::uint64_t tile, Combine combine,
                                 tile_prefix nothing) {
    constexpr std::uint64_t state_mask = 3;
    const unsigned lane = threadIdx.x % 32;
    tile_prefix found = nothing;
    for (std::int64_t nearest = static_cast<std::int64_t>(tile) - 1;; nearest -= rows * 32) {
        tile_word seen[rows];
        unsigned last_row, last_lane;  // of the nearest tile whose prefix is whole
        bool ended, waiting;
        do {
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                const std::int64_t at = nearest - static_cast<std::int64_t>(r * 32 + lane);
                seen[r] = at >= 0
                              ? look_at(tiles + at)
                              : tile_word{nothing.value, nothing.second << 2 |
                                                             static_cast<std::uint64_t>(tile_state::whole)};
            }
            ended = waiting = false;
            last_row = rows;
            last_lane = 31;
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                if (ended) continue;
                const auto state = static_cast<tile_state>(seen[r].second_and_state & state_mask);
                const unsigned whole = __ballot_sync(~0u, state == tile_state::whole);
                const unsigned missing = __ballot_sync(~0u, state == tile_state::nothing);
                const unsigned before = whole == 0 ? ~0u : (whole & -whole) - 1;  // the lanes that matter
                waiting |= (missing & before) != 0;
                if (whole != 0) {
                    ended = true;
                    last_row = r;
                    last_lane = static_cast<unsigned>(__ffs(static_cast<int>(whole))) - 1;
                }
            }
        } while (waiting);
        tile_prefix mine = nothing;
#pragma unroll
        for (unsigned r = 0; r < rows; ++r)
            if (r < last_row || (r == last_row && lane <= last_lane))
                mine = combine(mine, tile_prefix{seen[r].value, seen[r].second_and_state >> 2});
#pragma unroll
        for (unsigned d = 16; d != 0; d /= 2) {
            tile_prefix other = nothing;
            other.value = __shfl_xor_sync(~0u, mine.value, d);
            if constexpr (Combine::uses_second) other.second = __shfl_xor_sync(~0u, mine.second, d);
            mine = combine(mine, other);
        }
        found = combine(found, mine);
        if (ended) return found;
    }
}

}  // namespace quern::cuda
