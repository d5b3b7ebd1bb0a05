// SPDX-License-Identifier: Apache-2.0
// Models for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/language_model/back_off_model.hpp"

namespace quern::testing {

/// Random n-grams; some lack their ends or beginnings.
inline back_off_model random_model(unsigned order, std::uint32_t words, std::size_t size, bool few_values,
                                   std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto value = [&] {
        return few_values ? -static_cast<float>(random() % 50) / 16
                          : -static_cast<float>(random() % (1 << 30)) / (1 << 27);
    };
    std::vector<ngram_list> lists(order);
    for (unsigned n = 1; n <= order; ++n) {
        ngram_list& list = lists[n - 1];
        list.n = n;
        std::set<std::vector<std::uint32_t>> ngrams;
        if (n == 1)
            for (std::uint32_t w = 0; w < words; ++w) ngrams.insert({w});
        else
            for (std::size_t i = 0; i < size; ++i) {
                std::vector<std::uint32_t> g(n);
                for (std::uint32_t& w : g)
                    w = random() % 4 == 0 ? 7 % words
                                          : static_cast<std::uint32_t>(random() % (1 + random() % words));
                ngrams.insert(g);
            }
        for (const auto& g : ngrams) {
            list.words.insert(list.words.end(), g.begin(), g.end());
            list.logarithms.push_back(random() % 50 == 0 ? 0 : value());
            if (n < order)
                list.back_offs.push_back(random() % 3 == 0 ? 0 : random() % 40 == 0 ? 0.25F : value());
        }
    }
    back_off_model::repeated_ngram repeated;
    back_off_model made(std::move(lists), repeated);
    EXPECT_EQ(repeated.n, 0U);
    return made;
}

struct aligned_bytes {
    explicit aligned_bytes(const std::vector<char>& bytes)
        : words((bytes.size() + 7) / 8), size(bytes.size()) {
        std::memcpy(words.data(), bytes.data(), size);
    }
    std::string_view view() const { return {reinterpret_cast<const char*>(words.data()), size}; }
    std::vector<std::uint64_t> words;
    std::size_t size;
};

/// 200 pairs end with word 0, and each of these is the end of many triples or of none.
inline back_off_model model_with_many_children() {
    std::vector<ngram_list> lists(3);
    constexpr std::uint32_t words = 6000;
    for (unsigned n = 1; n <= 3; ++n) lists[n - 1].n = n;
    const auto add = [&](std::vector<std::uint32_t> g) {
        ngram_list& to = lists[g.size() - 1];
        to.words.insert(to.words.end(), g.begin(), g.end());
        to.logarithms.push_back(-1 - static_cast<float>(to.size() % 13));
        if (g.size() < 3) to.back_offs.push_back(-static_cast<float>(to.size() % 7));
    };
    for (std::uint32_t w = 0; w < words; ++w) add({w});
    for (std::uint32_t w = 0; w < 200; ++w) {
        add({0, w});
        if (w % 50 == 3)
            for (std::uint32_t v = w % 2; v < words; v += 2) add({0, w, v});
    }
    back_off_model::repeated_ngram repeated;
    return {std::move(lists), repeated};
}

}  // namespace quern::testing
