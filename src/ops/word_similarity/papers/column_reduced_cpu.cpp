// SPDX-License-Identifier: Apache-2.0
// Method `column-reduced` of Wang 2015 (algorithm ColReducedWordSimCPU) on the CPU: rows over the F kept columns as a
// dense matrix, every pair of words once, every column of every pair. Θ(N²/2 · F). Tiles of the dense matrix are laid out
// on demand, so that N × F values are never in memory at the same time.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <span>
#include <vector>

#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/papers/tile_pairs.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {
namespace {

/// Rows [words) as columns × words values, 0 if absent.
template <class Terms>
void spread(const fixed_rows& rows, const Terms& terms, item_range words,
            std::span<typename Terms::value> dense) {
    const std::size_t width = words.end - words.begin;
    std::fill_n(dense.begin(), rows.column_count * width, 0);
    for (std::size_t w = words.begin; w < words.end; ++w)
        for (std::uint64_t i = rows.offsets[w]; i < rows.offsets[w + 1]; ++i)
            dense[rows.columns[i] * width + (w - words.begin)] = terms.values()[i];
}

/// Words of a tile: two of them, dense, and their block of sums fit a core's second-level cache.
constexpr std::size_t tile_words = 32;

template <class Value>
struct dense_tiles {
    dense_tiles(cpu_place& place, std::size_t columns)
        : a(place, columns * tile_words, "a dense tile of rows"),
          b(place, columns * tile_words, "a dense tile of rows") {}
    cpu_array<Value> a, b;
    std::vector<std::uint64_t> shared;
};

}  // namespace

neighbour_lists find_column_reduced(cpu_place& place, const fixed_rows& rows,
                                    const similarity_options& options, const neighbour_sink* sink) {
    return with_terms(place, rows, options.measure, [&](const auto& terms) {
        using value = typename std::decay_t<decltype(terms)>::value;
        tbb::enumerable_thread_specific<dense_tiles<value>> dense(
            [&] { return dense_tiles<value>(place, rows.column_count); });
        const auto compute = [&](const tile_pair& tiles) {
            dense_tiles<value>& mine = dense.local();
            spread(rows, terms, tiles.a, mine.a.span());
            spread(rows, terms, tiles.b, mine.b.span());
            const std::size_t height = tiles.a.end - tiles.a.begin, width = tiles.b.end - tiles.b.begin;
            mine.shared.assign(height * width, 0);
            for (std::size_t column = 0; column < rows.column_count; ++column)
                for (std::size_t i = 0; i < height; ++i) {
                    const value left = mine.a.data()[column * height + i];
                    for (std::size_t j = 0; j < width; ++j) {
                        const value right = mine.b.data()[column * width + j];
                        const std::uint64_t term = terms.term(left, right);
                        mine.shared[i * width + j] += left != 0 && right != 0 ? term : 0;
                    }
                }
            for (std::size_t i = 0; i < height; ++i)
                for (std::size_t j = 0; j < width; ++j) {
                    const std::uint64_t shared = mine.shared[i * width + j];
                    tiles.scores[i * width + j] =
                        shared == 0 ? 0 : terms.score(shared, tiles.a.begin + i, tiles.b.begin + j);
                }
        };
        return best_of_tile_pairs(place, rows.words, options.top, tile_words, sink, compute);
    });
}

}  // namespace quern::word_similarity_detail
