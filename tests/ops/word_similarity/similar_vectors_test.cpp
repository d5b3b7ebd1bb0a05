// SPDX-License-Identifier: Apache-2.0
// Against the formula, pair by pair in double; if the vectors are small integers every sum is exact, and the neighbours,
// scores and ties must equal the reference's to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "on_every_target.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::similar_vectors_test {
namespace {

word_vectors make_vectors(std::uint32_t words, std::uint32_t dimensions, const auto& value) {
    word_vectors v{words, dimensions, std::vector<float>(std::size_t{words} * dimensions), {}};
    for (std::uint32_t w = 0; w < words; ++w)
        for (std::uint32_t d = 0; d < dimensions; ++d)
            v.values[std::size_t{w} * dimensions + d] = static_cast<float>(value(w, d));
    return v;
}

struct neighbour {
    std::uint32_t word;
    double score;
    bool operator==(const neighbour&) const = default;
};
using lists = std::vector<std::vector<neighbour>>;

lists unpacked(const neighbour_lists& found) {
    lists result(found.offsets.size() - 1);
    for (std::size_t w = 0; w < result.size(); ++w)
        for (std::uint64_t i = found.offsets[w]; i < found.offsets[w + 1]; ++i)
            result[w].push_back({found.words[i], found.scores[i]});
    return result;
}

lists by_formula(const word_vectors& v, vector_measure measure, std::size_t top) {
    std::vector<std::vector<double>> rows(v.words);
    std::vector<double> squares(v.words);
    for (std::size_t w = 0; w < v.words; ++w) {
        const auto first = v.values.begin() + static_cast<std::ptrdiff_t>(w * v.dimensions);
        rows[w].assign(first, first + v.dimensions);
        if (measure == vector_measure::pearson) {
            const bool constant =
                std::all_of(rows[w].begin(), rows[w].end(), [&](double x) { return x == rows[w][0]; });
            const double mean = std::accumulate(rows[w].begin(), rows[w].end(), 0.0) / v.dimensions;
            for (double& x : rows[w]) x = constant ? 0 : x - mean;
        }
        squares[w] = std::inner_product(rows[w].begin(), rows[w].end(), rows[w].begin(), 0.0);
    }
    lists result(v.words);
    for (std::uint32_t a = 0; a < v.words; ++a) {
        for (std::uint32_t b = 0; b < v.words && squares[a] > 0; ++b) {
            if (a == b || squares[b] == 0) continue;
            const double dot = std::inner_product(rows[a].begin(), rows[a].end(), rows[b].begin(), 0.0);
            result[a].push_back(
                {b, std::clamp(dot / (std::sqrt(squares[a]) * std::sqrt(squares[b])), -1.0, 1.0)});
        }
        std::stable_sort(result[a].begin(), result[a].end(),
                         [](const neighbour& x, const neighbour& y) { return x.score > y.score; });
        result[a].resize(std::min(top, result[a].size()));
    }
    return result;
}

// The same scores up to rounding, in the promised order, and each the score of its pair.
void expect_close(const lists& found, const lists& expected, const lists& all) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t w = 0; w < found.size(); ++w) {
        ASSERT_EQ(found[w].size(), expected[w].size()) << w;
        for (std::size_t i = 0; i < found[w].size(); ++i) {
            ASSERT_NEAR(found[w][i].score, expected[w][i].score, 1e-12) << w << ' ' << i;
            if (i > 0) {
                const neighbour &before = found[w][i - 1], &here = found[w][i];
                ASSERT_TRUE(before.score > here.score ||
                            (before.score == here.score && before.word < here.word));
            }
            const auto pair = std::find_if(all[w].begin(), all[w].end(),
                                           [&](const neighbour& n) { return n.word == found[w][i].word; });
            ASSERT_NE(pair, all[w].end()) << w << ' ' << i;
            ASSERT_NEAR(pair->score, found[w][i].score, 1e-12) << w << ' ' << i;
        }
    }
}

