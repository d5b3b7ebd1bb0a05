// SPDX-License-Identifier: Apache-2.0
// Words joined to a prior and to another list, including weighted terms: every split of the work against the reference, and
// against the top-k engine, which gets the lists sorted and knows nothing of documents.
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/search/scoring.hpp"
#include "ops/search/search_impl.hpp"
#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern::score_components_test {
namespace {

using namespace quern::search_samples;

struct components_sample {
    sample collection;
    std::vector<std::uint64_t> ranks;
    std::vector<std::int64_t> boosts;
    std::optional<std::uint32_t> excluded;
    std::vector<std::uint32_t> allowed;
    std::vector<std::uint64_t> passing;  // the same as bits
    std::vector<std::uint32_t> weights;  // of the terms
    double prior_weight = 1;
    bool with_prior = true, with_list = true, with_allowed = false;

    double unit() const { return static_cast<double>(ranks.size()) * 0x1p-62; }
};

components_sample make_sample(std::uint32_t documents, const std::vector<double>& densities,
                              std::uint64_t seed) {
    components_sample made{random_sample(documents, densities, seed), {}, {}, {}, {}, {}, {}};
    std::mt19937_64 random(seed ^ 0x5eed);
    for (std::uint32_t d = 0; d < documents; ++d) {
        // Few different ones, so that scores tie; some that no graph produces.
        const std::uint64_t rank = (std::uint64_t{1} << 62) / documents;
        const std::uint64_t ranks[] = {rank, rank / 7, rank * (1 + random() % 3), 1 + random() % rank, 0, 1};
        made.ranks.push_back(ranks[random() % (random() % 16 == 0 ? 6 : 3)]);
        const std::int64_t unit = std::int64_t{1} << 32;
        const std::int64_t parts[] = {no_boost, 0, unit, -unit,
                                      static_cast<std::int64_t>(random() % (1u << 30))};
        made.boosts.push_back(parts[random() % 5]);
        if (random() % 3 != 0) made.allowed.push_back(d);
    }
    made.passing = bits_of(made.allowed, documents);
    if (documents != 0 && random() % 2 == 0) made.excluded = static_cast<std::uint32_t>(random() % documents);
    for (std::size_t w = 0; w < densities.size(); ++w)
        made.weights.push_back(w % 2 == 0 ? weight_one
                                          : 1 + static_cast<std::uint32_t>(random() % weight_one));
    return made;
}

struct requested_lists {
    encoded_query encoded;
    search_query whole;

