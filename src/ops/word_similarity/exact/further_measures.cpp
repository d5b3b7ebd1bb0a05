// SPDX-License-Identifier: Apache-2.0
// The measures that have no upper bounds: all pairs, row by row.
#include "ops/word_similarity/exact/further_terms.hpp"
#include "ops/word_similarity/exact/row_by_row.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

neighbour_lists find_by_further_measure(cpu_place& place, const fixed_rows& rows,
                                        const similarity_options& options, const neighbour_sink* sink,
                                        const pair_share& share) {
    return with_all_terms(place, rows, options.measure, [&](const auto& terms) {
        return find_row_by_row(place, rows, terms, options.top, sink, share);
    });
}

}  // namespace quern::word_similarity_detail
