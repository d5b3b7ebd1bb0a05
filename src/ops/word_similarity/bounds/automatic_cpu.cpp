// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU: by bounds (pair_search.hpp) or, for few words, by all sums.
#include <vector>

#include "ops/word_similarity/bounds/pair_search.hpp"
#include "ops/word_similarity/exact/row_by_row.hpp"
#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

bool is_bounded(const fixed_rows& rows, const similarity_options& options) {
    if (is_further_measure(options.measure) || rows.words / 8 <= options.top) return false;
    // Sums of bounds have 31 bits where no row has more entries (docs/word_similarity.md).
    constexpr std::uint64_t longest_bounded = std::uint64_t{1} << 26;
    for (std::uint32_t w = 0; w < rows.words; ++w)
        if (rows.offsets[w + 1] - rows.offsets[w] > longest_bounded) return false;
    return true;
}

neighbour_lists find_automatically(cpu_place& place, const fixed_rows& rows,
                                   const similarity_options& options, const neighbour_sink* sink) {
    return with_terms(place, rows, options.measure, [&](const auto& terms) {
        if (!is_bounded(rows, options))
            return find_row_by_row(place, rows, terms, options.top, sink, {}, {0, rows.words});
        const bound_rows bounds(place, rows, options.measure);
        const std::vector<bound_tile> tiles = cut_into_tiles(place, bounds, rows.column_count);
        return pair_search(place, rows, row_order::by_word, terms, options.top, bounds, tiles).find(sink);
    });
}

}  // namespace quern::word_similarity_detail
