// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU, first step: selects the words that can be among the most similar ones of each word.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "ops/word_similarity/bounds/weight_codes.cuh"
#include "ops/word_similarity/exact/pair_scores.cuh"
#include "primitives/sort/sort.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr unsigned product_threads = 1024, warps = product_threads / 32;
constexpr std::uint32_t piece = 2048;  // postings of one column that a warp takes at a time
constexpr unsigned whole_warp = 0xffffffff;
/// More than the relative errors of a score in single precision: five roundings of 2^-24, a division of 2 ulp.
constexpr float float_error = 0x1p-20f;

constexpr similarity_measure lin = similarity_measure::lin, cosine = similarity_measure::cosine;

/// The number of postings that each row reads, in units of 64, to process long work first; one row per warp.
__global__ void estimate_work_kernel(device_rows rows, const std::uint32_t* column_offsets,
                                     std::uint32_t* work, std::uint32_t* order) {
    const std::uint32_t r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (r >= rows.count) return;
    const device_row row = row_of(rows, r);
    unsigned long long sum = 0;
    for (std::uint32_t i = threadIdx.x % 32; i < row.length; i += 32)
        sum += column_offsets[row.columns[i] + 1] - column_offsets[row.columns[i]];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(whole_warp, sum, step);
    if (threadIdx.x % 32 != 0) return;
    work[r] = static_cast<std::uint32_t>(min(sum / 64, 0xffffffffull));
    order[r] = r;
}

struct product_task {
    device_rows rows;
    const std::uint32_t* order;
    const std::uint32_t *postings, *column_offsets;
    std::uint32_t tile_first, tile_words;
    const float* norms;  // of all words
    double code_scale;   // 2^bits
    float unit;          // cosine: 2^product_bits
    float shrink;        // a lower bound of a sum's value: sum · shrink - 2 · (entries of the row)
    std::uint32_t top, capacity;
    const float* floors;
    std::uint32_t *candidates, *found;
    std::uint32_t* cursor;  // the next row to take
};

/// Entries of a row whose columns are being added: where each warp looks up its piece.
struct piece_list {
    std::uint32_t first[product_threads], size[product_threads], code[product_threads];
    std::uint32_t ends[product_threads];  // pieces up to and including this entry
    std::uint32_t warp_totals[warps];
    std::uint32_t next;
};

template <similarity_measure Measure>
struct adder {
    std::uint32_t code;
    float factor;

    __device__ adder(std::uint32_t code_a, float unit) : code(code_a), factor(0) {
        if constexpr (Measure == cosine)
            factor = __half2float(__ushort_as_half(static_cast<unsigned short>(code_a))) * unit;
    }
    __device__ void add(std::uint32_t* sums, std::uint32_t posting) const {
        if constexpr (Measure == lin) {
            atomicAdd(sums + (posting & 0xffff), (posting >> 16) + code);
        } else {  // the product of two such floats is exact
            const float b = __half2float(__ushort_as_half(static_cast<unsigned short>(posting >> 16)));
            atomicAdd(sums + (posting & 0xffff), __float2uint_ru(b * factor));
        }
    }
};

/// Adds postings [begin, end) of one column, multiples of four, by one warp; prefetches the next four of a lane.
template <similarity_measure Measure>
__device__ void add_postings(const std::uint32_t* postings, std::uint32_t begin, std::uint32_t end,
                             const adder<Measure>& with, std::uint32_t* sums) {
    std::uint32_t at = begin + 4 * (threadIdx.x % 32);
    if (at >= end) return;
    uint4 four = __ldg(reinterpret_cast<const uint4*>(postings + at));
    while (true) {
        at += 128;
        uint4 ahead{};
        if (at < end) ahead = __ldg(reinterpret_cast<const uint4*>(postings + at));
        with.add(sums, four.x);
        with.add(sums, four.y);
        with.add(sums, four.z);
        with.add(sums, four.w);
        if (at >= end) return;
        four = ahead;
    }
}

/// Lists the pieces of the next entries of a row, one entry per thread. Synchronises the block.
template <similarity_measure Measure>
__device__ void list_pieces(const product_task& task, std::uint64_t entry, std::uint64_t end,
                            piece_list& list) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    std::uint32_t first = 0, size = 0;
    if (entry < end) {
        const std::uint32_t column = task.rows.columns[entry];
        first = task.column_offsets[column];
        size = task.column_offsets[column + 1] - first;
        list.code[threadIdx.x] = code_of<Measure>(task.rows.weights[entry], task.code_scale);
    }
    list.first[threadIdx.x] = first;
    list.size[threadIdx.x] = size;
    std::uint32_t pieces = (size + piece - 1) / piece;
    for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t before = __shfl_up_sync(whole_warp, pieces, step);
        if (lane >= step) pieces += before;
    }
    if (lane == 31) list.warp_totals[warp] = pieces;
    if (threadIdx.x == 0) list.next = 0;
    __syncthreads();
    std::uint32_t before = lane < warp ? list.warp_totals[lane] : 0;
    before = cuda::sum_of_warp(before);
    list.ends[threadIdx.x] = pieces + before;
    __syncthreads();
}

