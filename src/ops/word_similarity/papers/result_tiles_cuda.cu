// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/papers/result_tiles_cuda.cuh"

#include <algorithm>
#include <cmath>

#include "device/cuda/check.cuh"
#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr unsigned side = 32, side_rows = 8;  // a block transposes 32 × 32 scores, four per thread
constexpr similarity_measure lin = similarity_measure::lin, cosine = similarity_measure::cosine;

/// Sums to scores in place, and their transpose.
template <similarity_measure Measure>
__global__ void score_tile_kernel(std::uint64_t* sums, word_range a, word_range b, const std::uint64_t* norms,
                                  double* transposed) {
    __shared__ double turned[side][side + 1];
    const std::uint32_t column = blockIdx.x * side + threadIdx.x;
    for (unsigned r = threadIdx.y; r < side; r += side_rows) {
        const std::uint32_t row = blockIdx.y * side + r;
        if (row >= a.count || column >= b.count) continue;
        std::uint64_t& sum = sums[std::size_t{row} * b.count + column];
        const double score = exact_score<Measure>(sum, norms[a.first + row], norms[b.first + column]);
        turned[r][threadIdx.x] = score;
        sum = static_cast<std::uint64_t>(__double_as_longlong(score));
    }
    __syncthreads();
    const std::uint32_t row = blockIdx.y * side + threadIdx.x;
    for (unsigned c = threadIdx.y; c < side; c += side_rows) {
        const std::uint32_t turned_row = blockIdx.x * side + c;
        if (row < a.count && turned_row < b.count)
            transposed[std::size_t{turned_row} * a.count + row] = turned[threadIdx.x][c];
    }
}

/// Sums of a tile with itself, above the diagonal, to all its scores; 0 on the diagonal.
template <similarity_measure Measure>
__global__ void score_own_tile_kernel(const std::uint64_t* sums, word_range words, const std::uint64_t* norms,
                                      double* scores) {
    const std::uint32_t column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * side;
    for (std::uint32_t r = row; r < min(row + side, words.count); ++r) {
        if (column >= words.count) continue;
        const std::size_t upper = std::size_t{min(r, column)} * words.count + max(r, column);
        scores[std::size_t{r} * words.count + column] =
            r == column
                ? 0
                : exact_score<Measure>(sums[upper], norms[words.first + r], norms[words.first + column]);
    }
}

/// One list per word: its current `top` and `more` new ones, whose ids count from first_id.
__global__ void join_lists_kernel(const double* best_scores, const std::uint32_t* best_ids, std::uint32_t top,
                                  const double* new_scores, const std::uint32_t* new_ids, std::uint32_t more,
                                  std::uint32_t first_id, std::uint32_t words, double* scores,
                                  std::uint32_t* ids) {
    const std::uint32_t length = top + more;
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= std::size_t{words} * length) return;
    const std::size_t word = i / length;
    const auto at = static_cast<std::uint32_t>(i % length);
    scores[i] = at < top ? best_scores[word * top + at] : new_scores[word * more + at - top];
    ids[i] = at < top ? best_ids[word * top + at] : first_id + new_ids[word * more + at - top];
}

/// Converts positions in joined lists to their ids.
__global__ void gather_ids_kernel(const std::uint32_t* joined, std::uint32_t length, std::uint32_t top,
                                  std::uint32_t words, std::uint32_t* ids) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < std::size_t{words} * top) ids[i] = joined[i / top * length + ids[i]];
}

template <similarity_measure Measure>
void score_tile(cuda_place& place, std::uint64_t* sums, word_range a, word_range b,
                const std::uint64_t* norms, double* other) {
    if (a.first == b.first) {
        const dim3 grid(cuda::blocks_for(a.count, 256), cuda::blocks_for(a.count, side));
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, 256}), score_own_tile_kernel<Measure>, sums, a, norms,
                     other);
    } else {
        const dim3 grid(cuda::blocks_for(b.count, side), cuda::blocks_for(a.count, side));
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, dim3(side, side_rows)}), score_tile_kernel<Measure>,
                     sums, a, b, norms, other);
    }
}

}  // namespace

