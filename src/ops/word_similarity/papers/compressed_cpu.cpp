// SPDX-License-Identifier: Apache-2.0
// Method `compressed` of Wang 2015 (algorithm CompressedWordSimCPU) on the CPU: each pair of words once, by a merge of
// their rows. Θ(N²/2 · mean row) comparisons; the baseline for `automatic`.
#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/papers/tile_pairs.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

neighbour_lists find_compressed(cpu_place& place, const fixed_rows& rows, const similarity_options& options,
                                const neighbour_sink* sink) {
    return with_terms(place, rows, options.measure, [&](const auto& terms) {
        const auto compute = [&](const tile_pair& tiles) {
            const std::size_t width = tiles.b.end - tiles.b.begin;
            for (std::size_t a = tiles.a.begin; a < tiles.a.end; ++a)
                for (std::size_t b = std::max(tiles.b.begin, tiles.a.begin == tiles.b.begin ? a + 1 : 0);
                     b < tiles.b.end; ++b) {
                    const std::uint64_t shared = merge_rows(rows, terms, a, b);
                    tiles.scores[(a - tiles.a.begin) * width + (b - tiles.b.begin)] =
                        shared == 0 ? 0 : terms.score(shared, a, b);
                }
        };
        return best_of_tile_pairs(place, rows.words, options.top, tile_words_within(options.tile_bytes), sink,
                                  compute);
    });
}

}  // namespace quern::word_similarity_detail
