// SPDX-License-Identifier: Apache-2.0
#include "quern/ops/search.hpp"

#include <gtest/gtest.h>

#include "ops/search/search_samples.hpp"

namespace {

using namespace quern;
using namespace quern::search_samples;

constexpr ranking_model all_models[] = {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet};

void expect_matches_reference(const sample& collection,
                              const std::vector<std::pair<std::size_t, std::uint32_t>>& query,
                              const ranking_options& options, std::size_t k) {
    std::vector<encoded_list> lists;
    std::vector<reference::query_word> words;
    for (const auto& [word, count] : query) {
        lists.emplace_back(collection.words[word], collection.lengths);
        words.push_back({collection.words[word], count});
    }
    std::vector<query_term> terms;
    for (std::size_t i = 0; i < query.size(); ++i) terms.push_back({lists[i].view(), query[i].second});
    const auto expected = reference::search(collection.lengths, collection.total(), words, options, k);
    EXPECT_EQ(quern::search({collection.lengths, collection.total()}, terms, options, k), expected);
}

TEST(search, matches_reference_at_every_size) {
    for (const std::uint32_t documents : {1u, 31u, 32u, 33u, 127u, 128u, 129u, 255u, 257u, 4097u}) {
        const auto collection = random_sample(documents, {1.0, 0.5, 0.1, 0.02, 0.9}, documents);
        for (const auto model : all_models)
            for (const std::size_t k : {0u, 1u, 10u, 1000u, 100000u})
                expect_matches_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}}, {.model = model}, k);
    }
}

}  // namespace
