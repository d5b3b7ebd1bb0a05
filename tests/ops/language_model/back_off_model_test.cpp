// SPDX-License-Identifier: Apache-2.0
// Scores equal the definition, applied to n-grams in a map: for random models, with and without the ends and the
// beginnings of their longer n-grams.
#include "ops/language_model/back_off_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace quern::back_off_model_test {
namespace {

using words = std::vector<std::uint32_t>;

struct weights {
    float logarithm, back_off;
};

/// In the order of the text.
using ngram_map = std::map<words, weights>;

double slow_score(const ngram_map& model, words history, std::uint32_t word) {
    history.push_back(word);
    if (const auto found = model.find(history); found != model.end())
        return static_cast<double>(found->second.logarithm);
    if (history.size() == 1) return -std::numeric_limits<double>::infinity();
    history.pop_back();
    const auto of = model.find(history);
    const double back_off = of == model.end() ? 0 : static_cast<double>(of->second.back_off);
    history.erase(history.begin());
    return slow_score(model, std::move(history), word) + back_off;
}

std::vector<ngram_list> lists_of(const ngram_map& model, unsigned order, std::mt19937& random) {
    std::vector<ngram_list> lists(order);
    std::vector<std::pair<words, weights>> shuffled(model.begin(), model.end());
    std::ranges::shuffle(shuffled, random);
    std::ranges::stable_partition(shuffled, [](const auto& of) { return of.first.size() == 1; });
    std::ranges::sort(shuffled, {}, [](const auto& of) {
        return of.first.size() == 1 ? of.first[0] : UINT32_MAX;  // words in order, others as they are
    });
    for (unsigned n = 1; n <= order; ++n) lists[n - 1].n = n;
    for (const auto& [ngram, of] : shuffled) {
        ngram_list& list = lists[ngram.size() - 1];
        list.words.insert(list.words.end(), ngram.rbegin(), ngram.rend());
        list.logarithms.push_back(of.logarithm);
        if (ngram.size() < order) list.back_offs.push_back(of.back_off);
    }
    return lists;
}

void check(unsigned order, std::uint32_t vocabulary, std::size_t ngrams, std::mt19937& random) {
    const auto number = [&] { return -static_cast<float>(random() % 4000) / 1000; };
    ngram_map model;
    for (std::uint32_t w = 0; w < vocabulary; ++w) model[{w}] = {number(), number()};
    for (std::size_t i = 0; i < ngrams && order > 1; ++i) {
        words ngram(2 + random() % (order - 1));
        for (std::uint32_t& w : ngram) w = static_cast<std::uint32_t>(random() % vocabulary);
        model[ngram] = {number(), number()};
    }
    back_off_model::repeated_ngram repeated;
    const back_off_model made(lists_of(model, order, random), repeated);
    ASSERT_EQ(repeated.n, 0U);
    ASSERT_EQ(made.order(), order);
    back_off_model::history history;
    words before;
    for (int i = 0; i < 500; ++i) {
        const auto word = static_cast<std::uint32_t>(random() % vocabulary);
        // The same additions in another order: they differ by roundings of float64.
        EXPECT_NEAR(made.score(word, history), slow_score(model, before, word), 1e-12);
        before.push_back(word);
        if (before.size() >= order) before.erase(before.begin());
        if (random() % 20 == 0) {
            history = made.after(word);
            before.assign(order > 1 ? 1 : 0, word);
        }
    }
}

TEST(back_off_model, scores_equal_the_definition) {
    std::mt19937 random(11);
    for (unsigned order = 1; order <= 6; ++order) {
        for (const std::uint32_t vocabulary : {1U, 3U, 20U}) {
            for (const std::size_t ngrams : {0U, 5U, 60U, 2000U}) check(order, vocabulary, ngrams, random);
        }
    }
}

TEST(back_off_model, a_repeated_ngram_is_reported) {
    std::vector<ngram_list> lists(2);
    lists[0] = {.n = 1, .words = {0, 1}, .logarithms = {-1, -1}, .back_offs = {0, 0}};
    lists[1] = {.n = 2, .words = {1, 0, 0, 0, 1, 0}, .logarithms = {-1, -2, -3}, .back_offs = {}};
    back_off_model::repeated_ngram repeated;
    const back_off_model made(std::move(lists), repeated);
    EXPECT_EQ(repeated.n, 2U);
    EXPECT_EQ(repeated.first, 0U);
    EXPECT_EQ(repeated.second, 2U);
}

}  // namespace
}  // namespace quern::back_off_model_test
