// SPDX-License-Identifier: Apache-2.0
// Rows of whole 16-byte words, read directly into registers.
// - A word holds 4 or 8 floats, which belong to as many neighbouring partial sums. So 4 lanes share a row of f32, lane l
//   with the words l, l + 4, …; each owns its partial sums from start to end, which is the canonical order.
// - For 16-bit floats there are only 2 such lanes. Memory favours 64 bytes of a row at once, so 4 lanes read two rows and
//   exchange the other row's data.
// - Rows of floats of at most 4 words take a thread each: more lanes would mostly wait.
// - Integers are summed in any order, by 8 lanes, fewer for shorter rows.
//
// Measured on an H200, 1.28 GB of f16, TB/s. A block's size and the blocks on a multiprocessor decide, since they limit
// the registers: 5 million rows of 128 by 256 threads without a limit 3.5, 5 blocks of 128 4.0, 6 blocks 3.6 (values are
// spilled); 2 lanes per row without the exchange 3.9; bulk copies to shared memory, 16 lanes a row, 4.1. Rows of 1,536: 8
// words ahead of their use 3.9, 16 words 4.1. Rows of 16: 4 lanes 0.8, 2 lanes 2.6, a thread a row 4.2; of 32: 1.4, 3.9, 3.6.
// With the code that a key for another metric needs (a square root and a quotient in double) in the same kernel, all of
// them are slower.
#include <type_traits>

#include "ops/nearest/distance/distance_cuda.cuh"
#include "ops/nearest/distance/packed_words.cuh"

namespace quern::nearest_detail {
namespace {

__device__ inline uint4 streamed(const uint4* from) {
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from));
    return word;
}

constexpr uint4 no_items{0, 0, 0, 0};

/// One row for each group of `Lanes` lanes at a time, several in parallel.
template <class Traits, unsigned Lanes>
struct whole_rows {
    static constexpr unsigned threads = 256, min_blocks = 0;
    static constexpr bool floating = word_sums<Traits>::floating;
    static constexpr unsigned ahead = floating ? 4 : 2,
                              side_by_side = floating ? 2 : 4;  // words in flight per thread
    static constexpr unsigned warp_rows = 32 / Lanes * side_by_side;
    word_sums<Traits> sums[side_by_side];

    /// Row r of the thread, relative to the warp's first.
    static __device__ unsigned row(unsigned r) { return r * (32 / Lanes) + threadIdx.x % 32 / Lanes; }
    static __device__ bool writes() { return threadIdx.x % Lanes == 0; }

    __device__ void sum(const uint4* const (&rows)[side_by_side], const uint4* query, std::uint32_t words) {
        for (std::uint32_t begin = threadIdx.x % Lanes; begin < words; begin += Lanes * ahead) {
            uint4 a[ahead][side_by_side];
#pragma unroll
            for (unsigned u = 0; u < ahead; ++u)
#pragma unroll
                for (unsigned r = 0; r < side_by_side; ++r)
                    if (begin + u * Lanes < words) a[u][r] = streamed(rows[r] + begin + u * Lanes);
#pragma unroll
            for (unsigned u = 0; u < ahead; ++u) {
                if (begin + u * Lanes >= words) break;
                const uint4 b = __ldg(query + begin + u * Lanes);
#pragma unroll
                for (unsigned r = 0; r < side_by_side; ++r) sums[r].add(a[u][r], b);
            }
        }
    }
    __device__ auto result(unsigned r) { return sums[r].tree(Lanes); }
};

/// A row of `Words` words of floats for each thread at a time, several in parallel.
template <class Traits, unsigned Words>
struct short_rows {
    static constexpr unsigned threads = 256, min_blocks = 4;
    static constexpr unsigned side_by_side = 8 / Words, warp_rows = 32 * side_by_side;
    float results[side_by_side];

    static __device__ unsigned row(unsigned r) { return r * 32 + threadIdx.x % 32; }
    static __device__ bool writes() { return true; }

