// SPDX-License-Identifier: Apache-2.0
// The formula of weights: its bits on every instruction set, and effects that rounding must not have.
#include "ops/word_similarity/counting/pmi.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <random>

#include "../../on_every_target.hpp"
#include "quern/base/error.hpp"

namespace quern::word_similarity_detail::pmi_test {
namespace {

using ::testing::ElementsAre;

template <class Count>
std::vector<Count> random_counts(std::size_t size, std::mt19937_64& random) {
    std::vector<Count> counts(size);
    for (Count& count : counts) count = static_cast<Count>(random() >> (random() % 64)) | 1;
    return counts;
}

template <class Count>
void expect_formula_on_every_target() {
    std::mt19937_64 random(4);
    const std::vector<double> bases = [&] {
        std::vector<double> made(5000);
        for (double& base : made) base = static_cast<double>(1 + (random() >> (1 + random() % 63)));
        return made;
    }();
    const weight_rule rule{95, 100, 0.25};
    for (const std::size_t size : {0, 1, 3, 7, 8, 9, 255, 256, 257, 4999}) {
        std::vector<std::uint32_t> columns(size);
        for (std::size_t i = 0; i < size; ++i)
            columns[i] = static_cast<std::uint32_t>(i * bases.size() / std::max<std::size_t>(size, 1));
        const auto counts = random_counts<Count>(size, random);
        const double scale = static_cast<double>(random() >> 20) / 777.0;
        std::vector<std::uint32_t> expected_columns;
        std::vector<float> expected;
        for (std::size_t i = 0; i < size; ++i) {
            const double weight = weight_of(rule, static_cast<double>(counts[i]), scale, bases[columns[i]]);
            if (!(weight > rule.least)) continue;
            expected_columns.push_back(columns[i] + 70);
            expected.push_back(static_cast<float>(weight));
        }
        on_every_target([&] {
            std::vector<std::uint32_t> out_columns(size);
            std::vector<float> out(size);
            const std::size_t kept =
                pmi_counts(rule, scale, bases.data(), 70, std::span<const std::uint32_t>(columns),
                           counts.data(), out_columns.data(), out.data());
            ASSERT_EQ(kept, expected.size());
            out_columns.resize(kept);
            EXPECT_EQ(out_columns, expected_columns);
            EXPECT_TRUE(kept == 0 || std::memcmp(out.data(), expected.data(), kept * sizeof(float)) == 0);
        });
    }
}

TEST(pmi, the_same_bits_on_every_target) {
    expect_formula_on_every_target<std::uint32_t>();
    expect_formula_on_every_target<std::uint64_t>();
}

template <class Count>
void expect_counters_taken() {
    constexpr std::size_t groups = 8;
    std::mt19937_64 random(5);
    for (const std::size_t words : {1, 15, 16, 17, 1023, 1024, 1025, 7000})
        for (const double filled : {0.0, 0.001, 0.1, 1.0}) {
            on_every_target([&] {
                std::vector<Count> counters((words / counter_block + 1) * counter_block);
                std::vector<std::uint8_t> of_groups(groups), of_blocks(groups * blocks_in_group);
                std::vector<std::uint32_t> expected_columns;
                std::vector<Count> expected;
                for (std::size_t w = 0; w < words; ++w) {
                    if (static_cast<double>(random() % 1000) >= filled * 1000) continue;
                    counters[w] = static_cast<Count>(random() % 3);  // 0: flagged for nothing
                    of_blocks[w / counter_block] = 1;
                    of_groups[w / counter_block / blocks_in_group] = 1;
                    if (counters[w] == 0) continue;
                    expected_columns.push_back(static_cast<std::uint32_t>(w));
                    expected.push_back(counters[w]);
                }
                std::vector<std::uint32_t> columns(words + taken_margin, 77);
                std::vector<Count> counts(words + taken_margin, 77);
                const std::size_t taken = take_counts({of_blocks.data(), of_groups.data(), groups},
                                                      counters.data(), columns.data(), counts.data());
                columns.resize(taken);
                counts.resize(taken);
                EXPECT_EQ(columns, expected_columns);
                EXPECT_EQ(counts, expected);
                EXPECT_THAT(counters, ::testing::Each(0));
                EXPECT_THAT(of_blocks, ::testing::Each(0));
                EXPECT_THAT(of_groups, ::testing::Each(0));
            });
        }
}

TEST(take_counts, what_is_counted_and_nothing_else) {
    expect_counters_taken<std::uint32_t>();
    expect_counters_taken<std::uint64_t>();
}

/// The weights of a matrix of counts in one relation, row by row.
std::vector<float> weights_of(const std::vector<std::vector<std::uint64_t>>& counts,
                              const pmi_options& options) {
    const auto words = static_cast<std::uint32_t>(counts.size());
    std::vector<word_triple> triples;
    for (std::uint32_t w = 0; w < words; ++w)
        for (std::uint32_t v = 0; v < words; ++v) triples.push_back({w, 0, v, counts[w][v]});
    context ctx = context::cpu(1);
    ctx.memory_bytes = std::uint64_t{16} << 20;
    context_counter counter(words, 1, {.count_self = true}, ctx);
    counter.push(triples);
    return counter.pmi(options).weights;
}

TEST(pmi, independent_words_have_no_weight_at_all) {
    // Every count equals its expectation, so every logarithm is 0 in real numbers, for any rounding of the products.
    std::mt19937_64 random(6);
    for (int round = 0; round < 200; ++round) {
        constexpr std::size_t words = 7;
        std::vector<std::uint64_t> row(words), column(words);
        for (std::uint64_t& factor : row) factor = 1 + random() % 100'000;
        for (std::uint64_t& factor : column) factor = 1 + random() % 100'000;
        std::vector<std::vector<std::uint64_t>> counts(words, std::vector<std::uint64_t>(words));
        for (std::size_t w = 0; w < words; ++w)
            for (std::size_t v = 0; v < words; ++v) counts[w][v] = row[w] * column[v];
        for (const auto kind : {pmi_kind::conditional, pmi_kind::independent})
            EXPECT_TRUE(weights_of(counts, {{0, 1}, kind, 0}).empty());
    }
}

TEST(pmi, by_hand) {
    // |w,r,w'| 3, |*,r,*| 12, |w,r,*| 4, |*,r,w'| 5: log(36 / 20).
    const std::vector<std::vector<std::uint64_t>> counts{{3, 1}, {2, 6}};
    const auto exact = [](double x) { return static_cast<float>(canonical_log(x)); };
    EXPECT_THAT(weights_of(counts, {{0, 1}, pmi_kind::conditional, 0}),
                ElementsAre(exact(36.0 / 20.0), exact(72.0 / 56.0)));
    // Half subtracted: 2.5 · 12 / 20, and 5.5 · 12 / 56.
    EXPECT_THAT(weights_of(counts, {{5, 10}, pmi_kind::conditional, 0}),
                ElementsAre(exact(30.0 / 20.0), exact(66.0 / 56.0)));
    EXPECT_THAT(weights_of(counts, {{0, 1}, pmi_kind::conditional, 0.5}), ElementsAre(exact(36.0 / 20.0)));
}

}  // namespace
}  // namespace quern::word_similarity_detail::pmi_test
