// SPDX-License-Identifier: Apache-2.0
// Cases that small matrices do not reach on a GPU: several tiles and groups of rows, rows and columns longer than a block's
// list, more candidates than the capacity, and lists too long for candidates.
#include <gtest/gtest.h>

#include "../../on_each_place.hpp"
#include "quern/ops/word_similarity.hpp"
#include "word_matrices.hpp"

namespace quern::similar_words_large_test {
namespace {

constexpr similarity_measure all_measures[] = {similarity_measure::lin, similarity_measure::cosine};

similarity_options best_of(std::uint32_t top, similarity_measure measure) {
    similarity_options options;
    options.top = top;
    options.measure = measure;
    return options;
}

template <class Tested>
class similar_words_large_test : public on_place<Tested> {
  protected:
    /// Then half a matrix suffices: sizes that are large for a GPU take minutes under the thread sanitizer.
    static constexpr bool on_cpu = std::is_same_v<typename Tested::place_type, cpu_place>;

    void check(const context_matrix& matrix, const similarity_options& options, context ctx = Tested::ctx()) {
        similarity_options plain = options;
        plain.method = similarity_method::automatic;
        const neighbour_lists expected = similar_words(matrix.view(), plain, context::cpu());
        const neighbour_lists found = similar_words(matrix.view(), options, ctx);
        ASSERT_EQ(found.offsets, expected.offsets);
        ASSERT_EQ(found.words, expected.words);
        ASSERT_EQ(found.scores, expected.scores);
    }
};
TYPED_TEST_SUITE(similar_words_large_test, tested_places, tested_place_names);

TYPED_TEST(similar_words_large_test, more_words_than_a_tile) {
    if (tested_with().small_sizes) GTEST_SKIP() << "a large matrix";
    if (this->on_cpu) GTEST_SKIP() << "tiles of a GPU's block";
    const context_matrix matrix = text_like(54'000, 3000, 40, 1);
    for (const similarity_measure measure : all_measures) {
        similarity_options options = best_of(5, measure);
        const neighbour_lists found = similar_words(matrix.view(), options, TypeParam::ctx());
        options.method = similarity_method::compressed;
        const neighbour_lists expected = similar_words(matrix.view(), options, TypeParam::ctx());
        ASSERT_EQ(found.offsets, expected.offsets);
        ASSERT_EQ(found.words, expected.words);
        ASSERT_EQ(found.scores, expected.scores);
    }
}

TYPED_TEST(similar_words_large_test, long_rows_and_columns) {
    const context_matrix matrix =
        text_like(tested_with().small_sizes || this->on_cpu ? 1100 : 2600, 3000, 6000, 2);
    for (const similarity_measure measure : all_measures) {
        this->check(matrix, best_of(20, measure));
        similarity_options compressed = best_of(20, measure);
        compressed.method = similarity_method::compressed;
        if (!tested_with().small_sizes) this->check(matrix, compressed);
    }
}

TYPED_TEST(similar_words_large_test, more_candidates_than_room) {
    std::vector<std::vector<std::pair<std::uint32_t, float>>> rows(800, {{1, 0.7F}, {2, 0.1F}, {5, 3.F}});
    for (std::size_t w = 0; w < rows.size(); w += 7) rows[w].emplace_back(3, 0.2F);
    for (std::size_t w = 0; w < rows.size(); w += 31) rows[w].clear();
    const context_matrix matrix = matrix_of(rows, 6);
    for (const similarity_measure measure : all_measures)
        for (const std::uint32_t top : {1U, 20U, 300U}) this->check(matrix, best_of(top, measure));
}

TYPED_TEST(similar_words_large_test, candidates_of_long_lists) {
    if (tested_with().small_sizes) GTEST_SKIP() << "a large matrix";
    const context_matrix matrix = text_like(this->on_cpu ? 1400 : 4000, 900, 150, 4);
    for (const similarity_measure measure : all_measures)
        for (const std::uint32_t top : {127U, 129U, 1023U, 1024U, 1025U, 3000U, 5000U})
            this->check(matrix, best_of(top, measure));
}

TYPED_TEST(similar_words_large_test, within_little_memory) {
    const context_matrix matrix =
        text_like(tested_with().small_sizes || this->on_cpu ? 900 : 3000, 5000, 800, 5);
    context ctx = TypeParam::ctx();
    for (const std::uint64_t bytes : {3ULL << 20, 5ULL << 20, 12ULL << 20}) {
        SCOPED_TRACE(bytes);
        ctx.gpu_memory_bytes = bytes;
        for (const similarity_measure measure : all_measures) this->check(matrix, best_of(20, measure), ctx);
    }
    similarity_options options = best_of(20, similarity_measure::lin);
    options.method = similarity_method::compressed;
    this->check(matrix, options, ctx);
    options.method = similarity_method::column_reduced;
    options.columns = 5000;
    this->check(matrix, options, ctx);
}

TYPED_TEST(similar_words_large_test, launches_of_any_shape) {
    const context_matrix matrix = text_like(300, 400, 200, 6);
    similarity_options options = best_of(10, similarity_measure::lin);
    options.columns = 399;
    for (const similarity_method method :
         {similarity_method::compressed, similarity_method::column_reduced}) {
        options.method = method;
        for (const unsigned threads : {1U, 33U, 64U, 256U, 1024U}) {
            for (const unsigned blocks : {1U, 7U, 1000U}) {
                options.blocks = blocks;
                options.threads = threads;
                this->check(matrix, options);
            }
        }
    }
}

}  // namespace
}  // namespace quern::similar_words_large_test
