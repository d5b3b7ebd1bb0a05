// SPDX-License-Identifier: Apache-2.0
// Jaccard, Weeds and Weir, Jensen-Shannon, skew: against the printed formulas, and the same bits from every entry point.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "../../reference/word_similarity_reference.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"
#include "word_matrices.hpp"

namespace quern::further_measures_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::array further_measures{similarity_measure::jaccard, similarity_measure::weeds,
                                      similarity_measure::jensen_shannon, similarity_measure::skew};

similarity_options best(similarity_measure measure, std::uint32_t top, std::uint32_t columns = all_columns) {
    similarity_options options;
    options.measure = measure;
    options.top = top;
    options.columns = columns;
    return options;
}

/// Scores of all pairs by the formulas; neighbours, rows and chosen pairs agree with them and with each other.
void expect_as_formula(const context_matrix& matrix, const similarity_options& options) {
    const auto rows = reference::dense_rows(matrix.view(), options.columns);
    std::vector<std::vector<double>> scores(rows.size());
    all_similarities(matrix.view(), options, context::cpu(3),
                     [&](std::uint32_t w, std::span<const double> row) {
                         ASSERT_EQ(row.size(), rows.size());
                         scores[w].assign(row.begin(), row.end());
                     });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t a = 0; a < rows.size(); ++a)
        for (std::uint32_t b = 0; b < rows.size(); ++b) {
            pairs.emplace_back(a, b);
            if (a == b) continue;
            // A part of 1 is right to about 10^-15, whatever is left of it.
            const double expected = reference::similarity(rows[a], rows[b], options.measure);
            ASSERT_NEAR(scores[a][b], expected, 1e-6 * expected + 1e-13) << a << ' ' << b;
            ASSERT_LE(scores[a][b], 1);
            ASSERT_EQ(scores[a][b] > 0, expected > 1e-13) << a << ' ' << b;
        }
    const auto chosen = pair_similarities(matrix.view(), options, pairs, context::cpu(2));
    for (std::size_t i = 0; i < pairs.size(); ++i)
        ASSERT_EQ(chosen[i], scores[pairs[i].first][pairs[i].second]);
    const auto single =
        pairs.empty()
            ? chosen
            : pair_similarities(matrix.view(), options, std::array{pairs[pairs.size() / 3]}, context::cpu(1));
    if (!pairs.empty()) {
        EXPECT_EQ(single[0], chosen[pairs.size() / 3]);
    }

    for (const unsigned threads : {1U, 4U}) {
        const auto found = similar_words(matrix.view(), options, context::cpu(threads));
        ASSERT_EQ(found.offsets.size(), rows.size() + 1);
        for (std::uint32_t w = 0; w < rows.size(); ++w) {
            std::vector<std::pair<double, std::uint32_t>> expected;
            for (std::uint32_t v = 0; v < rows.size(); ++v)
                if (v != w && scores[w][v] > 0) expected.emplace_back(-scores[w][v], v);
            std::sort(expected.begin(), expected.end());
            expected.resize(std::min<std::size_t>(expected.size(), options.top));
            ASSERT_EQ(found.offsets[w + 1] - found.offsets[w], expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                ASSERT_EQ(found.words[found.offsets[w] + i], expected[i].second);
                ASSERT_EQ(found.scores[found.offsets[w] + i], -expected[i].first);
            }
        }
    }
}

TEST(further_measures, match_their_formulas) {
    for (const similarity_measure measure : further_measures) {
        SCOPED_TRACE(static_cast<int>(measure));
        expect_as_formula(text_like(120, 160, 60, 5), best(measure, 10));
        expect_as_formula(text_like(60, 200, 90, 6), best(measure, 1000, 40));
        expect_as_formula(full_of_ties(70, 9, 3), best(measure, 7));
    }
}

TEST(further_measures, by_hand) {
    // p = (3/4, 1/4, 0), q = (0, 1/2, 1/2).
    const context_matrix m = matrix_of({{{0, 6}, {1, 2}}, {{1, 3}, {2, 3}}}, 3);
    const auto score = [&](similarity_measure measure, std::uint32_t a, std::uint32_t b) {
        return pair_similarities(m.view(), best(measure, 1), std::array{std::pair{a, b}}, context::cpu(1))[0];
    };
    EXPECT_DOUBLE_EQ(score(similarity_measure::jaccard, 0, 1), 2.0 / (6 + 3 + 3));
    EXPECT_DOUBLE_EQ(score(similarity_measure::weeds, 0, 1), 2 * 0.25 * 0.5 / 0.75);
    EXPECT_NEAR(score(similarity_measure::jensen_shannon, 0, 1),
                0.5 * (0.25 * std::log2(3.0) + 0.5 * std::log2(1.5)), 1e-15);
    EXPECT_NEAR(score(similarity_measure::skew, 0, 1), 0.5 * std::log(1 + 99 * 0.5) / std::log(100.0), 1e-15);
    EXPECT_NEAR(score(similarity_measure::skew, 1, 0), 0.25 * std::log(1 + 99 * 2.0) / std::log(100.0),
                1e-15);
}

TEST(further_measures, hostile_matrices_have_scores_in_order) {
    for (const auto& [name, matrix] : hostile_matrices()) {
        SCOPED_TRACE(name);
        for (const similarity_measure measure : further_measures) {
            const auto found = similar_words(matrix.view(), best(measure, 20), context::cpu(2));
            ASSERT_EQ(found.offsets.size(), matrix.words + std::size_t{1});
            for (std::uint32_t w = 0; w < matrix.words; ++w)
                for (std::uint64_t i = found.offsets[w]; i < found.offsets[w + 1]; ++i) {
                    ASSERT_GT(found.scores[i], 0);
                    ASSERT_LE(found.scores[i], 1);
                    ASSERT_TRUE(
                        i == found.offsets[w] || found.scores[i - 1] > found.scores[i] ||
                        (found.scores[i - 1] == found.scores[i] && found.words[i - 1] < found.words[i]));
                }
        }
    }
}

TEST(further_measures, are_for_one_method_on_the_cpu) {
    const context_matrix matrix = text_like(20, 30, 10, 1);
    similarity_options options = best(similarity_measure::jaccard, 3, 10);
    for (const auto method : {similarity_method::compressed, similarity_method::column_reduced}) {
        options.method = method;
        EXPECT_THAT([&] { (void)similar_words(matrix.view(), options, context::cpu(1)); },
                    ThrowsMessage<usage_error>(HasSubstr("by lin or cosine only")));
    }
    options.method = similarity_method::automatic;
    context gpu;
    gpu.device.where = device_choice::kind::cuda;
    EXPECT_THAT([&] { (void)similar_words(matrix.view(), options, gpu); },
                ThrowsMessage<usage_error>(HasSubstr("runs on cpu only")));
    options.measure = static_cast<similarity_measure>(17);
    EXPECT_THROW((void)similar_words(matrix.view(), options, context::cpu(1)), usage_error);
}

}  // namespace
}  // namespace quern::further_measures_test
