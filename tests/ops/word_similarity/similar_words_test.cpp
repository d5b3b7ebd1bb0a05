// SPDX-License-Identifier: Apache-2.0
// Every method on every place against the printed formulas, and to the last bit against each other.
#include "quern/ops/word_similarity.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "../../on_each_place.hpp"
#include "../../reference/word_similarity_reference.hpp"
#include "../../several_places.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/error.hpp"
#include "word_matrices.hpp"

namespace quern::similar_words_test {
namespace {

using namespace word_similarity_detail;

constexpr similarity_method all_methods[] = {similarity_method::automatic, similarity_method::compressed,
                                             similarity_method::column_reduced};
constexpr similarity_measure all_measures[] = {similarity_measure::lin, similarity_measure::cosine};

similarity_options options_of(similarity_method method, similarity_measure measure, std::uint32_t top,
                              std::uint32_t columns = 0xfffffffe) {
    similarity_options options;
    options.method = method;
    options.measure = measure;
    options.top = top;
    options.columns = columns;
    return options;
}

/// The lists match the formulas: in order, with the right scores, and nothing better is missing.
void expect_as_reference(const context_matrix_view& matrix, const similarity_options& options,
                         const neighbour_lists& found) {
    const auto rows = reference::dense_rows(matrix, options.columns);
    ASSERT_EQ(found.offsets.size(), rows.size() + 1);
    ASSERT_EQ(found.offsets.back(), found.words.size());
    ASSERT_EQ(found.words.size(), found.scores.size());
    for (std::uint32_t w = 0; w < rows.size(); ++w) {
        std::vector<double> expected(rows.size());
        std::size_t similar = 0;
        for (std::uint32_t v = 0; v < rows.size(); ++v) {
            expected[v] = v == w ? 0 : reference::similarity(rows[w], rows[v], options.measure);
            similar += expected[v] > 0;
        }
        const std::uint64_t begin = found.offsets[w], end = found.offsets[w + 1];
        ASSERT_EQ(end - begin, std::min<std::uint64_t>(options.top, similar)) << "of word " << w;
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::uint32_t v = found.words[i];
            ASSERT_NE(v, w);
            ASSERT_NEAR(found.scores[i], expected[v], 1e-6 * expected[v]) << w << " and " << v;
            if (i > begin) {
                ASSERT_TRUE(found.scores[i - 1] > found.scores[i] ||
                            (found.scores[i - 1] == found.scores[i] && found.words[i - 1] < v))
                    << "order of word " << w;
            }
            expected[v] = 0;
        }
        if (end - begin == options.top) {
            const double least = found.scores[end - 1];
            for (const double excluded : expected) ASSERT_LE(excluded, least * (1 + 1e-6)) << "of word " << w;
        }
    }
}

void expect_same(const neighbour_lists& a, const neighbour_lists& b) {
    ASSERT_EQ(a.offsets, b.offsets);
    ASSERT_EQ(a.words, b.words);
    ASSERT_EQ(a.scores, b.scores);
}

template <class Tested>
class similar_words_test : public on_place<Tested> {
  protected:
    /// The same lists, passed on in pieces.
    neighbour_lists find_in_pieces(const context_matrix& matrix, const similarity_options& options) {
        neighbour_lists gathered;
        neighbour_lists found =
            similar_words(matrix.view(), options, Tested::ctx(),
                          [&](std::span<const std::uint32_t> words, std::span<const double> scores) {
                              EXPECT_EQ(words.size(), scores.size());
                              gathered.words.insert(gathered.words.end(), words.begin(), words.end());
                              gathered.scores.insert(gathered.scores.end(), scores.begin(), scores.end());
                          });
        EXPECT_TRUE(found.words.empty() && found.scores.empty());
        gathered.offsets = std::move(found.offsets);
        return gathered;
    }
    neighbour_lists find(const context_matrix& matrix, const similarity_options& options) {
        return similar_words(matrix.view(), options, Tested::ctx());
    }
    /// The place several times.
    static chosen_device several(std::size_t count) {
        chosen_device chosen = choose_device(Tested::ctx(), "this test");
        chosen.more = further_places(chosen, count - 1);
        return chosen;
    }
    /// All methods, both measures; against the reference if that is fast.
    void check(const context_matrix& matrix, std::uint32_t top, std::uint32_t columns = 0xfffffffe,
               bool against_reference = true) {
        for (const similarity_measure measure : all_measures) {
            const auto plain =
                similar_words(matrix.view(), options_of(similarity_method::compressed, measure, top, columns),
                              context::cpu(1));
            if (against_reference)
                expect_as_reference(matrix.view(), options_of({}, measure, top, columns), plain);
            for (const similarity_method method : all_methods) {
                SCOPED_TRACE(similarity_method_names[static_cast<int>(method)]);
                SCOPED_TRACE(measure == similarity_measure::lin ? "lin" : "cosine");
                expect_same(find(matrix, options_of(method, measure, top, columns)), plain);
                expect_same(find_in_pieces(matrix, options_of(method, measure, top, columns)), plain);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
};
TYPED_TEST_SUITE(similar_words_test, tested_places, tested_place_names);

TYPED_TEST(similar_words_test, hostile_matrices) {
    for (const auto& [name, matrix] : hostile_matrices()) {
        SCOPED_TRACE(name);
        for (const std::uint32_t top : {1U, 3U, 20U, 1000U}) this->check(matrix, top);
    }
}

TYPED_TEST(similar_words_test, sizes_around_tiles) {
    for (const std::uint32_t words : {3U, 31U, 32U, 33U, 63U, 64U, 65U, 127U, 128U, 129U, 255U, 257U, 513U}) {
        SCOPED_TRACE(words);
        this->check(text_like(words, 40 + words, 60, words), 5, 0xfffffffe, words < 200);
        this->check(full_of_ties(words, 9, words), 7, 0xfffffffe, words < 200);
    }
}

TYPED_TEST(similar_words_test, fewer_columns) {
    const context_matrix matrix = text_like(200, 300, 120, 3);
    for (const std::uint32_t columns : {1U, 2U, 31U, 32U, 33U, 100U, 299U, 300U, 301U}) {
        SCOPED_TRACE(columns);
        this->check(matrix, 10, columns);
    }
}

TYPED_TEST(similar_words_test, ties_of_column_counts_keep_the_lower) {
    context_matrix matrix = full_of_ties(60, 20, 9);
    std::fill(matrix.column_counts.begin(), matrix.column_counts.end(), 7);
    this->check(matrix, 4, 5);
}

TYPED_TEST(similar_words_test, many_words) {
    const bool small = tested_with().small_sizes;
    const context_matrix matrix = text_like(small ? 700 : 1501, 2000, small ? 200 : 600, 17);
    this->check(matrix, 20, 50, false);
    for (const similarity_measure measure : all_measures) {
        const auto plain = similar_words(
            matrix.view(), options_of(similarity_method::compressed, measure, 20), context::cpu());
        expect_same(this->find(matrix, options_of(similarity_method::automatic, measure, 20)), plain);
    }
}

TYPED_TEST(similar_words_test, many_words_with_equal_scores) {
    const context_matrix matrix = full_of_ties(tested_with().small_sizes ? 300 : 1300, 12, 5);
    for (const std::uint32_t top : {1U, 3U, 30U}) this->check(matrix, top, 12, false);
}

TYPED_TEST(similar_words_test, tiles_of_any_size) {
    const context_matrix matrix = text_like(150, 200, 80, 5);
    for (const similarity_method method :
         {similarity_method::compressed, similarity_method::column_reduced}) {
        const auto plain = this->find(matrix, options_of(method, similarity_measure::lin, 10));
        for (const std::uint64_t bytes : {1ULL, 800ULL, 9000ULL, 1ULL << 20}) {
            auto options = options_of(method, similarity_measure::lin, 10);
            options.tile_bytes = bytes;
            expect_same(this->find(matrix, options), plain);
        }
    }
}

TYPED_TEST(similar_words_test, all_and_pairs_give_the_same_scores) {
    const context_matrix matrix = text_like(90, 120, 50, 8);
    for (const similarity_measure measure : all_measures) {
        const auto options = options_of({}, measure, 1000, 80);
        const auto lists = this->find(matrix, options);
        std::vector<std::vector<double>> expected(90, std::vector<double>(90));
        const auto rows = reference::dense_rows(matrix.view(), 80);
        for (std::uint32_t w = 0; w < 90; ++w) {
            for (std::uint64_t i = lists.offsets[w]; i < lists.offsets[w + 1]; ++i)
                expected[w][lists.words[i]] = lists.scores[i];
            expected[w][w] =
                std::any_of(rows[w].begin(), rows[w].end(), [](double x) { return x > 0; }) ? 1 : 0;
        }
        std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
        std::vector<double> of_pairs;
        std::uint32_t next = 0;
        all_similarities(matrix.view(), options, TypeParam::ctx(),
                         [&](std::uint32_t w, std::span<const double> scores) {
                             ASSERT_EQ(w, next++);
                             ASSERT_EQ(std::vector<double>(scores.begin(), scores.end()), expected[w]);
                             for (std::uint32_t v = 0; v < 90; ++v) {
                                 pairs.emplace_back(w, v);
                                 of_pairs.push_back(scores[v]);
                             }
                         });
        EXPECT_EQ(next, 90U);
        EXPECT_EQ(pair_similarities(matrix.view(), options, pairs, TypeParam::ctx()), of_pairs);
        // Every first word alone, so that each pair is merged.
        std::vector<double> expected_turned;
        for (std::size_t i = 0; i < pairs.size(); ++i)
            expected_turned.push_back(of_pairs[i % 90 * 90 + i / 90]);
        for (auto& [a, b] : pairs) std::swap(a, b);
        EXPECT_EQ(pair_similarities(matrix.view(), options, pairs, TypeParam::ctx()), expected_turned);
    }
}

TYPED_TEST(similar_words_test, refuses_what_is_no_matrix) {
    const context_matrix good = matrix_of({{{0, 1.F}, {2, 2.F}}, {{1, 1.F}}, {{0, 3.F}}}, 3);
    const auto refused = [&](const context_matrix_view& matrix, const char* why) {
        for (const similarity_method method : all_methods) {
            try {
                (void)similar_words(matrix, options_of(method, similarity_measure::lin, 2), TypeParam::ctx());
                ADD_FAILURE() << "taken, though it " << why;
            } catch (const usage_error& e) {
                EXPECT_THAT(e.what(), ::testing::HasSubstr(why));
            }
        }
    };
    const auto broken = [&](auto breaking, const char* why) {
        context_matrix bad = good;
        breaking(bad);
        refused(bad.view(), why);
    };
    broken([](auto& m) { m.offsets.pop_back(); }, "number of rows plus 1");
    broken([](auto& m) { m.offsets.clear(); }, "number of rows plus 1");
    broken([](auto& m) { m.offsets[1] = 4; }, "row 1 of the matrix ends before it begins");
    broken([](auto& m) { m.offsets[2] = 1; }, "row 1 of the matrix ends before it begins");
    broken([](auto& m) { m.offsets[0] = 1; }, "do not cover");
    broken([](auto& m) { m.offsets[3] = 5; }, "do not cover");
    broken([](auto& m) { m.weights.pop_back(); }, "different numbers of weights");
    broken([](auto& m) { m.columns[3] = 3; }, "row 2 of the matrix has a column past the last");
    broken([](auto& m) { m.columns[2] = 0xffffffff; }, "row 1 of the matrix has a column past the last");
    broken([](auto& m) { m.columns[1] = 0; }, "row 0 of the matrix has columns that do not ascend");
    broken([](auto& m) { std::swap(m.columns[0], m.columns[1]); }, "columns that do not ascend");
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float weight : {0.F, -0.F, -1.F, infinity, -infinity, std::nanf("")})
        broken([&](auto& m) { m.weights[2] = weight; }, "row 1 of the matrix has a weight that is not");
    context_matrix_view none;
    none.columns = good.columns;
    none.weights = good.weights;
    refused(none, "do not cover");
}

TYPED_TEST(similar_words_test, refuses_options_out_of_range) {
    const context_matrix matrix = full_of_ties(10, 5, 1);
    auto options = options_of(similarity_method::automatic, similarity_measure::lin, 0);
    EXPECT_THROW(this->find(matrix, options), usage_error);
    options.top = 1;
    options.columns = 0;
    EXPECT_THROW(this->find(matrix, options), usage_error);
    options = options_of(similarity_method::column_reduced, similarity_measure::lin, 3, all_columns);
    EXPECT_THROW(this->find(matrix, options), usage_error);
    options.columns = 3;
    options.threads = 2000;
    EXPECT_THROW(this->find(matrix, options), usage_error);
    const std::pair<std::uint32_t, std::uint32_t> beyond[] = {{0, 10}};
    EXPECT_THROW((void)pair_similarities(matrix.view(), {}, beyond, TypeParam::ctx()), usage_error);
}

TYPED_TEST(similar_words_test, several_places_find_the_same) {
    auto matrices = hostile_matrices();
    matrices.emplace_back("like text", text_like(300, 400, 120, 11));
    matrices.emplace_back("full of ties", full_of_ties(130, 9, 12));
    matrices.emplace_back("two words", text_like(2, 30, 20, 1));
    for (const auto& [name, matrix] : matrices) {
        SCOPED_TRACE(name);
        for (const auto& [measure, top] : {std::pair{similarity_measure::lin, 20U},
                                           {similarity_measure::cosine, 3U},
                                           {similarity_measure::lin, 2000U},
                                           {similarity_measure::weeds, 20U},
                                           {similarity_measure::skew, 1U}}) {
            const auto options = options_of({}, measure, top, 350);
            const auto plain = similar_words(matrix.view(), options, context::cpu(1));
            for (const std::size_t places : {2, 3}) {
                const chosen_device chosen = this->several(places);
                expect_same(similar_words_on(chosen, matrix.view(), options, TypeParam::ctx()), plain);
                neighbour_lists passed;
                const neighbour_sink sink = [&](std::span<const std::uint32_t> words,
                                                std::span<const double> scores) {
                    passed.words.insert(passed.words.end(), words.begin(), words.end());
                    passed.scores.insert(passed.scores.end(), scores.begin(), scores.end());
                };
                passed.offsets =
                    similar_words_on(chosen, matrix.view(), options, TypeParam::ctx(), &sink).offsets;
                expect_same(passed, plain);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TYPED_TEST(similar_words_test, several_places_fail_as_one) {
    const context_matrix matrix = text_like(300, 400, 120, 11);
    const std::atomic<int> signal{2};
    context stopped = TypeParam::ctx();
    stopped.stop_signal = &signal;
    EXPECT_THROW((void)similar_words_on(this->several(2), matrix.view(), {}, stopped), interrupted);
    const neighbour_sink full = [](std::span<const std::uint32_t>, std::span<const double>) {
        throw io_error("a file", "writing", 28);
    };
    EXPECT_THROW((void)similar_words_on(this->several(2), matrix.view(), {}, TypeParam::ctx(), &full),
                 io_error);
    context_matrix bad = matrix;
    bad.weights[2] = -1;
    EXPECT_THROW((void)similar_words_on(this->several(2), bad.view(), {}, TypeParam::ctx()), usage_error);
}

TEST(shares_of_words, cover_all_words_with_less_and_less_work) {
    const context_matrix matrix = text_like(2000, 3000, 300, 4);
    cpu_place place(context::cpu(1));
    const owned_rows owned = kept_rows(place, matrix.view(), {});
    for (const std::size_t places : {1, 2, 3, 8}) {
        const auto shares = shares_of_words(owned.rows, places);
        EXPECT_GE(shares.size(), 4 * places);
        EXPECT_LE(shares.size(), 16 * places);
        std::uint32_t next = 0;
        for (const word_range& share : shares) {
            EXPECT_EQ(share.first, next);
            EXPECT_GE(share.count, 1U);
            next += share.count;
        }
        EXPECT_EQ(next, matrix.words);
    }
}

TYPED_TEST(similar_words_test, says_where_it_ran) {
    const auto found = this->find(full_of_ties(10, 5, 1), {});
    EXPECT_THAT(found.place, ::testing::HasSubstr(
                                 std::is_same_v<typename TypeParam::place_type, cpu_place> ? "cpu" : "cuda"));
}

TYPED_TEST(similar_words_test, stops_when_requested) {
    const std::atomic<int> signal{2};
    context ctx = TypeParam::ctx();
    ctx.stop_signal = &signal;
    EXPECT_THROW((void)similar_words(full_of_ties(100, 5, 1).view(), {}, ctx), interrupted);
    EXPECT_THROW((void)pair_similarities(full_of_ties(100, 5, 1).view(), {}, {}, ctx), interrupted);
}

TYPED_TEST(similar_words_test, memory_is_requested) {
    // The rows in fixed point take less than half a megabyte, two dense tiles of their columns several.
    const context_matrix matrix = text_like(100, 20'000, 3000, 1);
    context ctx = TypeParam::ctx();
    ctx.memory_bytes = 2U << 20;
    const auto options = options_of(similarity_method::column_reduced, similarity_measure::lin, 5, 20'000);
    if (std::is_same_v<typename TypeParam::place_type, cpu_place>) {
        EXPECT_THROW((void)similar_words(matrix.view(), options, ctx), out_of_memory);
    }
    // A row by column for each thread, and the matrix's own weights.
    const std::pair<std::uint32_t, std::uint32_t> pairs[] = {{0, 1}, {0, 2}};
    ctx.memory_bytes = 64U << 10;
    EXPECT_THROW((void)pair_similarities(matrix.view(), {}, pairs, ctx), out_of_memory);
}

}  // namespace
}  // namespace quern::similar_words_test
