// SPDX-License-Identifier: Apache-2.0
// Wang's (2015) method `column-reduced` (chapter 3.4.1): the kept contexts as a dense matrix, tiles of a fixed number of
// words, and every two tiles like a matrix product, through shared memory.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "ops/word_similarity/papers/result_tiles_cuda.cuh"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr std::uint32_t thesis_tile_words = 4000;  // its tiles: 2,000 to 4,000 words

/// Rows as dense floats, 0 if absent; `dense` is zero before. One row per block.
__global__ void spread_rows_kernel(device_rows rows, std::uint32_t columns, float* dense) {
    const device_row row = row_of(rows, blockIdx.x);
    float* const to = dense + std::size_t{blockIdx.x} * columns;
    for (std::uint32_t i = threadIdx.x; i < row.length; i += blockDim.x) to[row.columns[i]] = row.weights[i];
}

/// One thread per pair, Side × Side pairs per block. Of both tiles, Side × Side weights at a time are in shared memory (in
/// fixed point for lin), 16 KB at Side = 32.
template <similarity_measure Measure, unsigned Side>
__global__ void __launch_bounds__(Side* Side)
    multiply_tiles_kernel(const float* first, std::uint32_t first_count, const float* second,
                          std::uint32_t second_count, std::uint32_t columns, double scale,
                          std::uint64_t* sums) {
    using item = std::conditional_t<Measure == similarity_measure::lin, unsigned long long, double>;
    __shared__ item a[Side][Side + 1], b[Side][Side + 1];
    const auto prepared = [&](float weight) -> item {
        if constexpr (Measure == similarity_measure::lin)
            return weight > 0 ? to_fixed_point(static_cast<double>(weight) * scale) : 0;
        else
            return static_cast<double>(weight);
    };
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const std::uint32_t loaded_a = blockIdx.y * Side + ty, loaded_b = blockIdx.x * Side + ty;
    unsigned long long sum = 0;
    for (std::uint32_t c = 0; c < columns; c += Side) {
        const bool inside = c + tx < columns;
        a[ty][tx] =
            inside && loaded_a < first_count ? prepared(first[std::size_t{loaded_a} * columns + c + tx]) : 0;
        b[ty][tx] = inside && loaded_b < second_count
                        ? prepared(second[std::size_t{loaded_b} * columns + c + tx])
                        : 0;
        __syncthreads();
        for (unsigned k = 0; k < Side; ++k) {
            const item x = a[ty][k], y = b[tx][k];
            if (x > 0 && y > 0) {
                if constexpr (Measure == similarity_measure::lin)
                    sum += x + y;
                else
                    sum += to_fixed_point(x * y * scale);
            }
        }
        __syncthreads();
    }
    const std::uint32_t row = blockIdx.y * Side + ty, column = blockIdx.x * Side + tx;
    if (row < first_count && column < second_count) sums[std::size_t{row} * second_count + column] = sum;
}

template <similarity_measure Measure, unsigned Side>
void multiply_tiles(cuda_place& place, const float* first, std::uint32_t first_count, const float* second,
                    std::uint32_t second_count, std::uint32_t columns, double scale, std::uint64_t* sums) {
    const dim3 grid(cuda::blocks_for(second_count, Side), cuda::blocks_for(first_count, Side));
    QUERN_LAUNCH(place, (cuda::launch_shape{grid, dim3(Side, Side)}), (multiply_tiles_kernel<Measure, Side>),
                 first, first_count, second, second_count, columns, scale, sums);
}

template <similarity_measure Measure>
auto multiply_for(unsigned threads) {
    if (threads == 0 || threads >= 32 * 32) return multiply_tiles<Measure, 32>;
    return threads >= 16 * 16 ? multiply_tiles<Measure, 16> : multiply_tiles<Measure, 8>;
}

cuda_array<float> spread_rows(cuda_place& place, const device_rows& rows, std::uint32_t columns) {
    cuda_array<float> dense(place, std::size_t{rows.count} * columns, "a tile of the dense matrix");
    place.fill_bytes(dense.data(), 0, dense.span().size_bytes());
    QUERN_LAUNCH(place, (cuda::launch_shape{rows.count, 256}), spread_rows_kernel, rows, columns,
                 dense.data());
    return dense;
}

}  // namespace

neighbour_lists find_column_reduced(cuda_place& place, const fixed_rows& rows,
                                    const similarity_options& options) {
    if (rows.words < 2 || rows.columns.empty())
        return {std::vector<std::uint64_t>(std::size_t{rows.words} + 1), {}, {}, {}};
    const std::uint32_t columns = rows.column_count;
    const std::uint64_t dense_words = place.memory().left() / 8 / (std::uint64_t{columns} * sizeof(float));
    const auto tile_words = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(dense_words, 1,
                                  std::min({rows.words, thesis_tile_words,
                                            tile_words_for(tile_bytes_for(place, options.tile_bytes))})));
    result_tiles results(place, rows, options, tile_words);
    row_groups tiles(place, rows, cut_words(rows, {0, rows.words}, tile_words, rows.columns.size()),
                     place.memory().left() / 4);
    const bool is_lin = options.measure == similarity_measure::lin;
    const double scale = std::ldexp(1.0, is_lin ? rows.bits : rows.product_bits);
    const auto multiply = is_lin ? multiply_for<similarity_measure::lin>(options.threads)
                                 : multiply_for<similarity_measure::cosine>(options.threads);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const device_rows first = tiles.get(i, i);
        const cuda_array<float> dense_first = spread_rows(place, first, columns);
        for (std::size_t j = i; j < tiles.size(); ++j) {
            place.ctx().check_stop();
            const device_rows second = tiles.get(j, i);
            cuda_array<float> dense_second;
            if (j != i) dense_second = spread_rows(place, second, columns);
            multiply(place, dense_first.data(), first.count,
                     j == i ? dense_first.data() : dense_second.data(), second.count, columns, scale,
                     results.sums());
            results.keep(tiles.words(i), tiles.words(j));
            place.synchronise();  // to notice an interruption
        }
    }
    return results.lists();
}

}  // namespace quern::word_similarity_detail
