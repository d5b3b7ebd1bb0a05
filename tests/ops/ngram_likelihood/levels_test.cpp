// SPDX-License-Identifier: Apache-2.0
// The GPU's counting method, run on the CPU with the same code: against the CPU's own method, in one piece, in pieces, and
// with words that the host provides.
#include <gtest/gtest.h>

#include "ops/ngram_likelihood/levels/level_pieces.hpp"
#include "ops/ngram_likelihood/ngram_texts.hpp"

namespace quern::levels_test {
namespace {

using namespace ngram_detail;

ngram_result by_levels(const ngram_texts& texts, const ngram_options& options, std::uint64_t memory) {
    ngram_result result;
    for (unsigned n = options.only ? options.order : 1; n <= options.order; ++n)
        result.tables.emplace_back().n = n;
    const std::function<void(const ngram_rows&)> take = [&](const ngram_rows& rows) {
        result.tables[rows.n - result.tables.front().n].append(rows);
    };
    context ctx = context::cpu(2);
    ctx.memory_bytes = memory;
    cpu_place place(ctx);
    const ngram_collection collection = texts.view();
    level_pieces<cpu_place>(place, collection, collection.words.size(), options, take).run(result.record);
    return result;
}

void expect_as_automatic(const ngram_texts& texts, ngram_options options, std::uint64_t memory,
                         std::uint64_t min_pieces) {
    options.history_counts = true;
    const ngram_result expected = ngram_likelihood(texts.view(), options, context::cpu(2));
    const ngram_result found = by_levels(texts, options, memory);
    EXPECT_GE(found.record.pieces, min_pieces);
    ASSERT_EQ(found.record.totals, expected.record.totals);
    ASSERT_EQ(rows_of(found, texts, true), rows_of(expected, texts, true));
}

ngram_options requested(std::uint64_t number) {
    constexpr ngram_smoothing smoothings[] = {ngram_smoothing::jelinek_mercer, ngram_smoothing::absolute,
                                              ngram_smoothing::dirichlet};
    return {.order = static_cast<unsigned>(1 + number % 7),
            .only = number % 5 == 0,
            .measure = number % 4 == 3 ? ngram_measure::bm25 : ngram_measure::likelihood,
            .smoothing = smoothings[number % 3],
            .min_count = number % 3 == 1 ? std::uint64_t{3} : 1};
}

TEST(ngram_levels, one_piece) {
    std::uint64_t number = 0;
    for (const text_kind kind : every_text_kind) {
        for (const std::uint32_t vocabulary : {1u, 3u, 40u, 70'000u}) {
            for (const unsigned order : {1u, 2u, 3u, 5u, 12u}) {
                ngram_options options = requested(++number);
                options.order = order;
                expect_as_automatic(make_texts(kind, 30, 60, vocabulary, number % 2 == 0, number), options,
                                    std::uint64_t{1} << 30, 1);
            }
        }
    }
}

TEST(ngram_levels, pieces_of_first_words_next_to_all_words) {
    for (std::uint64_t number = 0; number < 12; ++number) {
        const auto texts = make_texts(text_kind::uniform, 300, 300, 500, number % 2 == 0, number);
        expect_as_automatic(texts, requested(number), std::uint64_t{2500} << 10, 2);
    }
}

TEST(ngram_levels, pieces_that_the_host_brings) {
    for (std::uint64_t number = 0; number < 12; ++number) {
        const auto texts = make_texts(text_kind::uniform, 300, 300, 500, number % 2 == 0, number);
        expect_as_automatic(texts, requested(number), std::uint64_t{900} << 10, 4);
    }
}

TEST(ngram_levels, a_word_beyond_memory_is_said) {
    const auto texts = make_texts(text_kind::one_word, 300, 300, 1, false, 4);
    EXPECT_THROW(by_levels(texts, {.order = 2}, std::uint64_t{900} << 10), out_of_memory);
}

}  // namespace
}  // namespace quern::levels_test