    __device__ void sum(const uint4* const (&rows)[side_by_side], const uint4* query, std::uint32_t) {
        constexpr unsigned of_word = word_sums<Traits>::count;
        uint4 a[side_by_side][Words], b[Words];
#pragma unroll
        for (unsigned r = 0; r < side_by_side; ++r)
#pragma unroll
            for (unsigned w = 0; w < Words; ++w) a[r][w] = streamed(rows[r] + w);
#pragma unroll
        for (unsigned w = 0; w < Words; ++w) b[w] = __ldg(query + w);
#pragma unroll
        for (unsigned r = 0; r < side_by_side; ++r) {
            word_sums<Traits> words[partial_sums / of_word];
#pragma unroll
            for (unsigned w = 0; w < Words; ++w) words[w % (partial_sums / of_word)].add(a[r][w], b[w]);
            float sums[partial_sums];
#pragma unroll
            for (unsigned i = 0; i < partial_sums; ++i) sums[i] = words[i / of_word].sums[i % of_word];
            tree_of_array<Traits::kind, partial_sums>(sums);
            results[r] = sums[0];
        }
    }
    __device__ float result(unsigned r) const { return results[r]; }
};

/// Two rows for each 4 lanes: lanes 0 and 1 own the first, 2 and 3 the second, the even ones its partial sums 0 … 7.
template <class Traits, unsigned Ahead, unsigned Blocks>
struct halved_rows {
    static constexpr unsigned threads = 128, min_blocks = Blocks;
    static constexpr unsigned ahead = Ahead, pairs = 2, side_by_side = 2 * pairs;
    static constexpr unsigned warp_rows = 32 / 4 * side_by_side;
    word_sums<Traits> sums[pairs];

    static __device__ unsigned row(unsigned r) { return r / 2 * 16 + threadIdx.x % 32 / 4 * 2 + r % 2; }
    static __device__ bool writes() { return threadIdx.x % 2 == 0; }

    __device__ void sum(const uint4* const (&rows)[side_by_side], const uint4* query, std::uint32_t words) {
        const unsigned lane = threadIdx.x % 4, parity = lane % 2;
        const bool second = lane >= 2;
        for (std::uint32_t begin = 0; begin < words; begin += 4 * ahead) {
            uint4 a[ahead][side_by_side];
#pragma unroll
            for (unsigned u = 0; u < ahead; ++u)
#pragma unroll
                for (unsigned r = 0; r < side_by_side; ++r) {
                    const std::uint32_t w = begin + 4 * u + lane;
                    a[u][r] = w < words ? streamed(rows[r] + w) : no_items;
                }
#pragma unroll
            for (unsigned u = 0; u < ahead; ++u) {
                const std::uint32_t w = begin + 4 * u + parity;
                const uint4 b = w < words ? __ldg(query + w) : no_items;
                const uint4 next_b = w + 2 < words ? __ldg(query + w + 2) : no_items;
#pragma unroll
                for (unsigned p = 0; p < pairs; ++p) {
                    const uint4 one = a[u][2 * p], two = a[u][2 * p + 1];
                    const uint4 kept = second ? two : one, got = exchanged(second ? one : two);
                    sums[p].add(second ? got : kept, b);
                    sums[p].add(second ? kept : got, next_b);
                }
            }
        }
    }
    /// Each lane has the sum of its own row of the pair.
    __device__ auto result(unsigned p) { return sums[p].tree(2); }

  private:
    static __device__ uint4 exchanged(const uint4& word) {
        constexpr unsigned everyone = 0xffffffffu;
        return {__shfl_xor_sync(everyone, word.x, 2), __shfl_xor_sync(everyone, word.y, 2),
                __shfl_xor_sync(everyone, word.z, 2), __shfl_xor_sync(everyone, word.w, 2)};
    }
};