TEST(similar_vectors, integers_match_the_formula_to_the_last_bit) {
    for (const std::uint32_t words : {0u, 1u, 2u, 5u, 6u, 7u, 31u, 32u, 33u, 383u, 385u, 900u})
        for (const std::uint32_t dimensions : {1u, 2u, 7u, 8u, 19u}) {
            SCOPED_TRACE(words * 100 + dimensions);
            std::mt19937_64 random(words + dimensions);
            // Few values, many ties; some vectors are zero.
            const auto v = make_vectors(words, dimensions, [&](auto w, auto) {
                return w % 11 == 3 ? 0 : static_cast<int>(random() % 5) - 2;
            });
            for (const std::uint32_t top : {1u, 4u, 20u, 2000u}) {
                const auto found = similar_vectors(v, vector_measure::cosine, top, context::cpu(2));
                ASSERT_EQ(unpacked(found), by_formula(v, vector_measure::cosine, top)) << top;
            }
        }
}

TEST(similar_vectors, both_measures_match_the_formula) {
    for (const auto& [words, dimensions] :
         std::vector<std::pair<std::uint32_t, std::uint32_t>>{{500, 3}, {400, 33}, {500, 300}}) {
        SCOPED_TRACE(words);
        std::mt19937_64 random(words);
        std::normal_distribution<double> normal;
        // Vectors in clusters, of very different lengths, some with a large mean.
        const auto v = make_vectors(words, dimensions, [&](auto w, auto d) {
            const double centre = std::sin(static_cast<double>((w % 7) * 31 + d));
            return std::ldexp(centre + 0.01 * normal(random) + (w % 5 == 0 ? 100 : 0),
                              static_cast<int>(w % 60) - 30);
        });
        for (const auto measure : {vector_measure::cosine, vector_measure::pearson})
            expect_close(unpacked(similar_vectors(v, measure, 10, context::cpu(3))),
                         by_formula(v, measure, 10), by_formula(v, measure, words));
    }
}

TEST(similar_vectors, vectors_closer_than_floats_are_distinguished) {
    // All within 1e-6 of one direction: the fast pass sees nothing but ties, and the first coordinate decides.
    const std::uint32_t words = 2000;
    const auto v = make_vectors(
        words, 2, [&](auto w, auto d) { return d == 0 ? 1 << 20 : static_cast<double>(w) / 16; });
    const auto found = unpacked(similar_vectors(v, vector_measure::cosine, 4, context::cpu(2)));
    const auto expected = by_formula(v, vector_measure::cosine, 4);
    expect_close(found, expected, by_formula(v, vector_measure::cosine, words));
    std::vector<std::uint32_t> nearest;
    for (const neighbour& n : found[1000]) nearest.push_back(n.word);
    std::sort(nearest.begin(), nearest.end());
    EXPECT_EQ(nearest, (std::vector<std::uint32_t>{998, 999, 1001, 1002}));
}

TEST(similar_vectors, copies_of_one_vector_are_taken_by_their_ids) {
    const auto v = make_vectors(1500, 5, [](auto, auto d) { return d + 1; });
    const auto found = unpacked(similar_vectors(v, vector_measure::cosine, 3, context::cpu(2)));
    for (std::uint32_t w = 0; w < 1500; ++w) {
        ASSERT_EQ(found[w].size(), 3u);
        for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(found[w][i].word, i + (i >= w ? 1 : 0)) << w;
        ASSERT_NEAR(found[w][0].score, 1, 1e-15);
    }
}

TEST(similar_vectors, vectors_without_direction_have_no_neighbours_and_are_none) {
    const auto v = make_vectors(40, 3, [](auto w, auto d) { return w % 2 == 0 ? 0.1 : w * d + d * d; });
    const auto found = unpacked(similar_vectors(v, vector_measure::pearson, 40, context::cpu(1)));
    EXPECT_EQ(found[1].size(), 19u);
    for (const neighbour& n : found[1]) EXPECT_EQ(n.word % 2, 1u);
    EXPECT_TRUE(found[2].empty());
    EXPECT_EQ(unpacked(similar_vectors(v, vector_measure::cosine, 40, context::cpu(1)))[2].size(), 39u);
    const auto one = make_vectors(9, 1, [](auto w, auto) { return w; });
    EXPECT_TRUE(similar_vectors(one, vector_measure::pearson, 5, context::cpu(1)).words.empty());
    const auto none = make_vectors(9, 0, [](auto, auto) { return 0; });
    EXPECT_TRUE(similar_vectors(none, vector_measure::cosine, 5, context::cpu(1)).words.empty());
}

