// SPDX-License-Identifier: Apache-2.0
// Jaccard, Weeds and Weir, Jensen-Shannon, skew: against the printed formulas, and the same bits from every entry point and place.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../on_each_place.hpp"
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

TEST(further_measures, are_for_one_method) {
    const context_matrix matrix = text_like(20, 30, 10, 1);
    similarity_options options = best(similarity_measure::jaccard, 3, 10);
    for (const auto method : {similarity_method::compressed, similarity_method::column_reduced}) {
        options.method = method;
        EXPECT_THAT([&] { (void)similar_words(matrix.view(), options, context::cpu(1)); },
                    ThrowsMessage<usage_error>(HasSubstr("by lin or cosine only")));
    }
    options.method = similarity_method::automatic;
    options.measure = static_cast<similarity_measure>(17);
    EXPECT_THROW((void)similar_words(matrix.view(), options, context::cpu(1)), usage_error);
}

/// The lists of every place are those of one thread, to the last bit; so are their scores, pair by pair.
template <class Tested>
class further_measures_test : public on_place<Tested> {
  protected:
    /// On the CPU smaller matrices suffice: threads share the work in the same way for any size.
    static constexpr bool on_cpu = std::is_same_v<typename Tested::place_type, cpu_place>;
    static bool is_small() { return on_cpu || tested_with().small_sizes; }

    void check(const context_matrix& matrix, std::uint32_t top, std::uint32_t columns = all_columns,
               const context& ctx = Tested::ctx()) {
        for (const similarity_measure measure : further_measures) {
            SCOPED_TRACE(static_cast<int>(measure));
            const similarity_options options = best(measure, top, columns);
            const neighbour_lists expected = similar_words(matrix.view(), options, context::cpu(1));
            const neighbour_lists found = similar_words(matrix.view(), options, ctx);
            ASSERT_EQ(found.offsets, expected.offsets);
            ASSERT_EQ(found.words, expected.words);
            ASSERT_EQ(found.scores, expected.scores);

            neighbour_lists gathered;
            const neighbour_lists passed_on =
                similar_words(matrix.view(), options, ctx,
                              [&](std::span<const std::uint32_t> words, std::span<const double> scores) {
                                  gathered.words.insert(gathered.words.end(), words.begin(), words.end());
                                  gathered.scores.insert(gathered.scores.end(), scores.begin(), scores.end());
                              });
            ASSERT_EQ(passed_on.offsets, expected.offsets);
            ASSERT_EQ(gathered.words, expected.words);
            ASSERT_EQ(gathered.scores, expected.scores);
        }
    }
};
TYPED_TEST_SUITE(further_measures_test, tested_places, tested_place_names);

TYPED_TEST(further_measures_test, hostile_matrices) {
    for (const auto& [name, matrix] : hostile_matrices()) {
        SCOPED_TRACE(name);
        for (const std::uint32_t top : {1U, 3U, 20U, 1000U}) this->check(matrix, top);
    }
}

TYPED_TEST(further_measures_test, sizes_around_warps_and_blocks) {
    for (const std::uint32_t words : {2U, 3U, 31U, 32U, 33U, 63U, 65U, 127U, 129U, 255U, 257U, 513U}) {
        SCOPED_TRACE(words);
        this->check(text_like(words, 40 + words, 60, words), 5);
        this->check(full_of_ties(words, 9, words), 7);
    }
}

TYPED_TEST(further_measures_test, fewer_columns) {
    const context_matrix matrix = text_like(200, 300, 120, 3);
    for (const std::uint32_t columns : {1U, 2U, 32U, 33U, 299U, 300U, 301U}) {
        SCOPED_TRACE(columns);
        this->check(matrix, 10, columns);
    }
}

