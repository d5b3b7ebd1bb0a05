// SPDX-License-Identifier: Apache-2.0
// Words of the n-gram task beyond memory: their numbers replaced in a file, and lines of n-grams whose words are read there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/ngram_words.hpp"
#include "tasks/ngrams/total_lines.hpp"
#include "tasks/ngrams/word_numbers.hpp"
#include "temporary_folder.hpp"

namespace quern::word_tables_test {
namespace {

using ::testing::AllOf, ::testing::Ge, ::testing::Le;

context context_in(const std::filesystem::path& folder) {
    context ctx = context::cpu(3);
    ctx.scratch = folder;
    return ctx;
}

TEST(word_numbers, are_replaced_in_memory_and_in_the_file) {
    const quern::testing::temporary_folder folder;
    const context ctx = context_in(folder.path());
    cpu_place place(ctx);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 300'000; ++i) expected.push_back(7 * i + 1);
    constexpr std::uint64_t mib = 1 << 20;
    for (const std::uint64_t memory : {std::uint64_t{0}, mib / 2, 8 * mib}) {
        for (const std::uint64_t of_table : {std::uint64_t{0}, 8 * mib}) {
            scratch_folder scratch(ctx);
            table_share share(of_table);
            word_numbers numbers(scratch, "words", memory);
            for (std::uint32_t begin = 0, size = 1; begin < 300'000;
                 begin += size, size = size * 5 % 99'991) {
                std::vector<std::uint32_t> some;
                for (std::uint32_t i = begin; i < std::min(begin + size, 300'000U); ++i) some.push_back(i);
                numbers.append(std::move(some));
            }
            const auto words = numbers.take(place, share, [](std::span<std::uint32_t> part) {
                for (std::uint32_t& number : part) number = 7 * number + 1;
            });
            ASSERT_TRUE(std::ranges::equal(words.span(), expected)) << memory << " " << of_table;
            if (memory == 8 * mib)
                EXPECT_EQ(numbers.spilled_bytes(), 0U);
            else if (memory == 0 || of_table == 0)
                EXPECT_EQ(numbers.spilled_bytes(), 1'200'000U);
            else
                EXPECT_THAT(numbers.spilled_bytes(), AllOf(Ge(600'000U), Le(900'000U)));
            EXPECT_EQ(words.spilled_bytes(), of_table == 0 ? 1'200'000 : 0);
            EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}),
                      of_table == 0 ? 1 : 0);
        }
    }
}

TEST(word_numbers, of_no_words) {
    const quern::testing::temporary_folder folder;
    const context ctx = context_in(folder.path());
    cpu_place place(ctx);
    scratch_folder scratch(ctx);
    table_share share(0);
    EXPECT_EQ(word_numbers(scratch, "words", 0).take(place, share, [](std::span<std::uint32_t>) {}).size(),
              0U);
}

TEST(ngram_corpus, takes_no_more_memory_for_tables_than_what_was_read_leaves) {
    const quern::testing::temporary_folder folder;
    const auto file = folder.path() / "corpus.tsv";
    constexpr std::uint64_t documents = 120'000, mib = 1 << 20;
    {
        std::ofstream out(file);
        for (std::uint64_t i = 0; i < documents; ++i) out << i << "\ta b.\n";
    }
    ngrams_options options;
    options.inputs = {file};
    options.input_format = "tsv";
    options.sentences = true;
    for (const bool has_room : {false, true}) {
        context ctx = context_in(folder.path());
        // The places of words and ids take half of 4 MiB, the numbers of words a quarter.
        ctx.memory_bytes = (has_room ? 64 : 4) * mib;
        scratch_folder scratch(ctx);
        table_share share(2 * mib);
        const ngram_corpus corpus = read_ngram_corpus(options, {}, nullptr, scratch, share, ctx);
        EXPECT_EQ(corpus.sentences, documents);
        EXPECT_EQ(corpus.sentence_starts.spilled_bytes(), has_room ? 0 : 8 * (documents + 1));
        EXPECT_EQ(share.left() + share.taken(), 2 * mib);
    }
}

TEST(total_lines, of_more_ngrams_than_a_block_from_a_mapped_text) {
    const quern::testing::temporary_folder folder;
    const context ctx = context_in(folder.path());
    scratch_folder scratch(ctx);
    table_share memory(1 << 20), none(0);
    ngram_corpus corpus;
    constexpr std::uint32_t vocabulary = 1000, size = 900'000;
    corpus.vocabulary = vocabulary;
    corpus.letters = {memory, scratch, "letters", 4 * vocabulary};
    corpus.word_ends = {memory, scratch, "ends", vocabulary};
    for (std::uint32_t w = 0; w < vocabulary; ++w) {
        std::ranges::copy(std::to_string(1000 + w), corpus.letters.span().data() + 4 * std::size_t{w});
        corpus.word_ends[w] = 4 * (w + std::uint64_t{1});
    }
    corpus.words = {none, scratch, "words", size};
    std::mt19937_64 random(1);
    for (std::uint32_t& word : corpus.words.span()) word = static_cast<std::uint32_t>(random() % vocabulary);
    // Neighbours in the text, and others far from each other; more than 2^19 in one piece.
    std::vector<counted_ngram> ngrams;
    std::string expected;
    for (std::uint64_t i = 0; i < 600'000; ++i) {
        const std::uint64_t at = i % 3 == 0 ? random() % (size - 1) : i;
        ngrams.push_back({at, i});
        for (std::uint64_t w = at; w < at + 2; ++w)
            expected += std::to_string(1000 + corpus.words[w]) + (w == at ? " " : "\t");
        expected += std::to_string(i) + "\n";
    }
    number_stream<counted_ngram> stream(scratch, "ngrams", std::uint64_t{1} << 30);
    stream.append(std::move(ngrams));
    std::string found;
    std::uint64_t count = 0;
    total_lines(corpus, ctx).write(stream, 2, [&](std::string_view text, std::uint64_t some) {
        found += text;
        count += some;
    });
    EXPECT_EQ(count, 600'000U);
    EXPECT_TRUE(found == expected);
}

}  // namespace
}  // namespace quern::word_tables_test
