// SPDX-License-Identifier: Apache-2.0
// Directions of texts against sums in long double, with words of all weights and the largest counts.
#include "ops/word_similarity/vectors/text_vectors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace quern::word_similarity_detail::text_vectors_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

struct words {
    std::size_t dimensions;
    std::vector<float> values;
    std::vector<double> singular_values, weights;

    text_vectors vectors(unsigned threads = 3) const {
        cpu_place place(context::cpu(threads));
        return {place, values, singular_values, weights};
    }
    std::size_t size() const { return weights.size(); }
};

words some_words(std::size_t count, std::size_t dimensions, std::uint32_t seed) {
    std::mt19937 bits(seed);
    const auto uniform = [&] { return static_cast<double>(bits()) / 0x1p32; };
    words made{dimensions, {}, {}, {}};
    for (std::size_t j = 0; j < dimensions; ++j) {
        made.singular_values.push_back(1000.0 / static_cast<double>(j + 1));
    }
    for (std::size_t w = 0; w < count; ++w) {
        made.weights.push_back(w % 7 == 3 ? 0 : 22 * uniform());
        for (std::size_t j = 0; j < dimensions; ++j) {
            made.values.push_back(static_cast<float>((uniform() - 0.5) * made.singular_values[j]));
        }
    }
    return made;
}

/// The same in long double, to a component.
std::vector<long double> expected(const words& all, std::span<const counted_word> text) {
    std::vector<long double> sum(all.dimensions);
    for (const auto& [word, count] : text) {
        long double squares = 0;
        const auto part = [&](std::size_t j) {
            return static_cast<long double>(all.values[word * all.dimensions + j]) / all.singular_values[j];
        };
        for (std::size_t j = 0; j < all.dimensions; ++j) squares += part(j) * part(j);
        for (std::size_t j = 0; j < all.dimensions; ++j) {
            sum[j] += static_cast<long double>(count) * all.weights[word] * part(j) / std::sqrt(squares);
        }
    }
    long double squares = 0;
    for (const long double x : sum) squares += x * x;
    for (long double& x : sum) x *= text_vectors::unit / std::sqrt(squares);
    return sum;
}

TEST(text_vectors_test, are_the_directions_of_sums) {
    for (const std::size_t dimensions : {1U, 2U, 31U, 100U, 300U, 4096U}) {
        const words all = some_words(dimensions == 31 ? 4097 : 50, dimensions, 5);  // many: in pieces
        const text_vectors vectors = all.vectors();
        ASSERT_EQ(vectors.dimensions(), dimensions);
        std::mt19937 bits(static_cast<std::uint32_t>(dimensions));
        for (int round = 0; round < 20; ++round) {
            std::vector<counted_word> text;
            for (std::uint32_t w = 0; w < all.size(); ++w) {
                if (bits() % (all.size() / 16) == 0)
                    text.push_back({w, 1 + static_cast<std::uint32_t>(bits() >> (6 + bits() % 26))});
            }
            const auto wanted = expected(all, text);
            std::vector<std::int16_t> row(dimensions), again(dimensions);
            vectors.direction(text, row);
            for (std::size_t j = 0; j < dimensions; ++j) {
                ASSERT_NEAR(row[j], static_cast<double>(wanted[j]), 0.51) << dimensions << ' ' << j;
            }
            std::ranges::reverse(text);
            if (text.front().count > 1) {
                --text.front().count;
                text.push_back({text.front().word, 1});
            }
            vectors.direction(text, again);
            EXPECT_EQ(row, again);
        }
    }
}

TEST(text_vectors_test, largest_counts_and_weights_stay_exact) {
    const words all{2, {3, 4, -3, 4}, {1, 1}, {text_vectors::max_weight, text_vectors::max_weight}};
    const text_vectors vectors = all.vectors();
    std::vector<std::int16_t> row(2);
    vectors.direction(std::vector<counted_word>{{0, 0xffff'ffff}}, row);
    EXPECT_THAT(row, ElementsAre(19660, 26214));  // .6 and .8 of 32767, rounded
    vectors.direction(std::vector<counted_word>{{0, 0x7fff'ffff}, {1, 0x8000'0000}}, row);
    EXPECT_THAT(row, ElementsAre(0, 32767));
    vectors.direction(std::vector<counted_word>{{1, 0xffff'ffff}}, row);
    EXPECT_THAT(row, ElementsAre(-19660, 26214));
}

TEST(text_vectors_test, nothing_has_no_direction) {
    // A word of weight 0, one without a vector, two that cancel out; a dimension beyond the rank.
    const words all{3, {1, 2, 5, 0, 0, 0, 1, 1, 0, -1, -1, 0}, {2, 1, 0}, {0, 3, 2, 2}};
    const text_vectors vectors = all.vectors();
    std::vector<std::int16_t> row(3, 9);
    vectors.direction({}, row);
    EXPECT_THAT(row, Each(0));
    vectors.direction(std::vector<counted_word>{{0, 7}, {1, 7}}, row);
    EXPECT_THAT(row, Each(0));
    vectors.direction(std::vector<counted_word>{{2, 5}, {3, 5}}, row);
    EXPECT_THAT(row, Each(0));
    vectors.direction(std::vector<counted_word>{{2, 5}, {0, 1}, {3, 4}}, row);
    EXPECT_THAT(row, ElementsAre(14654, 29308, 0));
}

}  // namespace
}  // namespace quern::word_similarity_detail::text_vectors_test
