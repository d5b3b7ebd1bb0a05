// SPDX-License-Identifier: Apache-2.0
// The measures that have no upper bounds: all pairs, row by row.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/word_similarity/exact/further_addends.hpp"
#include "ops/word_similarity/exact/further_terms.hpp"
#include "ops/word_similarity/exact/row_by_row.hpp"
#include "ops/word_similarity/similarity_methods.hpp"

namespace quern::word_similarity_detail {

std::vector<double> fixed_addends::units(cpu_place& /*place*/, const fixed_rows& rows) {
    std::vector<double> units(rows.words, std::ldexp(1.0, rows.bits));
    return units;
}

std::vector<double> distribution_addends::units(cpu_place& place, const fixed_rows& rows) {
    std::vector<double> units(rows.words);
    const std::size_t pieces = pieces_for(place, rows.words, 64);
    for_each_piece(place, pieces, [&](std::size_t piece) {
        const item_range part = piece_of(rows.words, pieces, piece);
        paced_checks checks(place.ctx(), neighbouring_values);
        for (std::size_t w = part.begin; w < part.end; ++w) {
            const std::uint64_t begin = rows.offsets[w], end = rows.offsets[w + 1];
            checks.after(end - begin);
            double total = 0;
            for (std::uint64_t i = begin; i < end; ++i) total += static_cast<double>(rows.weights[i]);
            units[w] = total;
        }
    });
    return units;
}

neighbour_lists find_by_further_measure(cpu_place& place, const fixed_rows& rows,
                                        const similarity_options& options, const neighbour_sink* sink) {
    return with_all_terms(place, rows, options.measure, [&](const auto& terms) {
        return find_row_by_row(place, rows, terms, options.top, sink, {}, {0, rows.words});
    });
}

}  // namespace quern::word_similarity_detail