/// Weights from the least to the greatest of floats: shares of a row down to 10^-83, sums without fractional bits.
TYPED_TEST(further_measures_test, weights_at_both_ends_of_floats) {
    std::mt19937 random(3);
    std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(150);
    for (std::size_t w = 0; w < rows.size(); ++w) {
        if (w % 10 == 4) continue;
        for (std::uint32_t c = 0; c < 60; ++c) {
            if (random() % 3 != 0) continue;
            const int exponent = static_cast<int>(random() % 272) - 149;
            rows[w].emplace_back(c, std::ldexp(1.F + 0.25F * static_cast<float>(random() % 4), exponent));
        }
    }
    rows[0] = {{7, std::numeric_limits<float>::denorm_min()}};
    rows[1] = {{7, std::numeric_limits<float>::max()}};
    rows[2] = {{7, std::numeric_limits<float>::max()}, {8, std::numeric_limits<float>::min()}};
    const context_matrix matrix = matrix_of(std::move(rows), 60);
    for (const std::uint32_t top : {2U, 149U}) this->check(matrix, top);
}

TYPED_TEST(further_measures_test, many_words_in_several_parts) {
    // More rows than are summed up at a time, and columns that most of the words have.
    const std::uint32_t words = this->is_small() ? 400 : 2600;
    this->check(text_like(words, 3000, 1000, 2), 20);
    this->check(full_of_ties(words, 12, 5), 30);
}

TYPED_TEST(further_measures_test, long_lists) {
    const context_matrix matrix = text_like(this->is_small() ? 300 : 1400, 900, 150, 4);
    for (const std::uint32_t top : {129U, 1025U, 5000U}) this->check(matrix, top);
}

TYPED_TEST(further_measures_test, within_little_memory) {
    const std::uint32_t words = this->is_small() ? 900 : 3000;
    const context_matrix matrix = text_like(words, 5000, 800, 5);
    context ctx = TypeParam::ctx();
    for (const std::uint64_t bytes : {2ULL << 20, 5ULL << 20, 12ULL << 20}) {
        SCOPED_TRACE(bytes);
        ctx.gpu_memory_bytes = bytes;
        this->check(matrix, 20, all_columns, ctx);
    }
}

TYPED_TEST(further_measures_test, all_and_pairs_are_as_the_lists) {
    const context_matrix matrix = text_like(90, 120, 50, 8);
    for (const similarity_measure measure : further_measures) {
        const similarity_options options = best(measure, 1000, 80);
        const neighbour_lists lists = similar_words(matrix.view(), options, TypeParam::ctx());
        std::vector<std::vector<double>> scores(90, std::vector<double>(90));
        for (std::uint32_t w = 0; w < 90; ++w)
            for (std::uint64_t i = lists.offsets[w]; i < lists.offsets[w + 1]; ++i)
                scores[w][lists.words[i]] = lists.scores[i];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
        std::vector<double> expected;
        all_similarities(matrix.view(), options, TypeParam::ctx(),
                         [&](std::uint32_t w, std::span<const double> row) {
                             for (std::uint32_t v = 0; v < 90; ++v) {
                                 if (v == w) continue;
                                 ASSERT_EQ(row[v], scores[w][v]);
                                 pairs.emplace_back(w, v);
                                 expected.push_back(row[v]);
                             }
                         });
        EXPECT_EQ(pair_similarities(matrix.view(), options, pairs, TypeParam::ctx()), expected);
    }
}

TYPED_TEST(further_measures_test, say_where_they_ran_and_stop) {
    const context_matrix matrix = full_of_ties(100, 5, 1);
    const similarity_options options = best(similarity_measure::weeds, 3);
    EXPECT_THAT(similar_words(matrix.view(), options, TypeParam::ctx()).place,
                HasSubstr(this->on_cpu ? "cpu" : "cuda"));
    const std::atomic<int> signal{2};
    context ctx = TypeParam::ctx();
    ctx.stop_signal = &signal;
    EXPECT_THROW((void)similar_words(matrix.view(), options, ctx), interrupted);
}

}  // namespace
}  // namespace quern::further_measures_test
