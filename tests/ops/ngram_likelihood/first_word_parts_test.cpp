// SPDX-License-Identifier: Apache-2.0
// Collections of several parts: the partition, and the counted n-grams.
#include "ops/ngram_likelihood/order/first_word_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "quern/ops/ngram_likelihood.hpp"

namespace quern::first_word_parts_test {
namespace {

/// Words by a skewed distribution, including `vocabulary` itself.
std::vector<std::uint32_t> made_words(std::size_t size, std::uint32_t vocabulary) {
    std::mt19937_64 random(vocabulary);
    std::vector<std::uint32_t> words(size);
    for (std::uint32_t& word : words) {
        const std::uint64_t drawn = random() % (std::uint64_t{vocabulary} + 1);
        word = static_cast<std::uint32_t>(random() % 4 == 0 ? drawn : drawn >> random() % 32);
    }
    return words;
}

TEST(first_word_parts, hold_every_position_in_order) {
    for (const std::size_t size : {0, 1, 70'000, 9'000'000}) {
        for (const std::uint32_t vocabulary : {0U, 5U, 4095U, 4096U, 1U << 20, ~std::uint32_t{0} - 1}) {
            const std::vector<std::uint32_t> words = made_words(size, vocabulary);
            for (const unsigned threads : {1U, 3U}) {
                cpu_place place(context::cpu(threads));
                const ngram_detail::first_word_parts parts(place, words, vocabulary);
                std::vector<std::uint32_t> positions(size);
                parts.partition(place, std::span<std::uint32_t>(positions));
                ASSERT_EQ(parts.begins().front(), 0U);
                ASSERT_EQ(parts.begins().back(), size);
                if (size < 1'000'000 || vocabulary == 0) {
                    ASSERT_EQ(parts.begins().size(), 2U);
                } else {
                    ASSERT_GT(parts.begins().size(), 3U);
                }
                std::vector<bool> seen(size);
                std::uint64_t next_word = 0, largest = 0;
                for (std::size_t part = 1; part < parts.begins().size(); ++part) {
                    const std::uint64_t least = next_word;
                    for (std::size_t i = parts.begins()[part - 1]; i < parts.begins()[part]; ++i) {
                        ASSERT_LT(positions[i], size);
                        ASSERT_FALSE(seen[positions[i]]);
                        seen[positions[i]] = true;
                        if (i != parts.begins()[part - 1]) {
                            ASSERT_LT(positions[i - 1], positions[i]);
                        }
                        ASSERT_GE(words[positions[i]], least);
                        next_word =
                            std::max<std::uint64_t>(next_word, words[positions[i]] + std::uint64_t{1});
                    }
                    largest = std::max(largest, parts.begins()[part] - parts.begins()[part - 1]);
                }
                ASSERT_EQ(parts.largest(), largest);
            }
        }
    }
}

TEST(first_word_parts, give_the_counts_of_maps) {
    constexpr std::uint32_t vocabulary = 300;
    const std::vector<std::uint32_t> words = made_words(5'000'000, vocabulary);
    std::vector<std::uint64_t> documents{0};
    for (std::uint64_t size = 1; documents.back() != words.size(); size = size * 7 % 10'007)
        documents.push_back(std::min<std::uint64_t>(words.size(), documents.back() + size));
    std::vector<std::uint64_t> singles(vocabulary + 1);
    std::vector<std::uint64_t> pairs((vocabulary + 1) * (vocabulary + 1));
    for (std::size_t d = 1; d < documents.size(); ++d) {
        for (std::uint64_t i = documents[d - 1]; i < documents[d]; ++i) {
            ++singles[words[i]];
            if (i + 1 < documents[d]) ++pairs[words[i] * (vocabulary + 1) + words[i + 1]];
        }
    }
    for (const unsigned threads : {1U, 3U}) {
        std::vector<std::uint64_t> found_singles(singles.size()), found_pairs(pairs.size());
        std::uint64_t last = 0;
        count_collection_ngrams({.words = words, .documents = documents, .vocabulary = vocabulary},
                                {.order = 2}, context::cpu(threads), [&](const collection_ngrams& ngrams) {
                                    for (std::size_t i = 0; i < ngrams.counts.size(); ++i) {
                                        const std::uint32_t* const ngram = &words[ngrams.positions[i]];
                                        if (ngrams.n == 1) {
                                            found_singles[ngram[0]] += ngrams.counts[i];
                                            continue;
                                        }
                                        const std::uint64_t pair = ngram[0] * (vocabulary + 1) + ngram[1];
                                        ASSERT_TRUE(pair > last || last == 0);
                                        last = pair;
                                        found_pairs[pair] += ngrams.counts[i];
                                    }
                                });
        EXPECT_EQ(found_singles, singles);
        EXPECT_EQ(found_pairs, pairs);
    }
}

}  // namespace
}  // namespace quern::first_word_parts_test
