// SPDX-License-Identifier: Apache-2.0
// Every score: rows of them in turn, some at once; and the scores of chosen pairs. Both on the CPU whatever the place:
// what they cost beyond the caller's own handling of the scores is little, and the bits are the same.
#include <algorithm>
#include <span>
#include <vector>

#include "device/place.hpp"
#include "ops/word_similarity/door.hpp"
#include "ops/word_similarity/inverted_rows.hpp"
#include "ops/word_similarity/terms.hpp"

namespace quern {

using namespace word_similarity_detail;

void all_similarities(const context_matrix_view& matrix, const similarity_options& options,
                      const context& run,
                      const std::function<void(std::uint32_t, std::span<const double>)>& row) {
    check(options);
    (void)choose_device(run, "word similarity");  // CUDA asked for and absent is an error here too
    cpu_place place(run);
    const owned_rows owned = kept_rows(place, matrix, options);
    const fixed_rows& rows = owned.rows;
    with_terms(place, rows, options.measure, [&](const auto& terms) {
        const inverted_rows columns(place, rows, terms.values());
        const std::size_t words = rows.words, at_once = std::min<std::size_t>(words, 4 * place.threads());
        const cpu_array<std::uint64_t> sums(place, at_once * words, "sums of similarities");
        const cpu_array<double> scores(place, at_once * words, "rows of similarities");
        for (std::size_t begin = 0; begin < words; begin += at_once) {
            const std::size_t count = std::min(at_once, words - begin);
            for_each_piece(place, count, [&](std::size_t p) {
                place.run().check_stop();
                const std::size_t a = begin + p;
                const auto shared = sums.span().subspan(p * words, words);
                std::fill(shared.begin(), shared.end(), 0);
                add_shared(rows, columns, terms, a, shared);
                for (std::size_t b = 0; b < words; ++b)
                    scores.data()[p * words + b] = shared[b] == 0 ? 0
                                                   : b == a       ? 1
                                                                  : terms.score(shared[b], a, b);
            });
            for (std::size_t p = 0; p < count; ++p)
                row(static_cast<std::uint32_t>(begin + p), scores.span().subspan(p * words, words));
        }
    });
}

std::vector<double> pair_similarities(const context_matrix_view& matrix, const similarity_options& options,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs) {
    check(options);
    for (const auto& [a, b] : pairs)
        if (a >= matrix.words || b >= matrix.words) throw usage_error("a pair names a word beyond the last");
    cpu_place place(context::cpu());
    const owned_rows owned = kept_rows(place, matrix, options);
    const fixed_rows& rows = owned.rows;
    return with_terms(place, rows, options.measure, [&](const auto& terms) {
        std::vector<double> scores(pairs.size());
        const std::size_t pieces = pieces_for(place, pairs.size(), 64, 8);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const stretch part = piece_of(pairs.size(), pieces, p);
            for (std::size_t i = part.begin; i < part.end; ++i) {
                const auto [a, b] = pairs[i];
                const std::uint64_t shared = merge_rows(rows, terms, a, b);
                scores[i] = shared == 0 ? 0 : a == b ? 1 : terms.score(shared, a, b);
            }
        });
        return scores;
    });
}

}  // namespace quern
