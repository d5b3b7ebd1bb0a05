// SPDX-License-Identifier: Apache-2.0
// Wang's (2015) method `compressed` (chapter 3.4.2): rows as sorted lists, merged pair by pair. The size of tiles is a
// number of bytes, not of words, limited so that the results of two tiles fit; each two tiles are compared once.
#include <algorithm>
#include <cmath>

#include "device/cuda/check.cuh"
#include "ops/word_similarity/papers/result_tiles_cuda.cuh"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr unsigned part = 2048;  // entries of a row in shared memory at a time, 16 KB

/// B blocks of T threads. A block takes words of the first tile in turn and holds a part of the row in shared memory; its
/// threads take the words of the second tile, and merge each of these rows with the part. A longer row is processed in
/// parts: a thread then finds its place in the other row by bisection, and adds to its earlier sum.
template <similarity_measure Measure>
__global__ void merge_rows_kernel(device_rows first, device_rows second, double scale, std::uint64_t* sums) {
    __shared__ std::uint32_t columns[part];
    __shared__ float weights[part];
    for (std::uint32_t a = blockIdx.x; a < first.count; a += gridDim.x) {
        const device_row row = row_of(first, a);
        std::uint64_t* const mine = sums + std::size_t{a} * second.count;
        // A tile with itself: the pairs above the diagonal.
        const std::uint32_t from = first.first == second.first ? a + 1 : 0;
        if (row.length == 0)
            for (std::uint32_t b = from + threadIdx.x; b < second.count; b += blockDim.x) mine[b] = 0;
        for (std::uint32_t begin = 0; begin < row.length; begin += part) {
            const std::uint32_t length = min(row.length - begin, part);
            __syncthreads();  // all are done with the previous part
            for (std::uint32_t i = threadIdx.x; i < length; i += blockDim.x) {
                columns[i] = row.columns[begin + i];
                weights[i] = row.weights[begin + i];
            }
            __syncthreads();
            for (std::uint32_t b = from + threadIdx.x; b < second.count; b += blockDim.x) {
                const device_row other = row_of(second, b);
                unsigned long long sum = begin == 0 ? 0 : mine[b];
                std::uint32_t i = 0,
                              j = begin == 0 ? 0 : find_column(other.columns, 0, other.length, columns[0]);
                while (i < length && j < other.length) {
                    const std::uint32_t column = columns[i], other_column = other.columns[j];
                    if (column == other_column)
                        sum += shared_term<Measure>(weights[i], other.weights[j], scale);
                    i += column <= other_column ? 1 : 0;
                    j += other_column <= column ? 1 : 0;
                }
                mine[b] = sum;
            }
        }
    }
}

}  // namespace

neighbour_lists find_compressed(cuda_place& place, const fixed_rows& rows,
                                const similarity_options& options) {
    if (rows.words < 2 || rows.columns.empty())
        return {std::vector<std::uint64_t>(std::size_t{rows.words} + 1), {}, {}, {}};
    const std::uint64_t tile_bytes = tile_bytes_for(place, options.tile_bytes);
    const std::uint32_t tile_words = std::min(rows.words, tile_words_for(tile_bytes));
    result_tiles results(place, rows, options, tile_words);
    row_groups tiles(place, rows,
                     cut_words(rows, {0, rows.words}, tile_words, std::max<std::uint64_t>(tile_bytes / 8, 1)),
                     place.memory().left() / 2);
    const bool is_lin = options.measure == similarity_measure::lin;
    const double scale = std::ldexp(1.0, is_lin ? rows.bits : rows.product_bits);
    const unsigned blocks = options.blocks != 0 ? options.blocks : place.multiprocessors() * 40;
    const unsigned threads = std::min(options.threads != 0 ? options.threads : 768, 1024u);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        for (std::size_t j = i; j < tiles.size(); ++j) {
            place.ctx().check_stop();
            const device_rows first = tiles.get(i, i), second = tiles.get(j, i);
            QUERN_LAUNCH(place, (cuda::launch_shape{blocks, threads}),
                         (is_lin ? merge_rows_kernel<similarity_measure::lin>
                                 : merge_rows_kernel<similarity_measure::cosine>),
                         first, second, scale, results.sums());
            results.keep(tiles.words(i), tiles.words(j));
            place.synchronise();  // to notice an interruption
        }
    }
    return results.lists();
}

}  // namespace quern::word_similarity_detail