/// A warp takes Rows::warp_rows neighbouring rows; a read of the query, from the cache, serves several. A thread has 8
/// words of 16 bytes in flight, 16 in long rows. No shared memory.
template <class Traits, class Key, class Rows, bool Cosine>
__global__ void __launch_bounds__(Rows::threads, Rows::min_blocks)
    scan_words_kernel(device_rows tile, const std::byte* query, std::uint32_t query_row, std::uint32_t words,
                      wanted_pairs wanted, key_maker<Key> key_of, Key* keys) {
    const std::uint64_t warp = (std::uint64_t{blockIdx.x} * Rows::threads + threadIdx.x) / 32;
    const std::uint64_t first = warp * Rows::warp_rows;
    if (first >= wanted.size) return;  // the whole warp
    const uint4* rows[Rows::side_by_side];
#pragma unroll
    for (unsigned r = 0; r < Rows::side_by_side; ++r) {
        const std::uint64_t i = min(first + Rows::row(r), wanted.size - 1);
        rows[r] = reinterpret_cast<const uint4*>(tile.values + wanted.row(i) * tile.stride);
    }
    Rows mine;
    mine.sum(rows, reinterpret_cast<const uint4*>(query), words);
    const auto write = [&](std::uint64_t i, auto sum) {
        if (Rows::writes() && i < wanted.size)
            keys[i] = key_of.template of<Traits::kind, Cosine>(sum, query_row, wanted.row(i));
    };
    if constexpr (requires { Rows::pairs; }) {
#pragma unroll
        for (unsigned p = 0; p < Rows::pairs; ++p)
            write(first + Rows::row(2 * p + threadIdx.x % 4 / 2), mine.result(p));
    } else {
#pragma unroll
        for (unsigned r = 0; r < Rows::side_by_side; ++r) write(first + Rows::row(r), mine.result(r));
    }
}

/// One pass over the rows for each query.
template <class Traits, class Key, class Rows>
void launch_scans(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                  vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    const auto words = static_cast<std::uint32_t>(bytes_of_row(tile.type, tile.dimensions) / 16);
    const unsigned blocks = cuda::blocks_for(wanted.size, Rows::threads / 32 * Rows::warp_rows);
    const auto launch = [&]<bool Cosine>(std::bool_constant<Cosine>) {
        for (std::uint32_t q = 0; q < wanted.queries; ++q)
            QUERN_LAUNCH(place, (cuda::launch_shape{blocks, Rows::threads}),
                         (scan_words_kernel<Traits, Key, Rows, Cosine>), device_view(tile),
                         queries.values.data() + q * queries.stride, q, words, wanted,
                         (key_maker<Key>{metric, tile.squares.data(), queries.squares.data()}),
                         keys + q * wanted.size);
    };
    if constexpr (Traits::kind == part_kind::products && sizeof(Key) == 4) {
        if (metric == vector_metric::cosine) return launch(std::true_type());
    }
    launch(std::false_type());
}

}  // namespace

template <class Key>
bool scan_words(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, const wanted_pairs& wanted, Key* keys) {
    if (wanted.size == 0) return true;
    const std::uint64_t words = bytes_of_row(tile.type, tile.dimensions) / 16;
    return with_common_traits<Key>(tile.type, metric, tile.dimensions, [&]<class Traits>(Traits) {
        const auto launch = [&]<class Rows>(std::type_identity<Rows>) {
            launch_scans<Traits, Key, Rows>(place, tile, queries, metric, wanted, keys);
        };
        if constexpr (word_sums<Traits>::floating) {
            if (words == 1)
                launch(std::type_identity<short_rows<Traits, 1>>());
            else if (words == 2)
                launch(std::type_identity<short_rows<Traits, 2>>());
            else if (words == 3)
                launch(std::type_identity<short_rows<Traits, 3>>());
            else if (words == 4)
                launch(std::type_identity<short_rows<Traits, 4>>());
            else if constexpr (sizeof(stored_t<Traits::type>) == 4)
                launch(std::type_identity<whole_rows<Traits, 4>>());
            else if (words < 64)
                launch(std::type_identity<halved_rows<Traits, 2, 5>>());
            else
                launch(std::type_identity<halved_rows<Traits, 4, 3>>());
        } else if (words >= 16) {
            launch(std::type_identity<whole_rows<Traits, 8>>());
        } else if (words >= 4) {
            launch(std::type_identity<whole_rows<Traits, 4>>());
        } else {
            launch(std::type_identity<whole_rows<Traits, 1>>());
        }
    });
}
template bool scan_words(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         const wanted_pairs&, std::uint32_t*);
template bool scan_words(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         const wanted_pairs&, std::uint64_t*);

}  // namespace quern::nearest_detail
