// SPDX-License-Identifier: Apache-2.0
// The n-grams of a collection in pieces that fit in memory, next to those of one order.
#include "ops/ngram_likelihood/order/counted_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ngram_texts.hpp"
#include "ops/ngram_likelihood/order/ngram_numbers.hpp"
#include "temporary_folder.hpp"

namespace quern::counted_pieces_test {
namespace {

using ngram_detail::ngram_number, ngram_detail::number_fields, ngram_detail::sort_numbers;

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
    // A number of one word takes 8 bytes, so all may fit.
    EXPECT_GT(found.record.pieces, options.order == 1 ? 0U : 1U) << kib << " KiB, order " << options.order;
    EXPECT_EQ(found.record.bytes_spilled, 0U);
    EXPECT_EQ(found.record.totals, expected.record.totals) << kib << " KiB, order " << options.order;
    ASSERT_EQ(found.ngrams, expected.ngrams) << kib << " KiB, order " << options.order;
}

TEST(counted_pieces, are_those_of_one_order) {
    for (const text_kind kind : {text_kind::uniform, text_kind::skewed, text_kind::copied}) {
        for (const std::uint32_t vocabulary : {40U, 3000U}) {
            const ngram_texts texts = make_texts(kind, 500, 400, vocabulary, true, 8);
            for (const unsigned order : {1U, 2U, 3U, 5U, 8U, 14U})
                expect_pieces(texts, {.order = order, .history_counts = true}, 700, order % 3 + 1);
            expect_pieces(texts, {.order = 4, .only = true, .min_count = 3, .history_counts = true}, 700, 3);
            expect_pieces(texts, {.order = 3, .min_count = 2, .history_counts = true}, 700, 2);
        }
    }
}

TEST(counted_pieces, a_frequent_word_is_cut_between_the_second_words) {
    std::mt19937_64 random(3);
    std::vector<word_list> documents(16'000);
    for (word_list& document : documents) {
        for (std::uint64_t words = random() % 16; words != 0; --words)
            document.push_back(random() % 2 == 0 ? 7 : static_cast<std::uint32_t>(random() % 1000));
    }
    const ngram_texts texts(documents, 1000);
    for (const std::uint64_t min_count : {1U, 2U, 40U})
        for (const unsigned order : {2U, 5U})
            expect_pieces(texts, {.order = order, .min_count = min_count, .history_counts = true}, 700, 2);
}

TEST(counted_pieces, words_alone_are_only_counted) {
    // A piece holds some 20,000 positions, and 70,000 sentences end with the same word.
    std::mt19937_64 random(4);
    const auto drawn = [&] { return static_cast<std::uint32_t>(random() % 1000); };
    std::vector<word_list> sentences(70'000);
    for (word_list& sentence : sentences) sentence = {1001, drawn(), drawn(), 1000};
    const ngram_texts texts(sentences, 1002);
    for (const std::uint64_t min_count : {1U, 2U})
        for (const unsigned order : {1U, 2U, 4U})
            for (const unsigned threads : {1U, 3U})
                expect_pieces(texts, {.order = order, .min_count = min_count, .history_counts = true}, 700,
                              threads);
}

/// By pieces, although all fit at once.
void expect_pieces_in_memory(const ngram_texts& texts, const ngram_options& options, unsigned threads) {
    const collected expected = count(texts.view(), options, context::cpu(1));
    collected found;
    cpu_place place{context::cpu(threads)};
    ASSERT_TRUE(ngram_detail::count_by_pieces(
        place, texts.view(), options,
        [&](const collection_ngrams& block) {
            for (std::size_t i = 0; i < block.counts.size(); ++i)
                found.ngrams[block.n].emplace_back(block.positions[i], block.counts[i],
                                                   block.history_counts[i]);
        },
        found.record));
    ASSERT_EQ(found.ngrams, expected.ngrams) << "order " << options.order;
    for (std::size_t t = 0; t < expected.record.totals.size(); ++t)
        EXPECT_EQ(found.record.totals[t].distinct, expected.record.totals[t].distinct);
}

TEST(counted_pieces, few_different_words) {
    std::mt19937_64 random(5);
    for (const std::uint32_t vocabulary : {0U, 1U, 2U}) {
        std::vector<word_list> documents(300);
        for (word_list& document : documents)
            for (std::uint64_t words = random() % 200; words != 0; --words)
                document.push_back(static_cast<std::uint32_t>(random() % (vocabulary + 1)));
        const ngram_texts texts(documents, vocabulary);
        for (const unsigned order : {1U, 2U, 5U})
            for (const unsigned threads : {1U, 3U})
                expect_pieces_in_memory(texts, {.order = order, .history_counts = true}, threads);
    }
    const ngram_texts without_words(std::vector<word_list>(3), 0);
    expect_pieces_in_memory(without_words, {.order = 2, .history_counts = true}, 2);
}

TEST(counted_pieces, all_threads_sort_a_pair_that_is_frequent) {
    std::mt19937_64 random(6);
    std::vector<word_list> documents(1);
    for (int i = 0; i < 140'000; ++i) {
        for (const std::uint32_t word : {7U, 8U, static_cast<std::uint32_t>(random() % 3000)})
            documents.back().push_back(word);
        if (random() % 20 == 0) documents.emplace_back();
    }
    const ngram_texts texts(documents, 3000);
    for (const unsigned order : {2U, 4U})
        expect_pieces_in_memory(texts, {.order = order, .min_count = 2, .history_counts = true}, 3);
}

TEST(counted_pieces, too_many_of_the_same_two_words_are_sorted_on_disk) {
    const quern::testing::temporary_folder folder;
    const ngram_texts texts = make_texts(text_kind::one_word, 500, 400, 3000, false, 8);
    const ngram_options options{.order = 4, .history_counts = true};
    const collected expected = count(texts.view(), options, context::cpu(1));
    context ctx = context::cpu(2);
    ctx.memory_bytes = std::uint64_t{1200} << 10;
    ctx.scratch = folder.path();
    const collected found = count(texts.view(), options, ctx);
    EXPECT_GT(found.record.bytes_spilled, 0U);
    EXPECT_EQ(found.record.pieces, 1U);
    EXPECT_EQ(found.record.totals, expected.record.totals);
    EXPECT_EQ(found.ngrams, expected.ngrams);
}

TEST(counted_pieces, every_budget_is_kept) {
    // A sort in memory that needed more than it was thought to take ended with out_of_memory.
    const quern::testing::temporary_folder folder;
    const ngram_texts texts = make_texts(text_kind::skewed, 460, 320, 900, true, 4);
    const ngram_options options{.order = 3};
    const ngram_result expected = ngram_likelihood(texts.view(), options, context::cpu(3));
    for (std::uint64_t kib = 5000; kib <= 9200; kib += 350) {
        context ctx = context::cpu(3);
        ctx.memory_bytes = kib << 10;
        ctx.scratch = folder.path();
        const ngram_result found = ngram_likelihood(texts.view(), options, ctx);
        EXPECT_EQ(found.record.totals, expected.record.totals) << kib << " KiB";
        EXPECT_EQ(count_collection_ngrams(texts.view(), options, ctx, [](const collection_ngrams&) {})
                      .totals.front()
                      .distinct,
                  expected.record.totals.front().distinct);
    }
}

template <unsigned Parts>
void expect_sorted() {
    std::mt19937_64 random(Parts);
    for (const std::size_t size : {0U, 1U, 24U, 25U, 300U, 70'000U}) {
        for (const unsigned varying :
             {1U, 3U, 40U, 64U * Parts}) {  // words of few letters share their upper bits
            std::vector<ngram_number<Parts>> numbers(size);
            for (std::size_t i = 0; i < size; ++i) {
                for (unsigned bit = 0; bit < varying; ++bit) numbers[i].append(1, random() % 2);
                numbers[i].append(17, i);
            }
            std::ranges::shuffle(numbers, random);
            auto expected = numbers;
            std::ranges::sort(expected, [](const auto& a, const auto& b) { return a.parts < b.parts; });
            auto in_parts = numbers;
            cpu_place place{context::cpu(3)};
            const std::size_t cut = size / 3;
            ngram_detail::sort_ranges(place, std::span(in_parts), {{0, cut}, {cut, size}}, 1000);
            sort_numbers(std::span(numbers), context::cpu(1));
            for (std::size_t i = 0; i < size; ++i)
                ASSERT_EQ(numbers[i].parts, expected[i].parts) << size << " " << varying;
            const auto less = [](const auto& a, const auto& b) { return a.parts < b.parts; };
            ASSERT_TRUE(std::is_sorted(in_parts.begin(), in_parts.begin() + cut, less));
            ASSERT_TRUE(std::is_sorted(in_parts.begin() + cut, in_parts.end(), less));
            std::ranges::sort(in_parts, less);
            for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(in_parts[i].parts, expected[i].parts);
        }
    }
}
TEST(ngram_numbers, are_sorted) {
    expect_sorted<1>();
    expect_sorted<2>();
    expect_sorted<3>();
    expect_sorted<4>();
}

template <unsigned Parts>
void expect_fields(std::uint32_t vocabulary, unsigned order, std::uint64_t words) {
    const number_fields fields(vocabulary, order, words);
    ASSERT_EQ(fields.parts(), Parts);
    std::mt19937_64 random(order);
    const std::uint32_t ids[] = {0, vocabulary / 2, vocabulary};
    const auto drawn = [&] {
        std::vector<std::uint32_t> of(random() % order + 1);
        for (std::uint32_t& word : of) word = ids[random() % 8 == 0 ? random() % 3 : 0];
        return of;
    };
    for (int i = 0; i < 2000; ++i) {
        const std::vector<std::uint32_t> a = drawn(), b = drawn();
        const std::uint64_t at = random() % words;
        const auto of_a = fields.number<Parts>(a.data(), a.size(), at),
                   of_b = fields.number<Parts>(b.data(), b.size(), words - 1);
        ASSERT_EQ(fields.position(of_a), at);
        ASSERT_EQ(fields.words_left(of_a), a.size());
        ASSERT_EQ(fields.shared(of_a, of_b), std::ranges::mismatch(a, b).in1 - a.begin());
        ASSERT_EQ(of_a < of_b, a < b || (a == b && at < words - 1));
    }
}
TEST(ngram_numbers, have_the_words_and_the_position) {
    expect_fields<1>(1, 1, 1);
    expect_fields<1>(200'000, 2, std::uint64_t{1} << 27);
    expect_fields<2>(500'000, 5, std::uint64_t{1} << 32);
    expect_fields<3>(10'000'000, 5, std::uint64_t{1} << 40);
    expect_fields<4>(0xfffffffeU, 7, std::uint64_t{1} << 30);
    expect_fields<3>(3, 32, std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace quern::counted_pieces_test