/// Adds the columns of a row to the sums. Every warp takes pieces while any are left. Synchronises the block.
template <similarity_measure Measure>
__device__ void add_row(const product_task& task, std::uint64_t begin, std::uint64_t end, piece_list& list,
                        std::uint32_t* sums) {
    const unsigned lane = threadIdx.x % 32;
    for (std::uint64_t from = begin; from < end; from += product_threads) {
        list_pieces<Measure>(task, from + threadIdx.x, end, list);
        const std::uint32_t total = list.ends[product_threads - 1];
        while (true) {
            std::uint32_t p = 0;
            if (lane == 0) p = atomicAdd(&list.next, 1);
            p = __shfl_sync(whole_warp, p, 0);
            if (p >= total) break;
            // The entry is the first whose end is after p: first finds its warp, then its place there.
            const unsigned w = __popc(__ballot_sync(whole_warp, list.ends[lane * 32 + 31] <= p));
            const unsigned i = w * 32 + __popc(__ballot_sync(whole_warp, list.ends[w * 32 + lane] <= p));
            const std::uint32_t first = list.first[i] + (p - (i == 0 ? 0 : list.ends[i - 1])) * piece;
            const std::uint32_t last = min(first + piece, list.first[i] + list.size[i]);
            add_postings<Measure>(task.postings, first, last, {list.code[i], task.unit}, sums);
        }
        __syncthreads();
    }
}

/// Bounds of a score from a sum.
template <similarity_measure Measure>
struct score_bounds {
    float norm, shrink, slack;
    const float* norms;  // of the tile

    __device__ float scaled(float sum, std::uint32_t word) const {
        if constexpr (Measure == lin)
            return __fdividef(sum, norm + norms[word]);
        else
            return __fdividef(sum, norm * norms[word]);
    }
    __device__ float upper(std::uint32_t sum, std::uint32_t word) const {
        return scaled(__uint2float_rn(sum), word) * (1 + float_error);
    }
    __device__ float lower(std::uint32_t sum, std::uint32_t word) const {
        return fmaxf(0, scaled(__uint2float_rn(sum) * shrink - slack, word) * (1 - float_error));
    }
};

/// The greatest float below 2, precise to 2^-17 of itself, that at least `at_least` values reach. at_least(bits) counts
/// over the block and gives every thread the same result.
template <class Count>
__device__ float find_floor(std::uint32_t wanted, const Count& at_least) {
    std::uint32_t bits = 0;
    for (int b = 29; b >= 6; --b)
        if (at_least(bits | 1u << b) >= wanted) bits |= 1u << b;
    return __uint_as_float(bits);
}

/// Writes the candidates of a row: words with an upper bound not below the `top`-th best lower bound.
template <similarity_measure Measure>
__device__ void choose(const product_task& task, std::uint32_t row, const score_bounds<Measure>& bounds,
                       const std::uint32_t* sums, std::uint32_t* counter) {
    std::uint32_t* const candidates = task.candidates + std::size_t{row} * task.capacity;
    float floor = task.floors[row];
    // Each thread's greatest bound belongs to another word, so the top-th of them is not above the top-th of all.
    float mine = 0;
    for (std::uint32_t w = threadIdx.x; w < task.tile_words; w += product_threads)
        if (sums[w] != 0) mine = fmaxf(mine, bounds.lower(sums[w], w));
    floor = fmaxf(floor, find_floor(task.top, [&](std::uint32_t bits) {
                      return static_cast<std::uint32_t>(__syncthreads_count(__float_as_uint(mine) >= bits));
                  }));
    const auto collect = [&] {
        if (threadIdx.x == 0) *counter = 0;
        __syncthreads();
        for (std::uint32_t w = threadIdx.x; w < task.tile_words; w += product_threads) {
            if (sums[w] == 0 || bounds.upper(sums[w], w) < floor) continue;
            const std::uint32_t at = atomicAdd(counter, 1);
            if (at < task.capacity) candidates[at] = task.tile_first + w;
        }
        __syncthreads();
        const std::uint32_t found = *counter;
        __syncthreads();  // before it is set again
        return found;
    };
    std::uint32_t found = collect();
    if (found > task.capacity) {  // search all, not only the threads' greatest
        floor = fmaxf(floor, find_floor(task.top, [&](std::uint32_t bits) {
                          if (threadIdx.x == 0) *counter = 0;
                          __syncthreads();
                          std::uint32_t count = 0;
                          for (std::uint32_t w = threadIdx.x; w < task.tile_words; w += product_threads)
                              if (sums[w] != 0 && __float_as_uint(bounds.lower(sums[w], w)) >= bits) ++count;
                          count = cuda::sum_of_warp(count);
                          if (threadIdx.x % 32 == 0 && count != 0) atomicAdd(counter, count);
                          __syncthreads();
                          const std::uint32_t all = *counter;
                          __syncthreads();
                          return all;
                      }));
        found = collect();
    }
    if (threadIdx.x == 0) task.found[row] = found;
}

