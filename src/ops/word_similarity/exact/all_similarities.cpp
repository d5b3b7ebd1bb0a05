// SPDX-License-Identifier: Apache-2.0
// Every score, in batches of rows; and the scores of chosen pairs. Both run on the CPU for any place: they cost little
// compared with the caller's own handling of the scores, and the bits are the same.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "device/place.hpp"
#include "ops/word_similarity/exact/further_terms.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"

namespace quern {

using namespace word_similarity_detail;

namespace {

/// The scores of pairs. If a word is in several consecutive pairs, its row is laid out by column once, and each other row
/// costs only its own entries, for any length of the word's row. A single pair is merged.
template <class Terms>
class pair_scorer {
  public:
    using value = typename Terms::value;
    using sum = typename Terms::sum;

    pair_scorer(cpu_place& place, const fixed_rows& rows, const Terms& terms)
        : rows_(rows), terms_(terms), laid_out_([&place, columns = rows.column_count] {
              cpu_array<value> row(place, columns, "a row by column");
              std::fill_n(row.data(), columns, value{});
              return row;
          }) {}

    /// Scores pairs with one first word.
    void score(std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs, double* scores) {
        const std::size_t word = pairs.front().first;
        if (pairs.size() == 1) {
            scores[0] = score_of(merge_rows(rows_, terms_, word, pairs[0].second), word, pairs[0].second);
            return;
        }
        value* const row = laid_out_.local().data();
        const value* const values = terms_.values().data();
        const std::uint32_t* const columns = rows_.columns.data();
        const std::uint64_t begin = rows_.offsets[word], end = rows_.offsets[word + 1];
        for (std::uint64_t i = begin; i < end; ++i) row[columns[i]] = values[i];
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            const std::size_t other = pairs[k].second;
            sum shared{};
            for (std::uint64_t i = rows_.offsets[other]; i < rows_.offsets[other + 1]; ++i) {
                const value left = row[columns[i]];
                const sum term = terms_.term(left, values[i]);
                shared += left != value{} ? term : sum{};
            }
            scores[k] = score_of(shared, word, other);
        }
        for (std::uint64_t i = begin; i < end; ++i) row[columns[i]] = value{};
    }

  private:
    double score_of(const sum& shared, std::size_t a, std::size_t b) const {
        return shared == sum{} ? 0 : a == b ? 1 : terms_.score(shared, a, b);
    }

    const fixed_rows& rows_;
    const Terms& terms_;
    tbb::enumerable_thread_specific<cpu_array<value>> laid_out_;
};

}  // namespace

void all_similarities(const context_matrix_view& matrix, const similarity_options& options,
                      const context& ctx,
                      const std::function<void(std::uint32_t, std::span<const double>)>& row) {
    validate(options);
    (void)choose_device(ctx, "word similarity");  // an unavailable requested CUDA is an error here too
    cpu_place place(ctx);
    const owned_rows owned = kept_rows(place, matrix, options);
    const fixed_rows& rows = owned.rows;
    with_all_terms(place, rows, options.measure, [&](const auto& terms) {
        using sum = typename std::remove_cvref_t<decltype(terms)>::sum;
        const inverted_rows columns(place, rows, terms.values());
        const std::size_t words = rows.words, at_once = std::min<std::size_t>(words, 4 * place.threads());
        const cpu_array<sum> sums(place, at_once * words, "sums of similarities");
        const cpu_array<double> scores(place, at_once * words, "rows of similarities");
        for (std::size_t begin = 0; begin < words; begin += at_once) {
            const std::size_t count = std::min(at_once, words - begin);
            for_each_piece(place, count, [&](std::size_t p) {
                place.ctx().check_stop();
                const std::size_t a = begin + p;
                const auto shared = sums.span().subspan(p * words, words);
                std::fill(shared.begin(), shared.end(), sum{});
                add_shared(place.ctx(), rows, columns, terms, a, shared);
                for (std::size_t b = 0; b < words; ++b)
                    scores.data()[p * words + b] = shared[b] == sum{} ? 0
                                                   : b == a           ? 1
                                                                      : terms.score(shared[b], a, b);
            });
            for (std::size_t p = 0; p < count; ++p)
                row(static_cast<std::uint32_t>(begin + p), scores.span().subspan(p * words, words));
        }
    });
}

std::vector<double> pair_similarities(const context_matrix_view& matrix, const similarity_options& options,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                                      const context& ctx) {
    validate(options);
    for (const auto& [a, b] : pairs)
        if (a >= matrix.words || b >= matrix.words) throw usage_error("a pair has a word past the last");
    ctx.check_stop();
    cpu_place place(ctx);
    const owned_rows owned = kept_rows(place, matrix, options);
    const fixed_rows& rows = owned.rows;
    return with_all_terms(place, rows, options.measure, [&](const auto& terms) {
        constexpr std::size_t pairs_at_once = 512;
        pair_scorer scorer(place, rows, terms);
        std::vector<double> scores(pairs.size());
        for_each_piece(place, (pairs.size() + pairs_at_once - 1) / pairs_at_once, [&](std::size_t p) {
            place.ctx().check_stop();
            const std::size_t last = std::min(pairs.size(), (p + 1) * pairs_at_once);
            for (std::size_t begin = p * pairs_at_once, end = begin; begin < last; begin = end) {
                while (end < last && pairs[end].first == pairs[begin].first) ++end;
                scorer.score(pairs.subspan(begin, end - begin), scores.data() + begin);
            }
        });
        return scores;
    });
}

}  // namespace quern
