// SPDX-License-Identifier: Apache-2.0
// The parts that the task of words is made of, each alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "quern/base/error.hpp"
#include "tasks/words/document_matrix.hpp"
#include "tasks/words/number_stream.hpp"
#include "tasks/words/vocabulary.hpp"
#include "tasks/words/word_tally.hpp"
#include "temporary_folder.hpp"

namespace quern {
namespace {

using ::testing::ElementsAre;

TEST(word_tally, numbers_words_as_they_come_and_counts_them) {
    word_tally tally;
    EXPECT_EQ(tally.add("b"), 0U);
    EXPECT_EQ(tally.add(""), 1U);
    EXPECT_EQ(tally.add("a", 5), 2U);
    EXPECT_EQ(tally.add("b", 2), 0U);
    EXPECT_EQ(tally.count(0), 3U);
    EXPECT_EQ(tally.word(1), "");
    for (int i = 0; i < 10000; ++i)
        EXPECT_EQ(tally.add("w" + std::to_string(i)), 3U + static_cast<unsigned>(i));
    for (int i = 0; i < 10000; ++i)
        EXPECT_EQ(tally.add("w" + std::to_string(i)), 3U + static_cast<unsigned>(i));
    EXPECT_EQ(tally.word(10002), "w9999");
    EXPECT_EQ(tally.size(), 10003U);

    word_tally other;
    other.add("w7", 10);
    other.add("new");
    std::vector<std::uint32_t> numbers;
    tally.add(other, numbers);
    EXPECT_THAT(numbers, ElementsAre(10U, 10003U));
    EXPECT_EQ(tally.count(10), 12U);
    word_tally empty;
    empty.add(other, numbers);
    EXPECT_THAT(numbers, ElementsAre(0U, 1U));
}

TEST(choose_words, takes_the_most_frequent_then_by_bytes) {
    word_tally tally;
    for (const auto& [word, count] :
         {std::pair{"c", 3}, {"b", 3}, {"z", 9}, {"\xC3\xA4", 3}, {"a", 1}, {"d", 3}}) {
        tally.add(word, static_cast<std::uint64_t>(count));
    }
    const chosen_words all = choose_words(tally, 2, 100);
    EXPECT_THAT(all.words, ElementsAre("z", "b", "c", "d", "\xC3\xA4"));
    EXPECT_THAT(all.frequencies, ElementsAre(9, 3, 3, 3, 3));
    EXPECT_THAT(all.id_of, ElementsAre(2U, 1U, 0U, 4U, unknown_word, 3U));
    const chosen_words three = choose_words(tally, 1, 3);
    EXPECT_THAT(three.words, ElementsAre("z", "b", "c"));
    EXPECT_THAT(three.id_of, ElementsAre(2U, 1U, 0U, unknown_word, unknown_word, unknown_word));
    EXPECT_EQ(choose_words(tally, 10, 3).size(), 0U);
}

TEST(number_stream, gives_back_what_came_in_memory_and_from_disk) {
    const testing::temporary_folder folder;
    context run;
    run.scratch = folder.path();
    for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 30}) {
        scratch_folder scratch(run);
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
    run.scratch_bytes = 100;
    scratch_folder full(run);
    number_stream<std::uint32_t> stream(full, "numbers", 0);
    EXPECT_THROW(stream.append(std::vector<std::uint32_t>(26)), io_error);
}

TEST(document_matrix, weighs_by_log_and_entropy) {
    document_matrix documents(4, 1 << 20);
    documents.add(std::vector<std::uint32_t>{1, 0, 1, unknown_word, 1, passage_end, 3});
    documents.add(std::vector<std::uint32_t>{});
    documents.add(std::vector<std::uint32_t>{3, 1, passage_end});
    documents.add(std::vector<std::uint32_t>{3, 3});
    EXPECT_EQ(documents.documents(), 4U);
    const context_matrix m = documents.finish();
    EXPECT_THAT(m.offsets, ElementsAre(0, 1, 3, 3, 6));
    EXPECT_THAT(m.columns, ElementsAre(0U, 0U, 2U, 0U, 2U, 3U));
    EXPECT_THAT(m.column_counts, ElementsAre(5, 0, 2, 2));
    const double once = 1, uneven = 1 + (0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / std::log(4.0),
                 even = 1 + (0.5 * std::log(0.25) + 0.5 * std::log(0.5)) / std::log(4.0);
    const double expected[] = {std::log(2.0) * once, std::log(4.0) * uneven, std::log(2.0) * uneven,
                               std::log(2.0) * even, std::log(2.0) * even,   std::log(3.0) * even};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(static_cast<double>(m.weights[i]), expected[i], 1e-7);

    document_matrix everywhere(2, 1 << 20);
    for (int d = 0; d < 3; ++d) everywhere.add(std::vector<std::uint32_t>{0, 1, 1});
    EXPECT_TRUE(everywhere.finish().columns.empty());  // says nothing of any document

    document_matrix small(1000, 1000);
    std::vector<std::uint32_t> long_one(500);
    std::iota(long_one.begin(), long_one.end(), 0U);
    EXPECT_THROW(small.add(long_one), out_of_memory);
}

}  // namespace
}  // namespace quern