TEST(similar_vectors, the_least_and_the_greatest_floats) {
    const float least = std::numeric_limits<float>::denorm_min(), max = std::numeric_limits<float>::max();
    const auto v = make_vectors(4, 2, [&](auto w, auto d) {
        return w < 2 ? (d == 0 ? least : static_cast<float>(w) * least) : d == w - 2 ? max : -max;
    });
    const auto found = unpacked(similar_vectors(v, vector_measure::cosine, 3, context::cpu(1)));
    EXPECT_NEAR(found[0][0].score, std::sqrt(0.5), 1e-15);
    EXPECT_EQ(found[2].back(), (neighbour{3, -1}));
}

TEST(similar_vectors, the_same_bits_for_any_threads_and_instruction_set) {
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    const auto v = make_vectors(
        3000, 61, [&](auto w, auto) { return w % 3 == 0 ? std::round(normal(random)) : normal(random); });
    for (const auto measure : {vector_measure::cosine, vector_measure::pearson}) {
        const auto expected = similar_vectors(v, measure, 15, context::cpu(1));
        const auto same = [&](unsigned threads) {
            const auto found = similar_vectors(v, measure, 15, context::cpu(threads));
            EXPECT_EQ(found.offsets, expected.offsets);
            EXPECT_EQ(found.words, expected.words);
            EXPECT_EQ(found.scores, expected.scores);
        };
        same(2);
        same(5);
        if (measure == vector_measure::cosine) on_every_target([&] { same(2); });
    }
}

TEST(similar_vectors, pairs_have_the_same_scores) {
    std::mt19937_64 random(8);
    std::normal_distribution<double> normal;
    const auto v = make_vectors(70, 13, [&](auto w, auto) { return w % 9 == 4 ? 0 : normal(random); });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t a = 0; a < 70; ++a)
        for (std::uint32_t b = 0; b < 70; ++b) pairs.emplace_back(b, a);
    for (const auto measure : {vector_measure::cosine, vector_measure::pearson}) {
        std::vector<double> expected(pairs.size());  // 0 with a vector without a direction, including itself
        const auto found = unpacked(similar_vectors(v, measure, 100, context::cpu(1)));
        for (std::uint32_t w = 0; w < 70; ++w) {
            for (const neighbour& n : found[w]) expected[w * 70 + n.word] = n.score;
            expected[w * 70 + w] = w % 9 == 4 ? 0 : 1;
        }
        for (const unsigned threads : {1u, 3u})
            EXPECT_EQ(pair_similarities(v, measure, pairs, context::cpu(threads)), expected);
    }
    const std::pair<std::uint32_t, std::uint32_t> beyond[] = {{0, 70}};
    EXPECT_THROW((void)pair_similarities(v, vector_measure::cosine, beyond, context::cpu(1)), usage_error);
    const std::atomic<int> stop{2};
    context ctx = context::cpu(2);
    ctx.stop_signal = &stop;
    EXPECT_THROW((void)pair_similarities(v, vector_measure::cosine, pairs, ctx), interrupted);
}

TEST(similar_vectors, refuses_what_is_none) {
    const auto good = make_vectors(3, 2, [](auto w, auto d) { return w + d; });
    EXPECT_THROW(similar_vectors(good, vector_measure::cosine, 0, context::cpu(1)), usage_error);
    auto bad = good;
    bad.values.pop_back();
    EXPECT_THROW(similar_vectors(bad, vector_measure::cosine, 1, context::cpu(1)), usage_error);
    bad = good;
    bad.values[4] = std::numeric_limits<float>::infinity();
    EXPECT_THROW(similar_vectors(bad, vector_measure::cosine, 1, context::cpu(1)), usage_error);
    const std::atomic<int> stop{2};
    context ctx = context::cpu(2);
    ctx.stop_signal = &stop;
    EXPECT_THROW(similar_vectors(good, vector_measure::cosine, 1, ctx), interrupted);
}

}  // namespace
}  // namespace quern::similar_vectors_test
