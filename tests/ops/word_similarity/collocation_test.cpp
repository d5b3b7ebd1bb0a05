// SPDX-License-Identifier: Apache-2.0
// Measures of association against their definitions in long double; counts of co-occurrences against the double loop.
#include "quern/ops/collocation.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "../../reference/word_counting_reference.hpp"
#include "../../temporary_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::collocation_test {
namespace {

using counts_by_cell = std::map<std::array<std::uint32_t, 2>, std::uint64_t>;

TEST(association, matches_its_definitions) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 5000; ++i) {
        const std::uint64_t both = 1 + random() % (1u << (1 + random() % 20)),
                            row = both + random() % 100'000, column = both + random() % 100'000;
        const std::uint64_t all = row + column - both + random() % (std::uint64_t{1} << (random() % 40));
        const association got = association_of({both, row, column, all});
        const auto f = static_cast<long double>(both), r = static_cast<long double>(row),
                   c = static_cast<long double>(column), n = static_cast<long double>(all);
        const long double expected = r * c / n;
        EXPECT_NEAR(got.mutual_information, static_cast<double>(std::log2(f / expected)), 1e-12);
        EXPECT_NEAR(got.log_dice, static_cast<double>(14 + std::log2(2 * f / (r + c))), 1e-12);
        EXPECT_NEAR(got.t_score, static_cast<double>((f - expected) / std::sqrt(f)),
                    1e-12 * static_cast<double>(1 + f + expected));
        long double sum = 0;
        const long double observed[] = {f, r - f, c - f, n - r - c + f};
        const long double by_chance[] = {expected, r * (n - c) / n, (n - r) * c / n, (n - r) * (n - c) / n};
        for (int k = 0; k < 4; ++k)
            if (observed[k] > 0) sum += 2 * observed[k] * std::log(observed[k] / by_chance[k]);
        const auto ratio = static_cast<double>(f < expected ? -sum : sum);
        EXPECT_NEAR(got.log_likelihood, ratio,
                    1e-9 * (1 + std::fabs(ratio)) + 1e-12 * static_cast<double>(n));
    }
}

TEST(association, by_hand) {
    // Always together, and with nothing else: logDice is at its maximum.
    EXPECT_EQ(association_of({8, 8, 8, 1024}).log_dice, 14);
    EXPECT_DOUBLE_EQ(association_of({8, 8, 8, 64}).mutual_information, 3);
    EXPECT_EQ(association_of({4, 8, 8, 16}).t_score, 0);  // exactly by chance
    EXPECT_EQ(association_of({4, 8, 8, 16}).log_likelihood, 0);
    EXPECT_LT(association_of({1, 50, 50, 100}).log_likelihood, -1);
    const cooccurrence_counts counts{8, 8, 8, 1024};
    EXPECT_EQ(value_of(association_measure::frequency, counts, association_of(counts)), 8);
}

TEST(association, refuses_what_no_table_has) {
    for (const cooccurrence_counts& bad :
         {cooccurrence_counts{0, 5, 5, 10}, {6, 5, 9, 20}, {6, 9, 5, 20}, {1, 5, 5, 8}, {1, 2, 30, 20}})
        EXPECT_THROW(association_of(bad), usage_error);
    EXPECT_NO_THROW(association_of({1, 5, 5, 9}));
}

std::vector<std::uint32_t> random_words(std::size_t size, std::uint32_t words) {
    std::mt19937_64 random(size);
    std::vector<std::uint32_t> text(size);
    for (std::uint32_t& id : text) {
        id = static_cast<std::uint32_t>(random() % (1 + random() % words));
        if (random() % 12 == 0) id = unknown_word;
        if (random() % 15 == 0) id = passage_end;
    }
    return text;
}

/// (word, context) → count, with the offsets checked; and how many runs were spilled.
counts_by_cell counted(const std::vector<std::uint32_t>& text, std::uint32_t words,
                       const counting_options& options, const context& ctx, std::uint64_t& spilled) {
    context_counter counter(words, 0, options, ctx);
    counter.push(text);
    counts_by_cell found;
    std::uint64_t at = 0;
    std::uint32_t word = 0;
    const context_matrix sums =
        counter.counts([&](const context_matrix& all, std::span<const std::uint32_t> columns,
                           std::span<const std::uint32_t> counts) {
            ASSERT_EQ(columns.size(), counts.size());
            for (std::size_t i = 0; i < columns.size(); ++i, ++at) {
                while (all.offsets[word + 1] == at) ++word;
                found[{word, columns[i]}] = counts[i];
            }
        });
    EXPECT_EQ(at, sums.offsets.back());
    EXPECT_EQ(found.size(), counter.record().triples);
    spilled = counter.record().runs_spilled;
    return found;
}

TEST(counts_of_cooccurrences, are_those_of_the_double_loop) {
    testing::temporary_folder scratch;
    for (const auto relation : {word_relation::none, word_relation::position}) {
        const counting_options options{.window = 4, .relation = relation};
        const std::uint32_t words = 60;
        const auto text = random_words(40'000, words);
        counts_by_cell expected;
        for (const auto& [triple, count] : reference::count_text(text, options))
            expected[{triple[0], triple[1] * words + triple[2]}] += count;
        for (const unsigned threads : {1U, 3U}) {
            std::uint64_t spilled = 0;
            EXPECT_EQ(counted(text, words, options, context::cpu(threads), spilled), expected);
            EXPECT_EQ(spilled, 0);
            context tight = context::cpu(threads);
            tight.memory_bytes = 300'000;  // segments of 12,500 words
            tight.scratch = scratch.path();
            EXPECT_EQ(counted(text, words, options, tight, spilled), expected);
            EXPECT_GT(spilled, 1);
        }
    }
}

TEST(counts_of_cooccurrences, are_of_words_only) {
    context_counter counter(2, 1, {}, context::cpu(1));
    counter.push(std::vector<word_triple>{{0, 0, 1, 3}});
    EXPECT_THROW(counter.counts([](const auto&, auto, auto) {}), usage_error);
}

}  // namespace
}  // namespace quern::collocation_test
