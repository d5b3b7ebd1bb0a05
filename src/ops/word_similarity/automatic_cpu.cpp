// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <vector>

#include "ops/word_similarity/best_words.hpp"
#include "ops/word_similarity/inverted_rows.hpp"
#include "ops/word_similarity/methods.hpp"
#include "ops/word_similarity/terms.hpp"

namespace quern::word_similarity_detail {

neighbour_lists find_automatically(cpu_place& place, const fixed_rows& rows,
                                   const similarity_options& options) {
    return with_terms(place, rows, options.measure, [&](const auto& terms) {
        const inverted_rows columns(place, rows, terms.values());
        best_words best(place, rows.words, options.top);
        tbb::enumerable_thread_specific<std::vector<std::uint64_t>> sums;
        const std::size_t pieces = (rows.words + 15) / 16;
        for_each_piece(place, pieces, [&](std::size_t p) {
            place.run().check_stop();
            std::vector<std::uint64_t>& shared = sums.local();
            const stretch part = piece_of(rows.words, pieces, p);
            for (std::size_t a = part.begin; a < part.end; ++a) {
                shared.assign(rows.words, 0);
                add_shared(rows, columns, terms, a, shared);
                for (std::uint32_t b = 0; b < rows.words; ++b)
                    if (shared[b] != 0 && b != a)
                        best.offer(static_cast<std::uint32_t>(a), {terms.score(shared[b], a, b), b});
            }
        });
        return best.take(place);
    });
}

}  // namespace quern::word_similarity_detail