/// One block per multiprocessor takes row after row, long work first. Its shared memory holds a sum for every word of the
/// tile (200 KB) and the row's pieces (16 KB); a warp adds a piece of a column at a time, with atomic additions there. The
/// order of additions does not matter: sums of integers. 1024 threads hide the latency of the postings.
template <similarity_measure Measure>
__global__ void __launch_bounds__(product_threads) choose_candidates_kernel(const product_task task) {
    extern __shared__ __align__(16) std::uint32_t sums[];
    __shared__ piece_list list;
    __shared__ std::uint32_t taken, counter;
    const std::uint32_t fours = task.tile_words / 4 + 1;  // one extra sum, without a word
    const auto clear = [&] {
        for (std::uint32_t f = threadIdx.x; f < fours; f += product_threads)
            reinterpret_cast<uint4*>(sums)[f] = uint4{};
    };
    clear();
    while (true) {
        if (threadIdx.x == 0) taken = atomicAdd(task.cursor, 1);
        __syncthreads();
        if (taken >= task.rows.count) return;
        const std::uint32_t row = task.order[taken];
        const std::uint64_t begin = task.rows.offsets[row], end = task.rows.offsets[row + 1];
        add_row<Measure>(task, begin, end, list, sums);
        const std::uint32_t word = task.rows.first + row;
        if (threadIdx.x == 0 && word - task.tile_first < task.tile_words) sums[word - task.tile_first] = 0;
        __syncthreads();
        const score_bounds<Measure> bounds{task.norms[word], task.shrink, __ull2float_ru(2 * (end - begin)),
                                           task.norms + task.tile_first};
        choose(task, row, bounds, sums, &counter);
        clear();
    }
}

template <similarity_measure Measure>
void choose_candidates_by(cuda_place& place, const device_rows& rows, const tile_postings& tile,
                          const weight_codes& codes, device_span<const float> norms, best_lists& best) {
    const cuda_array<std::uint32_t> work(place, rows.count, "an order of work"),
        order(place, rows.count, "an order of work"), cursor(place, 1, "an order of work");
    place.fill_bytes(cursor.data(), 0, sizeof(std::uint32_t));
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(rows.count, 8), 256}), estimate_work_kernel,
                 rows, tile.offsets.data(), work.data(), order.data());
    primitives::sort_pairs(place, work.span(), order.span(), {primitives::order::descending});
    const product_task task{rows,
                            order.data(),
                            tile.postings.data(),
                            tile.offsets.data(),
                            tile.first,
                            tile.count,
                            norms.data(),
                            std::ldexp(1.0, codes.bits),
                            static_cast<float>(std::ldexp(1.0, codes.product_bits)),
                            (Measure == lin ? 1.0f : 1 - 0x1p-9f) - 0x1p-21f,
                            best.top,
                            best.capacity,
                            best.floors.data(),
                            best.candidates.data(),
                            best.found.data(),
                            cursor.data()};
    const std::size_t shared_bytes = (std::size_t{tile.count} / 4 + 1) * 16;
    place.make_current();  // the attribute is the current device's
    QUERN_CHECK(cudaFuncSetAttribute(choose_candidates_kernel<Measure>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)));
    QUERN_LAUNCH(
        place,
        (cuda::launch_shape{std::min(place.multiprocessors(), rows.count), product_threads, shared_bytes}),
        choose_candidates_kernel<Measure>, task);
}

}  // namespace

std::uint32_t tile_words(cuda_place& place) {
    const std::size_t room = std::min(cuda::shared_room(place, choose_candidates_kernel<lin>),
                                      cuda::shared_room(place, choose_candidates_kernel<cosine>));
    return static_cast<std::uint32_t>(std::min<std::size_t>(max_tile_words, (room / 16 - 1) * 4));
}

void choose_candidates(cuda_place& place, const device_rows& rows, const tile_postings& tile,
                       const weight_codes& codes, device_span<const float> norms, best_lists& best) {
    if (codes.measure == lin)
        choose_candidates_by<lin>(place, rows, tile, codes, norms, best);
    else
        choose_candidates_by<cosine>(place, rows, tile, codes, norms, best);
}

}  // namespace quern::word_similarity_detail
