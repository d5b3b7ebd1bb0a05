// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU, second step: scores candidates exactly, one pair per warp, and keeps the best.
#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cuda/check.cuh"
#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "ops/word_similarity/exact/pair_scores.cuh"

namespace quern::word_similarity_detail {
namespace {

constexpr unsigned score_threads = 128, score_warps = score_threads / 32;
constexpr similarity_measure lin = similarity_measure::lin, cosine = similarity_measure::cosine;

struct score_task {
    device_rows rows, others;
    double scale;
    const std::uint64_t* norms;  // of all words
    std::uint32_t tile_first, tile_words;
    std::uint32_t top, capacity;
    const std::uint32_t *candidates, *found;
    double* best_scores;
    std::uint32_t *best_ids, *best_counts;
    float* floors;
};

constexpr std::uint32_t cached_columns = 4096;  // of a block's row in shared memory, 16 KB

/// Whether one neighbour comes before another.
__device__ bool before(double score_a, std::uint32_t id_a, double score_b, std::uint32_t id_b) {
    return score_a > score_b || (score_a == score_b && id_a < id_b);
}

template <similarity_measure Measure>
__device__ double score_by_warp(const device_rows& rows, std::uint32_t row, const device_rows& others,
                                std::uint32_t word, double scale, const std::uint64_t* norms,
                                const std::uint32_t* cached = nullptr) {
    if (rows.first + row == word) return 0;
    const device_row a = row_of(rows, row), b = row_of(others, word - others.first);
    // A search step in shared memory costs about an eighth of one in global memory.
    const unsigned long long shared = cached != nullptr && b.length / 8 <= a.length
                                          ? sum_by_warp<Measure>(b, a, cached, scale)
                                          : shared_by_warp<Measure>(a, b, scale);
    return exact_score<Measure>(shared, norms[rows.first + row], norms[word]);
}

/// One block per row. Shared memory: the best so far and up to `capacity` candidates, (top + room) · 12 bytes, and the row's
/// columns if they fit. A rank is the number of neighbours before it. If a row has more candidates than room, all words of
/// the tile are scored, `capacity` at a time.
template <similarity_measure Measure>
__global__ void __launch_bounds__(score_threads) keep_best_kernel(const score_task task) {
    extern __shared__ __align__(16) double scores[];
    auto* const ids = reinterpret_cast<std::uint32_t*>(scores + task.top + task.capacity);
    const std::uint32_t row = blockIdx.x, found = task.found[row];
    if (found == 0) return;
    const bool all = found > task.capacity;
    const std::uint32_t count = all ? task.tile_words : found;
    __shared__ std::uint32_t columns[cached_columns];
    const device_row mine = row_of(task.rows, row);
    const bool cached = mine.length <= cached_columns;
    if (cached)
        for (std::uint32_t i = threadIdx.x; i < mine.length; i += score_threads) columns[i] = mine.columns[i];
    __syncthreads();
    double* const best_scores = task.best_scores + std::size_t{row} * task.top;
    std::uint32_t* const best_ids = task.best_ids + std::size_t{row} * task.top;
    std::uint32_t have = task.best_counts[row];
    for (std::uint32_t from = 0; from < count; from += task.capacity) {
        const std::uint32_t more = min(count - from, task.capacity);
        for (std::uint32_t i = threadIdx.x; i < have; i += score_threads) {
            scores[i] = best_scores[i];
            ids[i] = best_ids[i];
        }
        int positive = 0;
        for (std::uint32_t i = threadIdx.x / 32; i < more; i += score_warps) {
            const std::uint32_t word =
                all ? task.tile_first + from + i : task.candidates[std::size_t{row} * task.capacity + i];
            const double score = score_by_warp<Measure>(task.rows, row, task.others, word, task.scale,
                                                        task.norms, cached ? columns : nullptr);
            if (threadIdx.x % 32 == 0) {
                scores[have + i] = score;
                ids[have + i] = word;
            }
        }
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < have + more; i += score_threads) {
            if (!(scores[i] > 0)) continue;
            std::uint32_t rank = 0;
            for (std::uint32_t j = 0; j < have + more; ++j)
                rank += before(scores[j], ids[j], scores[i], ids[i]) ? 1 : 0;
            if (rank >= task.top) continue;
            best_scores[rank] = scores[i];
            best_ids[rank] = ids[i];
            ++positive;
        }
        __shared__ std::uint32_t kept;
        if (threadIdx.x == 0) kept = 0;
        __syncthreads();  // also publishes writes to global memory for the next round
        if (positive != 0) atomicAdd(&kept, positive);
        __syncthreads();
        have = kept;
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    task.best_counts[row] = have;
    if (have == task.top) task.floors[row] = __double2float_rd(best_scores[have - 1]);
}

/// One warp per pair: blocks along x take the other words, along y the rows.
template <similarity_measure Measure>
__global__ void score_all_kernel(device_rows rows, std::uint32_t from, device_rows others, double scale,
                                 const std::uint64_t* norms, std::uint32_t words, double* scores) {
    const std::uint32_t other = blockIdx.x * score_warps + threadIdx.x / 32;
    if (other >= others.count) return;
    const std::uint32_t word = others.first + other;
    const double score = score_by_warp<Measure>(rows, from + blockIdx.y, others, word, scale, norms);
    if (threadIdx.x % 32 == 0) scores[std::size_t{blockIdx.y} * words + word] = score;
}

template <similarity_measure Measure>
void keep_best_by(cuda_place& place, const score_task& task) {
    // nvcc 13 reads ids in pairs, even the last of an odd number.
    constexpr std::size_t read_ahead = sizeof(std::uint64_t);
    const std::size_t shared_bytes =
        (std::size_t{task.top} + task.capacity) * (sizeof(double) + sizeof(std::uint32_t)) + read_ahead;
    place.make_current();  // the attribute is the current device's
    QUERN_CHECK(cudaFuncSetAttribute(keep_best_kernel<Measure>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)));
    QUERN_LAUNCH(place, (cuda::launch_shape{task.rows.count, score_threads, shared_bytes}),
                 keep_best_kernel<Measure>, task);
}

}  // namespace

