// SPDX-License-Identifier: Apache-2.0
// Every method and measure on matrices of real text, every pair of words against the printed formulas in double
// precision. The text is that of QUERN_DATA, skipped where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../on_each_place.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::similar_words_real_test {
namespace {

/// Words of letters as numbers, the `max` frequent first; others unknown, one passage per line.
std::vector<std::uint32_t> numbered_words(const std::string& text, std::uint32_t max) {
    std::vector<std::string> words;  // empty: the end of a line
    std::map<std::string, std::uint64_t> counts;
    std::string word;
    for (const char c : text) {
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
        if (lower >= 'a' && lower <= 'z') {
            word += lower;
            continue;
        }
        if (!word.empty()) ++counts[word], words.push_back(std::exchange(word, {}));
        if (c == '\n') words.emplace_back();
    }
    std::vector<std::pair<std::uint64_t, std::string>> order;
    for (const auto& [w, count] : counts) order.emplace_back(~count, w);
    std::sort(order.begin(), order.end());
    order.resize(std::min<std::size_t>(order.size(), max));
    std::map<std::string, std::uint32_t> ids;
    for (const auto& [count, w] : order) ids.emplace(w, static_cast<std::uint32_t>(ids.size()));
    std::vector<std::uint32_t> numbers;
    for (const std::string& w : words) {
        const auto id = ids.find(w);
        numbers.push_back(w.empty() ? passage_end : id == ids.end() ? unknown_word : id->second);
    }
    return numbers;
}

/// The score of every pair by the formulas, row by row; a row is laid out densely, so that each pair costs only the other
/// row.
std::vector<std::vector<double>> scores_by_formula(const context_matrix& m, similarity_measure measure) {
    const bool lin = measure == similarity_measure::lin;
    std::vector<double> norms(m.words);
    for (std::uint32_t w = 0; w < m.words; ++w)
        for (std::uint64_t i = m.offsets[w]; i < m.offsets[w + 1]; ++i) {
            const double x = double{m.weights[i]};
            norms[w] += lin ? x : x * x;
        }
    std::vector<std::vector<double>> scores(m.words, std::vector<double>(m.words));
    std::vector<double> row(m.column_counts.size());
    for (std::uint32_t a = 0; a < m.words; ++a) {
        for (std::uint64_t i = m.offsets[a]; i < m.offsets[a + 1]; ++i)
            row[m.columns[i]] = double{m.weights[i]};
        for (std::uint32_t b = 0; b < m.words; ++b) {
            double shared = 0;
            for (std::uint64_t i = m.offsets[b]; i < m.offsets[b + 1]; ++i) {
                const double x = row[m.columns[i]], y = double{m.weights[i]};
                if (x > 0) shared += lin ? x + y : x * y;
            }
            if (shared == 0 || a == b) continue;
            scores[a][b] = lin ? shared / (norms[a] + norms[b]) : shared / std::sqrt(norms[a] * norms[b]);
        }
        for (std::uint64_t i = m.offsets[a]; i < m.offsets[a + 1]; ++i) row[m.columns[i]] = 0;
    }
    return scores;
}

template <class Tested>
class similar_words_real_test : public on_place<Tested> {
  protected:
    void check(const std::string& text, std::uint32_t words, const std::vector<similarity_method>& methods) {
        const auto numbers = numbered_words(text, words);
        for (const word_relation relation : {word_relation::none, word_relation::position}) {
            counting_options counting;
            counting.relation = relation;
            context_counter counter(words, 0, counting, Tested::ctx());
            counter.push(std::span<const std::uint32_t>(numbers));
            const context_matrix matrix = counter.pmi({});
            ASSERT_GT(matrix.columns.size(), 20U * words);
            for (const similarity_measure measure : {similarity_measure::lin, similarity_measure::cosine}) {
                const auto expected = scores_by_formula(matrix, measure);
                for (const similarity_method method : methods)
                    for (const std::uint32_t top : {20U, words})  // 20: those that bounds select
                        expect_scores(matrix, {method, measure, top, 0xfffffffe}, expected);
            }
        }
    }

  private:
    static void expect_scores(const context_matrix& matrix, const similarity_options& options,
                              const std::vector<std::vector<double>>& expected) {
        SCOPED_TRACE(similarity_method_names[static_cast<int>(options.method)]);
        const neighbour_lists found = similar_words(matrix.view(), options, Tested::ctx());
        for (std::uint32_t w = 0; w < matrix.words; ++w) {
            std::vector<double> row = expected[w];
            const std::uint64_t begin = found.offsets[w], end = found.offsets[w + 1];
            for (std::uint64_t i = begin; i < end; ++i) {
                const double score = std::exchange(row[found.words[i]], 0);
                ASSERT_NEAR(found.scores[i], score, 1e-6 * score) << w << ' ' << found.words[i];
            }
            // Excluded words are not above the last one; nothing is excluded if there is space.
            const double least = end - begin < options.top ? 0 : found.scores[end - 1] * (1 + 1e-6);
            ASSERT_LE(*std::max_element(row.begin(), row.end()), least) << w;
        }
    }
};
TYPED_TEST_SUITE(similar_words_real_test, tested_places, tested_place_names);

TYPED_TEST(similar_words_real_test, every_pair_of_a_real_text_is_within_a_millionth) {
    const char* data = std::getenv("QUERN_DATA");
    const auto file =
        std::filesystem::path(data == nullptr ? "" : data) / "wordsim" / "wikitext2" / "test.txt";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "set QUERN_DATA to a folder of real data";
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    // The methods of the thesis cost pairs times columns: fewer words for them.
    this->check(text, tested_with().small_sizes ? 300 : 2000, {similarity_method::automatic});
    this->check(text, tested_with().small_sizes ? 100 : 500,
                {similarity_method::compressed, similarity_method::column_reduced});
}

}  // namespace
}  // namespace quern::similar_words_real_test
