// SPDX-License-Identifier: Apache-2.0
// The parts of the words task, each separately.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "tasks/words/document_matrix.hpp"
#include "tasks/words/number_stream.hpp"
#include "tasks/words/numbered_words.hpp"
#include "tasks/words/word_counts.hpp"
#include "temporary_folder.hpp"

namespace quern::word_parts_test {
namespace {

using ::testing::ElementsAre;

TEST(word_count_table, numbers_words_as_they_come_and_counts_them) {
    word_count_table counts;
    EXPECT_EQ(counts.add("b"), 0U);
    EXPECT_EQ(counts.add(""), 1U);
    EXPECT_EQ(counts.add("a", 5), 2U);
    EXPECT_EQ(counts.add("b", 2), 0U);
    EXPECT_EQ(counts.count(0), 3U);
    EXPECT_EQ(counts.word(1), "");
    for (int i = 0; i < 10000; ++i)
        EXPECT_EQ(counts.add("w" + std::to_string(i)), 3U + static_cast<unsigned>(i));
    for (int i = 0; i < 10000; ++i)
        EXPECT_EQ(counts.add("w" + std::to_string(i)), 3U + static_cast<unsigned>(i));
    EXPECT_EQ(counts.word(10002), "w9999");
    EXPECT_EQ(counts.size(), 10003U);

    word_count_table other;
    other.add("w7", 10);
    other.add("new");
    std::vector<std::uint32_t> numbers;
    counts.add(other, numbers);
    EXPECT_THAT(numbers, ElementsAre(10U, 10003U));
    EXPECT_EQ(counts.count(10), 12U);
    word_count_table empty;
    empty.add(other, numbers);
    EXPECT_THAT(numbers, ElementsAre(0U, 1U));
}

TEST(choose_words, takes_the_most_frequent_then_by_bytes) {
    word_count_table counts;
    for (const auto& [word, count] :
         {std::pair{"c", 3}, {"b", 3}, {"z", 9}, {"\xC3\xA4", 3}, {"a", 1}, {"d", 3}}) {
        counts.add(word, static_cast<std::uint64_t>(count));
    }
    cpu_place place{context::cpu(1)};
    const chosen_words all = choose_words(counts, 2, 100, place);
    EXPECT_THAT(all.words, ElementsAre("z", "b", "c", "d", "\xC3\xA4"));
    EXPECT_THAT(all.frequencies, ElementsAre(9, 3, 3, 3, 3));
    EXPECT_THAT(all.id_of.span(), ElementsAre(2U, 1U, 0U, 4U, unknown_word, 3U));
    const chosen_words three = choose_words(counts, 1, 3, place);
    EXPECT_THAT(three.words, ElementsAre("z", "b", "c"));
    EXPECT_THAT(three.id_of.span(), ElementsAre(2U, 1U, 0U, unknown_word, unknown_word, unknown_word));
    EXPECT_EQ(choose_words(counts, 10, 3, place).size(), 0U);
}

/// Many words occur in several parts of the input, and many are equally frequent.
std::string word_of(std::uint32_t range, std::uint32_t i) {
    return "word" + std::to_string((i * 31 + range * 7) % (50 + 40 * range));
}

TEST(numbered_words, are_chosen_alike_in_memory_and_from_disk) {
    const testing::temporary_folder folder;
    context ctx = context::cpu(2);
    ctx.scratch = folder.path();
    cpu_place place(ctx);
    constexpr std::uint32_t ranges = 40, words = 200;
    struct outcome {
        chosen_words chosen;
        std::vector<std::uint32_t> ids;  ///< of all occurrences
        std::uint64_t distinct, spilled_bytes;
    };
    const auto choose = [&](std::uint64_t memory, std::uint64_t min_count, std::uint32_t max) {
        scratch_folder scratch(ctx);
        numbered_words all(scratch, memory);
        std::vector<std::uint32_t> occurrences;
        for (std::uint32_t s = 0; s < ranges; ++s) {
            word_count_table counts;
            std::vector<std::uint32_t> here, numbers;
            for (std::uint32_t i = 0; i < words; ++i) here.push_back(counts.add(word_of(s, i)));
            all.add(counts, numbers);
            for (const std::uint32_t n : here) occurrences.push_back(numbers[n]);
        }
        outcome made{all.choose(min_count, max, place), {}, all.distinct(), all.spilled_bytes()};
        for (const std::uint32_t n : occurrences) made.ids.push_back(made.chosen.id_of.data()[n]);
        return made;
    };
    for (const auto& [min_count, max] :
         {std::pair<std::uint64_t, std::uint32_t>{1, 100'000}, {5, 100'000}, {1, 97}, {7, 1}, {100'000, 5}}) {
        const outcome expected = choose(std::uint64_t{1} << 30, min_count, max);
        EXPECT_EQ(expected.spilled_bytes, 0U);
        for (const std::uint64_t memory : {0, 20'000, 100'000}) {
            const outcome spilled = choose(memory, min_count, max);
            EXPECT_GT(spilled.spilled_bytes, 0U);
            EXPECT_EQ(spilled.chosen.words, expected.chosen.words);
            EXPECT_EQ(spilled.chosen.frequencies, expected.chosen.frequencies);
            EXPECT_EQ(spilled.ids, expected.ids);
            EXPECT_EQ(spilled.distinct, expected.distinct);
        }
    }
}

TEST(numbered_words, count_beyond_32_bits) {
    const testing::temporary_folder folder;
    context ctx = context::cpu(2);
    ctx.scratch = folder.path();
    cpu_place place(ctx);
    scratch_folder scratch(ctx);
    numbered_words all(scratch, std::uint64_t{1} << 30);
    std::vector<std::uint32_t> ids, numbers;
    constexpr std::uint64_t many = std::numeric_limits<std::uint32_t>::max() - 1;
    for (const std::uint64_t times : {many, std::uint64_t{0}, std::uint64_t{1}, many / 2}) {
        word_count_table counts;
        counts.add("rare");
        counts.add("often", times);
        all.add(counts, numbers);
        ids.insert(ids.end(), numbers.begin(), numbers.end());
    }
    const chosen_words chosen = all.choose(1, 10, place);
    EXPECT_GT(all.spilled_bytes(), 0U);
    EXPECT_EQ(all.distinct(), 2U);
    EXPECT_THAT(chosen.words, ElementsAre("often", "rare"));
    EXPECT_THAT(chosen.frequencies, ElementsAre(many + 1 + many / 2, 4U));
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(chosen.id_of.data()[ids[i]], i % 2 == 0 ? 1U : 0U);
}

TEST(number_stream, gives_back_what_came_in_memory_and_from_disk) {
    const testing::temporary_folder folder;
    context ctx;
    ctx.scratch = folder.path();
    for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 30}) {
        scratch_folder scratch(ctx);
        number_stream<std::uint32_t> stream(scratch, "numbers", memory);
        std::uint32_t next = 0;
        for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{3},
                                 std::size_t{2'000'000}, std::size_t{7}}) {
            std::vector<std::uint32_t> piece(size);
            std::iota(piece.begin(), piece.end(), next);
            next += static_cast<std::uint32_t>(size);
            stream.append(std::move(piece));
        }
        EXPECT_EQ(stream.size(), next);
        EXPECT_LE(stream.memory_bytes(), memory);
        EXPECT_EQ(stream.spilled_bytes() + stream.memory_bytes(), next * 4ULL);
        std::uint32_t expected = 0;
        stream.drain([&](std::span<const std::uint32_t> piece) {
            for (const std::uint32_t n : piece) ASSERT_EQ(n, expected++);
        });
        EXPECT_EQ(expected, next);
        EXPECT_EQ(stream.memory_bytes(), 0U);
    }
    ctx.scratch_bytes = 100;
    scratch_folder full(ctx);
    number_stream<std::uint32_t> stream(full, "numbers", 0);
    EXPECT_THROW(stream.append(std::vector<std::uint32_t>(26)), io_error);
}