std::uint32_t candidate_capacity(std::uint32_t top) {
    return std::bit_ceil(top + 128);
}

best_lists::best_lists(cuda_place& place, std::uint32_t words, std::uint32_t top_of_each)
    : top(top_of_each),
      capacity(candidate_capacity(top_of_each)),
      scores(place, std::size_t{words} * top, "neighbours"),
      ids(place, std::size_t{words} * top, "neighbours"),
      counts(place, words, "neighbours"),
      floors(place, words, "neighbours"),
      candidates(place, std::size_t{words} * capacity, "candidates of neighbours"),
      found(place, words, "candidates of neighbours") {
    place.fill_bytes(counts.data(), 0, counts.span().size_bytes());
    place.fill_bytes(floors.data(), 0, floors.span().size_bytes());
}

void keep_best(cuda_place& place, const device_rows& rows, const device_rows& others,
               std::uint32_t tile_first, std::uint32_t tile_words, similarity_measure measure, double scale,
               device_span<const std::uint64_t> norms, best_lists& best) {
    const score_task task{rows,
                          others,
                          scale,
                          norms.data(),
                          tile_first,
                          tile_words,
                          best.top,
                          best.capacity,
                          best.candidates.data(),
                          best.found.data(),
                          best.scores.data(),
                          best.ids.data(),
                          best.counts.data(),
                          best.floors.data()};
    if (measure == lin)
        keep_best_by<lin>(place, task);
    else
        keep_best_by<cosine>(place, task);
}

void score_all(cuda_place& place, const device_rows& rows, std::uint32_t from, std::uint32_t count,
               const device_rows& others, similarity_measure measure, double scale,
               device_span<const std::uint64_t> norms, std::uint32_t words, device_span<double> scores) {
    const cuda::launch_shape shape{dim3(cuda::blocks_for(others.count, score_warps), count), score_threads};
    if (measure == lin)
        QUERN_LAUNCH(place, shape, score_all_kernel<lin>, rows, from, others, scale, norms.data(), words,
                     scores.data());
    else
        QUERN_LAUNCH(place, shape, score_all_kernel<cosine>, rows, from, others, scale, norms.data(), words,
                     scores.data());
}

}  // namespace quern::word_similarity_detail
