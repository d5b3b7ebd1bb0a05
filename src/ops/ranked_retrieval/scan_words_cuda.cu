// SPDX-License-Identifier: Apache-2.0
// Rows of whole 16-byte words, read straight into registers. A word holds 4 or 8 floats, which belong to as many
// neighbouring partial sums; so 4 lanes (of 16-bit floats 2) share a row, each with every 4th (2nd) word, and each owns
// its partial sums from beginning to end: the canonical order without a detour. Integers are summed in any order, by 8
// lanes, for rows of few words by 2.
#include <algorithm>

#include "ops/ranked_retrieval/scan_cuda.cuh"
#include "ops/ranked_retrieval/words.cuh"

namespace quern::ranked_retrieval_detail {
namespace {

constexpr unsigned block_threads = 256;

__device__ inline uint4 streamed(const uint4* from) {
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from));
    return word;
}

/// How a thread reads: words of a row ahead of their use, and rows side by side. So many bytes are under way that memory
/// is never waited for: 8 words a thread, 128 bytes of a row at a time where its lanes read together.
template <class Traits>
struct reading {
    static constexpr bool floating = word_sums<Traits>::floating;
    static constexpr unsigned ahead = floating ? 4 : 2, rows = floating ? 2 : 4;
};

/// `lanes` lanes a row, several rows each, which share what is read of the query, from the cache: groups of lanes take
/// neighbouring rows. Grid: rows in x, queries in y. No shared memory.
template <class Traits, class Key>
__global__ void __launch_bounds__(block_threads)
    scan_words_kernel(rows_there tile, rows_there queries, std::uint32_t words, unsigned lanes,
                      wanted_pairs wanted, key_maker<Key> key_of, Key* keys) {
    using shape = reading<Traits>;
    if constexpr (shape::floating) lanes = partial_sums / word_sums<Traits>::count;
    const unsigned lane = threadIdx.x % lanes, groups = 32 / lanes, group = threadIdx.x % 32 / lanes;
    const std::uint64_t warp = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / 32;
    const std::uint64_t first = warp * groups * shape::rows + group;
    std::uint32_t rows[shape::rows];
#pragma unroll
    for (unsigned r = 0; r < shape::rows; ++r) {
        const std::uint64_t i = first + r * groups;
        rows[r] = wanted.row(i < wanted.size ? i : 0);
    }

    for (std::uint32_t q = blockIdx.y; q < wanted.queries; q += gridDim.y) {
        const auto* const query = reinterpret_cast<const uint4*>(queries.values + q * queries.stride);
        word_sums<Traits> sums[shape::rows];
        for (std::uint32_t begin = lane; begin < words; begin += lanes * shape::ahead) {
            uint4 a[shape::ahead][shape::rows];
#pragma unroll
            for (unsigned u = 0; u < shape::ahead; ++u)
#pragma unroll
                for (unsigned r = 0; r < shape::rows; ++r)
                    if (begin + u * lanes < words)
                        a[u][r] =
                            streamed(reinterpret_cast<const uint4*>(tile.values + rows[r] * tile.stride) +
                                     begin + u * lanes);
#pragma unroll
            for (unsigned u = 0; u < shape::ahead; ++u) {
                if (begin + u * lanes >= words) break;
                const uint4 b = __ldg(query + begin + u * lanes);
#pragma unroll
                for (unsigned r = 0; r < shape::rows; ++r) sums[r].add(a[u][r], b);
            }
        }
#pragma unroll
        for (unsigned r = 0; r < shape::rows; ++r) {
            const std::uint64_t i = first + r * groups;
            const auto sum = sums[r].tree(lanes);
            if (lane == 0 && i < wanted.size) keys[q * wanted.size + i] = key_of(sum, q, rows[r]);
        }
    }
}

}  // namespace

template <class Key>
bool scan_words(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    if (wanted.size == 0) return true;
    const auto words = static_cast<std::uint32_t>(bytes_of_row(tile.type, tile.dimensions) / 16);
    return with_common_traits<Key>(tile.type, metric, tile.dimensions, [&]<class Traits>(Traits) {
        using shape = reading<Traits>;
        const unsigned lanes = shape::floating ? partial_sums / word_sums<Traits>::count : words < 8 ? 2 : 8;
        const dim3 grid(cuda::blocks_for(wanted.size, block_threads / lanes * shape::rows),
                        std::min(wanted.queries, 65'535u));
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), (scan_words_kernel<Traits, Key>),
                     there(tile), there(queries), words, lanes, wanted,
                     (key_maker<Key>{metric, tile.squares.data(), queries.squares.data()}), keys);
    });
}
template bool scan_words(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         const wanted_pairs&, std::uint32_t*);
template bool scan_words(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         const wanted_pairs&, std::uint64_t*);

}  // namespace quern::ranked_retrieval_detail