std::uint64_t tile_bytes_for(cuda_place& place, std::uint64_t requested) {
    return std::min(requested != 0 ? requested : 300'000'000, place.memory().left() / 16);
}

std::uint32_t tile_words_for(std::uint64_t tile_bytes) {
    const double words = std::sqrt(static_cast<double>(tile_bytes) / sizeof(std::uint64_t));
    return static_cast<std::uint32_t>(std::clamp(words, 1.0, 65'536.0));
}

result_tiles::result_tiles(cuda_place& place, const fixed_rows& rows, const similarity_options& options,
                           std::uint32_t words)
    : place_(&place),
      measure_(options.measure),
      words_(rows.words),
      top_(std::min(options.top, rows.words - 1)),
      norms_(array_from<cuda_place, std::uint64_t>(place, options.measure == lin ? rows.sums : rows.squares,
                                                   "sums of rows")),
      sums_(place, std::size_t{words} * words, "a tile of results"),
      transposed_(place, std::size_t{words} * words, "a tile of results"),
      best_scores_(place, std::size_t{words_} * top_, "neighbours"),
      best_ids_(place, std::size_t{words_} * top_, "neighbours") {
    place.fill_bytes(best_scores_.data(), 0, best_scores_.span().size_bytes());
    place.fill_bytes(best_ids_.data(), 0, best_ids_.span().size_bytes());
}

void result_tiles::keep(word_range a, word_range b) {
    if (measure_ == lin)
        score_tile<lin>(*place_, sums_.data(), a, b, norms_.data(), transposed_.data());
    else
        score_tile<cosine>(*place_, sums_.data(), a, b, norms_.data(), transposed_.data());
    if (a.first != b.first) fold(reinterpret_cast<const double*>(sums_.data()), a, b);
    fold(transposed_.data(), b, a);
}

void result_tiles::fold(const double* scores, word_range words, word_range others) {
    const std::uint32_t more = std::min(top_, others.count), length = top_ + more;
    const cuda_array<double> new_scores(*place_, std::size_t{words.count} * more, "neighbours"),
        joined_scores(*place_, std::size_t{words.count} * length, "neighbours");
    const cuda_array<std::uint32_t> new_ids(*place_, std::size_t{words.count} * more, "neighbours"),
        joined_ids(*place_, std::size_t{words.count} * length, "neighbours");
    primitives::batched_top_k<double>(*place_, {scores, std::size_t{words.count} * others.count},
                                      others.count, more, new_scores.span(), new_ids.span());
    const std::size_t begin = std::size_t{words.first} * top_, size = std::size_t{words.count} * top_;
    QUERN_LAUNCH(*place_, (cuda::launch_shape{cuda::blocks_for(joined_ids.size(), 256), 256}),
                 join_lists_kernel, best_scores_.data() + begin, best_ids_.data() + begin, top_,
                 new_scores.data(), new_ids.data(), more, others.first, words.count, joined_scores.data(),
                 joined_ids.data());
    // Equal scores: the current entries of a list come first, and have the lower ids.
    primitives::batched_top_k<double>(*place_, joined_scores.span(), length, top_,
                                      best_scores_.span().subspan(begin, size),
                                      best_ids_.span().subspan(begin, size));
    QUERN_LAUNCH(*place_, (cuda::launch_shape{cuda::blocks_for(size, 256), 256}), gather_ids_kernel,
                 joined_ids.data(), length, top_, words.count, best_ids_.data() + begin);
}

neighbour_lists result_tiles::lists() {
    neighbour_lists all;
    all.offsets.push_back(0);
    append_positive(*place_, best_scores_.span(), best_ids_.span(), top_, all);
    return all;
}

}  // namespace quern::word_similarity_detail
