// SPDX-License-Identifier: Apache-2.0
// The n-grams of a collection in pieces that fit in memory, next to those of one order.
#include "ops/ngram_likelihood/order/counted_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ngram_texts.hpp"
#include "temporary_folder.hpp"

namespace quern::counted_pieces_test {
namespace {

/// By n: position, count, that of the history.
using counted = std::map<unsigned, std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>>;

struct collected {
    counted ngrams;
    ngram_record record;
};

collected count(const ngram_collection& collection, const ngram_options& options, const context& ctx) {
    collected found;
    found.record = count_collection_ngrams(collection, options, ctx, [&](const collection_ngrams& block) {
        for (std::size_t i = 0; i < block.counts.size(); ++i)
            found.ngrams[block.n].emplace_back(block.positions[i], block.counts[i], block.history_counts[i]);
    });
    return found;
}

void expect_pieces(const ngram_texts& texts, const ngram_options& options, std::uint64_t kib,
                   unsigned threads) {
    const collected expected = count(texts.view(), options, context::cpu(2));
    ASSERT_EQ(expected.record.pieces, 1U);
    context ctx = context::cpu(threads);
    ctx.memory_bytes = kib << 10;
    const collected found = count(texts.view(), options, ctx);
    EXPECT_GT(found.record.pieces, 1U) << kib << " KiB";
    EXPECT_EQ(found.record.bytes_spilled, 0U);
    EXPECT_EQ(found.record.totals, expected.record.totals) << kib << " KiB";
    ASSERT_EQ(found.ngrams, expected.ngrams) << kib << " KiB, order " << options.order;
}

TEST(counted_pieces, are_those_of_one_order) {
    for (const text_kind kind : {text_kind::uniform, text_kind::skewed, text_kind::copied}) {
        for (const std::uint32_t vocabulary : {40U, 3000U, 4'000'000U}) {
            const ngram_texts texts = make_texts(kind, 250, 300, vocabulary, true, 8);
            for (const unsigned order : {1U, 2U, 3U, 7U})
                expect_pieces(texts, {.order = order, .history_counts = true}, order == 7 ? 900 : 700,
                              order % 3 + 1);
            expect_pieces(texts, {.order = 4, .only = true, .min_count = 3, .history_counts = true}, 700, 3);
            expect_pieces(texts, {.order = 3, .min_count = 2, .history_counts = true}, 700, 2);
        }
    }
}

TEST(counted_pieces, a_frequent_word_is_cut_between_the_second_words) {
    std::mt19937_64 random(3);
    std::vector<word_list> documents(4000);
    for (word_list& document : documents) {
        for (std::uint64_t words = random() % 16; words != 0; --words)
            document.push_back(random() % 3 == 0 ? 7 : static_cast<std::uint32_t>(random() % 1000));
    }
    const ngram_texts texts(documents, 1000);
    for (const std::uint64_t min_count : {1U, 2U, 40U})
        for (const unsigned order : {1U, 2U, 5U})
            expect_pieces(texts, {.order = order, .min_count = min_count, .history_counts = true}, 600, 2);
}

TEST(counted_pieces, too_many_of_the_same_two_words_are_sorted_on_disk) {
    const quern::testing::temporary_folder folder;
    const ngram_texts texts = make_texts(text_kind::one_word, 250, 300, 3000, false, 8);
    const ngram_options options{.order = 4, .history_counts = true};
    const collected expected = count(texts.view(), options, context::cpu(1));
    context ctx = context::cpu(2);
    ctx.memory_bytes = std::uint64_t{700} << 10;
    ctx.scratch = folder.path();
    const collected found = count(texts.view(), options, ctx);
    EXPECT_GT(found.record.bytes_spilled, 0U);
    EXPECT_EQ(found.record.totals, expected.record.totals);
    EXPECT_EQ(found.ngrams, expected.ngrams);
}

}  // namespace
}  // namespace quern::counted_pieces_test
