// SPDX-License-Identifier: Apache-2.0
// Compact models score like the models that they are made of, to the bit; damaged ones are refused or harmless.
#include "ops/language_model/compact_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "ops/language_model/block_scorer.hpp"
#include "ops/language_model/random_models.hpp"
#include "quern/base/error.hpp"

namespace quern::compact_model_test {
namespace {

using testing::aligned_bytes;
using testing::model_with_many_children;
using testing::random_model;

template <class Model>
std::vector<double> scores_of(const Model& model, std::uint32_t words, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> made;
    back_off_model::history history;
    for (int i = 0; i < 20000; ++i) {
        if (i % 100 == 0) history = i % 200 == 0 ? model.after(0) : back_off_model::history();
        const std::uint32_t word =
            random() % 3 == 0 ? 7 % words : static_cast<std::uint32_t>(random() % (1 + random() % words));
        made.push_back(model.score(word, history));
    }
    return made;
}

/// The words of scores_of, given in parts of different sizes.
template <class Model>
std::vector<double> scores_in_blocks(const Model& model, std::uint32_t words, std::uint64_t seed,
                                     bool saves_pages = false) {
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> text;
    std::vector<std::uint8_t> begins, is_scored;
    for (int i = 0; i < 20000; ++i) {
        const bool has_mark = i % 200 == 0;
        if (has_mark) {
            text.push_back(0);
            begins.push_back(1);
            is_scored.push_back(0);
        }
        text.push_back(random() % 3 == 0 ? 7 % words
                                         : static_cast<std::uint32_t>(random() % (1 + random() % words)));
        begins.push_back(i % 100 == 0 && !has_mark ? 1 : 0);
        is_scored.push_back(1);
    }
    block_scorer<Model> scorer(model, saves_pages);
    std::vector<double> all(text.size()), made;
    for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = 1 + (size * 7 + 3) % 150) {
        if (saves_pages) size *= 100;  // more than a block has
        const std::size_t count = std::min(size, text.size() - at);
        scorer.score(std::span(text).subspan(at, count), std::span(begins).subspan(at, count),
                     std::span(all).subspan(at, count));
        size = count;
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        if (is_scored[i] != 0) made.push_back(all[i]);
    return made;
}

TEST(compact_model, scores_are_the_same_bits) {
    for (const bool few_values : {true, false}) {
        for (const unsigned order : {1U, 2U, 3U, 5U}) {
            for (const std::uint32_t words : {1U, 2U, 9U, 5000U}) {
                const back_off_model model = random_model(order, words, 30000, few_values, order + words);
                const aligned_bytes bytes(compact_model::encode(model, 0));
                const compact_model compact(bytes.view());
                ASSERT_EQ(compact.order(), model.order());
                for (unsigned n = 1; n <= order; ++n) EXPECT_EQ(compact.size(n), model.size(n));
                const std::vector<double> one_by_one = scores_of(model, words, 3);
                EXPECT_EQ(scores_of(compact, words, 3), one_by_one) << order << " " << words;
                EXPECT_EQ(scores_in_blocks(compact, words, 3), one_by_one) << order << " " << words;
                EXPECT_EQ(scores_in_blocks(model, words, 3), one_by_one) << order << " " << words;
                EXPECT_EQ(scores_in_blocks(compact, words, 3, true), one_by_one) << order << " " << words;
            }
        }
    }
}

TEST(compact_model, nodes_with_many_children_and_none) {
    const back_off_model model = model_with_many_children();
    const aligned_bytes bytes(compact_model::encode(model, 0));
    const compact_model compact(bytes.view());
    for (std::uint32_t w = 0; w < 210; ++w) {
        for (const std::uint32_t v : {0U, 1U, 2U, 77U, 5998U, 5999U}) {
            back_off_model::history a, b;
            for (const std::uint32_t each : {v, w, 0U})
                EXPECT_EQ(model.score(each, a), compact.score(each, b)) << w << " " << v;
        }
    }
}

TEST(compact_model, quantised_scores_are_near) {
    const back_off_model model = random_model(3, 500, 20000, false, 5);
    for (const unsigned bits : {1U, 4U, 8U, 16U}) {
        const aligned_bytes bytes(compact_model::encode(model, bits));
        const compact_model compact(bytes.view());
        EXPECT_EQ(compact.quantised_bits(), bits);
        const std::vector<double> exact = scores_of(model, 500, 3), found = scores_of(compact, 500, 3);
        double error = 0;
        for (std::size_t i = 0; i < exact.size(); ++i)
            error += std::abs(exact[i] - found[i]) / static_cast<double>(exact.size());
        EXPECT_LT(error, 32.0 / (1 << bits)) << bits;
        if (bits < 16) {
            EXPECT_GT(error, 0) << bits;
        }  // 16 bits suffice for all of them
    }
}

TEST(compact_model, damaged_bytes_are_refused_or_harmless) {
    const back_off_model model = random_model(3, 300, 3000, true, 6);
    const std::vector<char> whole = compact_model::encode(model, 0);
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 7) {
        const aligned_bytes part(
            std::vector<char>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
        EXPECT_THROW(compact_model{part.view()}, invalid_value);
    }
    std::mt19937_64 random(9);
    for (int i = 0; i < 200; ++i) {
        std::vector<char> damaged = whole;
        const std::size_t at = i % 2 == 0 ? random() % 200 : random() % damaged.size();
        damaged[at] = static_cast<char>(random());
        const aligned_bytes bytes(damaged);
        try {
            const compact_model compact(bytes.view());
            if (compact.size(1) == 300) scores_of(compact, 300, 3);
        } catch (const invalid_value&) {
        }
    }
}

}  // namespace
}  // namespace quern::compact_model_test
