// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU: by bounds (pair_search.hpp) or, for few words, by all sums.
#include <algorithm>

#include "ops/word_similarity/bounds/pair_search.hpp"
#include "ops/word_similarity/exact/row_by_row.hpp"
#include "ops/word_similarity/exact/terms.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

neighbour_lists find_automatically(cpu_place& place, const fixed_rows& rows,
                                   const similarity_options& options, const neighbour_sink* sink,
                                   const pair_share& share) {
    return with_terms(place, rows, options.measure, [&](const auto& terms) {
        // Sums of bounds have 31 bits where no row has more entries (docs/word_similarity.md).
        constexpr std::uint64_t longest_bounded = std::uint64_t{1} << 26;
        std::uint64_t longest = 0;
        for (std::uint32_t w = 0; w < rows.words; ++w)
            longest = std::max(longest, rows.offsets[w + 1] - rows.offsets[w]);
        if (rows.words / 8 <= options.top || longest > longest_bounded)
            return find_row_by_row(place, rows, terms, options.top, sink, share, {0, rows.words});
        return pair_search(place, rows, terms, options, share).find(sink);
    });
}

}  // namespace quern::word_similarity_detail