    requested_lists(const components_sample& of, const query& requested) : encoded(of.collection, requested) {
        for (std::size_t i = 0; i < encoded.terms.size(); ++i) {
            encoded.terms[i].weight = of.weights[requested[i].first];
            encoded.words[i].weight = of.weights[requested[i].first];
        }
        whole.terms = encoded.terms;
        if (of.with_prior) whole.prior = document_prior{of.ranks, of.unit(), of.prior_weight};
        if (of.with_list) whole.boosts = of.boosts;
        if (of.with_allowed && of.allowed.size() % 2 == 0) whole.allowed = of.allowed;
        if (of.with_allowed && of.allowed.size() % 2 == 1) whole.passing = of.passing;
        whole.excluded = of.excluded;
    }
    requested_lists(const requested_lists&) = delete;
    requested_lists& operator=(const requested_lists&) = delete;
};

std::vector<scored_document> slow_result(const components_sample& of, const requested_lists& requested,
                                         const ranking_options& options, std::size_t k) {
    reference::score_components joined;
    if (of.with_prior) joined = {of.ranks, of.unit(), of.prior_weight, {}, {}};
    if (of.with_list) joined.boosts = of.boosts;
    joined.excluded = of.excluded;
    const std::set<std::uint32_t> allowed(of.allowed.begin(), of.allowed.end());
    return reference::search(of.collection.lengths, of.collection.total(), requested.encoded.words, options,
                             k, {}, of.with_allowed ? &allowed : nullptr, joined);
}

void expect_reference(const components_sample& of, const query& words, const ranking_options& options,
                      std::size_t k) {
    const collection_view view{of.collection.lengths, of.collection.total()};
    requested_lists requested(of, words);
    const auto expected = slow_result(of, requested, options, k);
    ASSERT_EQ(search(view, requested.whole, options, k), expected);
    for (const auto& how : all_strategies)
        ASSERT_EQ(search_detail::rank_cpu(view, requested.whole, options, k, how), expected)
            << "window " << how.window << (how.prune ? ", pruned" : "") << ", k " << k << ", model "
            << static_cast<int>(options.model) << ", " << of.ranks.size() << " documents";
    if (of.with_prior) {
        const auto max = max_ranks(of.ranks);
        requested.whole.prior->max = max;
        ASSERT_EQ(search(view, requested.whole, options, k), expected);
    }
    for (const scored_document& found : expected) {
        std::int64_t sum = of.with_prior ? prior_part(*requested.whole.prior, found.document) : 0;
        if (of.with_list && of.boosts[found.document] != no_boost) sum += of.boosts[found.document];
        for (const auto& parts : explain(view, requested.whole, options, found.document)) sum += parts.sum();
        ASSERT_EQ(sum, found.fixed_score);
    }
}

class components_models : public ::testing::TestWithParam<ranking_model> {};
INSTANTIATE_TEST_SUITE_P(all, components_models, ::testing::ValuesIn(all_models));

TEST_P(components_models, match_reference_at_every_size) {
    for (const std::uint32_t documents : {1u, 31u, 32u, 33u, 255u, 257u, 4097u, 9000u}) {
        auto of = make_sample(documents, {0.9, 0.5, 0.1, 0.02}, documents);
        for (const int kinds : {1, 2, 3, 5, 7}) {
            of.with_prior = (kinds & 1) != 0;
            of.with_list = (kinds & 2) != 0;
            of.with_allowed = (kinds & 4) != 0;
            for (const std::size_t k : {1u, 10u, 100000u})
                expect_reference(of, {{0, 1}, {1, 2}, {2, 1}, {3, 1}},
                                 {.model = GetParam(), .title_weight = documents % 2 * 0.25}, k);
        }
    }
}

TEST_P(components_models, a_heavy_prior_decides) {
    auto of = make_sample(13'000, {0.9, 0.3, 0.01, 0.002}, 77);
    of.with_list = false;
    for (const double weight : {0.0, 0.01, 1.0, 100.0})
        for (const std::size_t k : {1u, 10u, 500u}) {
            of.prior_weight = weight;
            expect_reference(of, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}, {.model = GetParam()}, k);
        }
}

TEST_P(components_models, a_list_alone_ranks_its_documents) {
    auto of = make_sample(5'000, {0.1}, 78);
    of.with_prior = false;
    expect_reference(of, {}, {.model = GetParam()}, 20);
    expect_reference(of, {{0, 0}}, {.model = GetParam()}, 10'000);
}

RC_GTEST_PROP(joined, any_collection_matches_reference, ()) {
    const auto documents = *rc::gen::inRange<std::uint32_t>(1, 600);
    std::vector<double> densities;
    for (const int permille : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001)))
        densities.push_back(permille / 1000.0);
    if (densities.size() > 5) densities.resize(5);
    auto of = make_sample(documents, densities, *rc::gen::arbitrary<std::uint64_t>());
    of.with_prior = *rc::gen::arbitrary<bool>();
    of.with_list = *rc::gen::arbitrary<bool>();
    of.with_allowed = *rc::gen::arbitrary<bool>();
    of.prior_weight = *rc::gen::inRange(0, 50) / 10.0;
    query requested;
    for (std::size_t w = 0; w < densities.size(); ++w) requested.emplace_back(w, *rc::gen::inRange(0u, 4u));
    const ranking_options options{
        .model = *rc::gen::elementOf(std::vector(std::begin(all_models), std::end(all_models))),
        .mu = *rc::gen::inRange(1, 4000) / 2.0,
        .lambda = *rc::gen::inRange(1, 100) / 100.0,
        .title_weight = *rc::gen::inRange(0, 4) / 4.0};
    expect_reference(of, requested, options, *rc::gen::inRange<std::size_t>(1, 2 * documents));
}

// The lists in the form of the top-k engine: sorted by score, each with its documents. BM25, where a document without a
// word gets nothing, so that a floor of 0 is equivalent.
RC_GTEST_PROP(joined, the_top_k_engine_joins_the_same_lists_to_the_same_answer, ()) {
    const auto documents = *rc::gen::inRange<std::uint32_t>(1, 600);
    auto of = make_sample(documents, {0.4, 0.1, 0.05}, *rc::gen::arbitrary<std::uint64_t>());
    of.excluded.reset();
    const auto k = *rc::gen::inRange<std::uint32_t>(1, documents + 10);
    const collection_view view{of.collection.lengths, of.collection.total()};
    const requested_lists requested(of, {{0, 1}, {1, 1}, {2, 1}});
    const auto found = search(view, requested.whole, {}, k);

    search_query words_alone{requested.encoded.terms};
    struct list {
        std::vector<std::uint32_t> ids;
        std::vector<double> scores;
    };
    list text, prior, boosts;
    for (const auto& d : search(view, words_alone, {}, documents)) {
        text.ids.push_back(d.document);
        text.scores.push_back(d.score());
    }
    const auto sorted = [](std::vector<scored_document> parts) {
        std::ranges::sort(parts, [](const auto& a, const auto& b) {
            return a.fixed_score != b.fixed_score ? a.fixed_score > b.fixed_score : a.document < b.document;
        });
        list made;
        for (const auto& d : parts) {
            made.ids.push_back(d.document);
            made.scores.push_back(d.score());
        }
        return made;
    };
    std::vector<scored_document> with_prior, with_list;
    for (std::uint32_t d = 0; d < documents; ++d) {
        const bool in_text = std::ranges::find(text.ids, d) != text.ids.end();
        const bool in_list = of.boosts[d] != no_boost;
        if (in_text || in_list) with_prior.push_back({d, prior_part(*requested.whole.prior, d)});
        if (in_list) with_list.push_back({d, of.boosts[d]});
    }
    prior = sorted(with_prior);
    boosts = sorted(with_list);
    // A missing part counts 0, which may exceed existing parts. The engine needs a floor below them, so the lists,
    // including 0, are shifted up by a constant.
    const std::vector<ranked_list_view<double>> lists = [&] {
        // Every document of the join is in the prior's list; the others are padded with zeros.
        for (list* of_list : {&text, &boosts}) {
            std::vector<scored_document> all;
            for (std::size_t i = 0; i < of_list->ids.size(); ++i)
                all.push_back({of_list->ids[i], static_cast<std::int64_t>(of_list->scores[i] * 0x1p32)});
            for (const std::uint32_t d : prior.ids)
                if (std::ranges::find(of_list->ids, d) == of_list->ids.end()) all.push_back({d, 0});
            *of_list = sorted(all);
        }
        std::vector<ranked_list_view<double>> views;
        for (const list* of_list : {&text, &prior, &boosts}) {
            const double least = of_list->scores.empty() ? 0 : of_list->scores.back();
            views.push_back({of_list->ids, of_list->scores, 1, std::min(0.0, least)});
        }
        return views;
    }();
    const auto joined = top_k<double>(lists, documents, {.k = k}, context::cpu(1));
    RC_ASSERT(joined.ids.size() == found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        RC_ASSERT(joined.ids[i] == found[i].document);
        RC_ASSERT(joined.scores[i] == found[i].score());
    }
}

TEST(joined, every_instruction_set_gives_the_same_priors) {
    auto of = make_sample(3'000, {0.8, 0.3}, 12);
    of.with_list = false;
    std::mt19937_64 random(4);
    for (auto& rank : of.ranks) rank = random() >> random() % 64;
    requested_lists requested(of, {{0, 1}, {1, 1}});
    const auto expected = slow_result(of, requested, {}, 3'000);
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        EXPECT_EQ(search({of.collection.lengths, of.collection.total()}, requested.whole, {}, 3'000),
                  expected)
            << hwy::TargetName(target);
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(joined, the_prior_is_the_formula) {
    const std::vector<std::uint64_t> ranks{1u << 20, 3u << 20};
    const document_prior prior{ranks, 2 * 0x1p-22, 1.5};
    EXPECT_NEAR(static_cast<double>(prior_part(prior, 0)) * 0x1p-32, 1.5 * std::log(0.5), 1e-9);
    EXPECT_NEAR(static_cast<double>(prior_part(prior, 1)) * 0x1p-32, 1.5 * std::log(1.5), 1e-9);
    EXPECT_THROW(prior_part(prior, 2), usage_error);
}

TEST(joined, what_does_not_fit_is_refused) {
    auto of = make_sample(50, {0.5}, 3);
    const collection_view view{of.collection.lengths, of.collection.total()};
    const auto refused = [&](auto change) {
        requested_lists requested(of, {{0, 1}});
        change(requested);
        EXPECT_THROW(search(view, requested.whole, {}, 1), usage_error);
    };
    refused([](requested_lists& a) { a.encoded.terms[0].weight = 0; });
    refused([](requested_lists& a) { a.encoded.terms[0].weight = weight_one + 1; });
    for (const double weight : {-0.1, 100.1, std::nan("")})
        refused([&](requested_lists& a) { a.whole.prior->weight = weight; });
    for (const double unit : {0.0, -1.0, 0x1p63, std::nan("")})
        refused([&](requested_lists& a) { a.whole.prior->unit = unit; });
    refused([](requested_lists& a) { a.whole.prior->ranks = a.whole.prior->ranks.first(49); });
    refused([](requested_lists& a) { a.whole.boosts = a.whole.boosts->first(49); });
    of.boosts[7] = (std::int64_t{1} << 50) + 1;
    refused([](requested_lists&) {});
}

}  // namespace
}  // namespace quern::score_components_test