TEST(document_matrix, weighs_by_log_and_entropy) {
    const testing::temporary_folder folder;
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    scratch_folder scratch(ctx);
    document_matrix documents(4, scratch, ctx);
    documents.add(std::vector<std::uint32_t>{1, 0, 1, unknown_word, 1, passage_end, 3});
    documents.add(std::vector<std::uint32_t>{});
    documents.add(std::vector<std::uint32_t>{3, 1, passage_end});
    documents.add(std::vector<std::uint32_t>{3, 3});
    EXPECT_EQ(documents.documents(), 4U);
    documents.finish();
    const context_matrix_view m = documents.view();
    EXPECT_THAT(m.offsets, ElementsAre(0, 1, 3, 3, 6));
    EXPECT_THAT(m.columns, ElementsAre(0U, 0U, 2U, 0U, 2U, 3U));
    EXPECT_THAT(m.column_counts, ElementsAre(5, 0, 2, 2));
    const double once = 1, uneven = 1 + (0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / std::log(4.0),
                 even = 1 + (0.5 * std::log(0.25) + 0.5 * std::log(0.5)) / std::log(4.0);
    const double expected[] = {std::log(2.0) * once, std::log(4.0) * uneven, std::log(2.0) * uneven,
                               std::log(2.0) * even, std::log(2.0) * even,   std::log(3.0) * even};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(static_cast<double>(m.weights[i]), expected[i], 1e-7);

    scratch_folder other(ctx);
    document_matrix everywhere(2, other, ctx);
    for (int d = 0; d < 3; ++d) everywhere.add(std::vector<std::uint32_t>{0, 1, 1});
    everywhere.finish();
    EXPECT_TRUE(everywhere.view().columns.empty());  // does not discriminate between documents
}

TEST(document_matrix, is_the_same_from_disk_and_for_any_threads) {
    const testing::temporary_folder folder;
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    constexpr std::uint32_t words = 500;
    const auto make = [&](scratch_folder& scratch, std::uint64_t memory, unsigned threads) {
        context within = ctx;
        within.memory_bytes = memory;
        within.threads = threads;
        auto made = std::make_unique<document_matrix>(words, scratch, within);
        for (std::uint32_t d = 0; d < 3000; ++d) {
            std::vector<std::uint32_t> text;
            for (std::uint32_t i = 0; i < 100; ++i) text.push_back((d * 17 + i * i * 3) % words);
            made->add(text);
        }
        made->finish();
        return made;
    };
    scratch_folder first(ctx);
    const auto expected = make(first, std::uint64_t{1} << 30, 1);
    EXPECT_EQ(expected->spilled_bytes(), 0U);
    const context_matrix_view a = expected->view();
    for (const unsigned threads : {1U, 2U, 3U, 8U, 16U}) {
        for (const std::uint64_t memory : {std::uint64_t{1} << 30, std::uint64_t{1} << 19}) {
            SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(memory) + " bytes");
            scratch_folder second(ctx);
            const auto made = make(second, memory, threads);
            EXPECT_EQ(made->spilled_bytes() > std::uint64_t{1} << 20, memory == std::uint64_t{1} << 19);
            const context_matrix_view b = made->view();
            EXPECT_TRUE(std::ranges::equal(a.offsets, b.offsets));
            EXPECT_TRUE(std::ranges::equal(a.columns, b.columns));
            EXPECT_TRUE(std::ranges::equal(a.weights, b.weights));
            EXPECT_TRUE(std::ranges::equal(a.column_counts, b.column_counts));
        }
    }
}

}  // namespace
}  // namespace quern::word_parts_test
