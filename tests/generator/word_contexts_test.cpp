// SPDX-License-Identifier: Apache-2.0
#include "generator/word_contexts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace quern::generator::word_contexts_test {
namespace {

std::span<const std::uint32_t> row(const context_matrix& matrix, std::size_t word) {
    return std::span(matrix.columns)
        .subspan(matrix.offsets[word], matrix.offsets[word + 1] - matrix.offsets[word]);
}

TEST(word_contexts, rows_are_sets_of_contexts_and_shorter_for_rarer_words) {
    const context_matrix made = word_contexts(400);
    ASSERT_EQ(made.words, 400u);
    ASSERT_EQ(made.relations, 6u);
    ASSERT_EQ(made.offsets.size(), 401u);
    ASSERT_EQ(made.weights.size(), made.columns.size());
    std::vector<std::uint64_t> counts(2400);
    for (std::size_t w = 0; w < 400; ++w) {
        const auto columns = row(made, w);
        ASSERT_TRUE(std::ranges::is_sorted(columns, std::less_equal())) << w;
        for (const std::uint32_t column : columns) ++counts.at(column);
        if (w > 0) {
            EXPECT_LE(columns.size(), row(made, w - 1).size());
        }
    }
    EXPECT_EQ(counts, made.column_counts);
    EXPECT_GT(std::ranges::min(made.weights), 0);
    EXPECT_EQ(made.columns, word_contexts(400).columns);
}

TEST(word_contexts, first_words_keep_contexts_among_themselves) {
    const context_matrix whole = word_contexts(400), part = first_words(whole, 50, 0.01);
    ASSERT_EQ(part.offsets.size(), 51u);
    ASSERT_EQ(part.column_counts.size(), 300u);
    EXPECT_NEAR(static_cast<double>(part.columns.size()), 0.01 * static_cast<double>(whole.columns.size()),
                0.002 * static_cast<double>(whole.columns.size()));
    for (std::size_t w = 0; w < 50; ++w)
        for (const std::uint32_t column : row(part, w)) {
            const std::uint32_t before = column / 50 * 400 + column % 50;
            ASSERT_TRUE(std::ranges::binary_search(row(whole, w), before)) << w;
        }
}

}  // namespace
}  // namespace quern::generator::word_contexts_test
