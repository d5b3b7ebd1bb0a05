// SPDX-License-Identifier: Apache-2.0
// One test for every split of the work: whole collections at once, document by document, pruned or not, on every
// instruction set of this machine. All must give the reference's documents and scores, bit for bit.
#include "quern/ops/search.hpp"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/search/probabilistic_scorers.hpp"
#include "ops/search/search_impl.hpp"
#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"

namespace quern::search_test {
namespace {

using namespace quern::search_samples;
using search_detail::strategy;

// Every strategy against the reference, with block bounds that use the lengths and without.
void expect_reference(const sample& collection, const query& requested, const ranking_options& options,
                      std::size_t k) {
    const collection_view view{collection.lengths, collection.total()};
    std::vector<scored_document> expected;
    for (const bool with_lengths : {true, false}) {
        const encoded_query encoded(collection, requested, with_lengths);
        if (with_lengths)
            expected = reference::search(collection.lengths, collection.total(), encoded.words, options, k);
        ASSERT_EQ(search(view, {encoded.terms}, options, k), expected);
        if (k == 0) continue;
        for (const strategy& how : all_strategies)
            ASSERT_EQ(search_detail::rank_cpu(view, {encoded.terms}, options, k, how), expected)
                << "window " << how.window << (how.prune ? ", pruned" : "") << ", k " << k << ", model "
                << static_cast<int>(options.model) << ", " << collection.lengths.size() << " documents";
    }
}

class search_models : public ::testing::TestWithParam<ranking_model> {};
INSTANTIATE_TEST_SUITE_P(all, search_models, ::testing::ValuesIn(all_models));

TEST_P(search_models, matches_reference_at_every_size) {
    for (const std::uint32_t documents : {1u, 31u, 32u, 33u, 127u, 128u, 129u, 255u, 257u, 4097u}) {
        const auto collection = random_sample(documents, {1.0, 0.5, 0.1, 0.02, 0.9}, documents);
        for (const std::size_t k : {0u, 1u, 10u, 1000u, 100000u})
            expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}}, {.model = GetParam()}, k);
    }
}

TEST_P(search_models, titles_match_reference) {
    const auto collection = random_sample(9'000, {0.9, 0.6, 0.3, 0.02, 0.002}, 6);
    for (const double weight : {1e-12, 0.25, 3.0, 100.0})
        for (const std::size_t k : {1u, 10u, 300u, 100'000u})
            expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}, {4, 1}},
                             {.model = GetParam(), .title_weight = weight}, k);
}

TEST_P(search_models, matches_reference_over_many_windows) {
    const auto collection = random_sample(13'000, {0.9, 0.6, 0.3, 0.02, 0.002, 0.0003}, 5);
    for (const std::size_t k : {1u, 10u, 300u})
        for (const query& requested :
             {query{{0, 1}, {4, 1}}, query{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {5, 1}}, query{{5, 3}}})
            expect_reference(collection, requested, {.model = GetParam()}, k);
}

TEST_P(search_models, ties_go_to_the_first_documents) {
    sample collection;
    collection.lengths.assign(1000, 7);
    collection.words.resize(2);
    for (std::uint32_t d = 0; d < 1000; ++d) collection.words[d % 2][d] = 1;
    for (const std::size_t k : {1u, 63u, 64u, 65u, 499u, 500u, 501u, 999u, 1000u})
        expect_reference(collection, {{0, 1}, {1, 1}}, {.model = GetParam()}, k);
    const encoded_query encoded(collection, {{1, 1}});
    const auto found = search({collection.lengths, 7000}, {encoded.terms}, {.model = GetParam()}, 3);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].document, 1u);
    EXPECT_EQ(found[1].document, 3u);
    EXPECT_EQ(found[2].document, 5u);
}

TEST_P(search_models, extreme_parameters) {
    const auto collection = random_sample(300, {0.9, 0.2}, 8);
    const double smallest = std::numeric_limits<double>::denorm_min(), below_one = std::nextafter(1.0, 0.0);
    for (const ranking_options options :
         {ranking_options{.k1 = 0, .b = 0, .mu = 0x1p-64, .lambda = smallest},
          ranking_options{.k1 = 0x1p64, .b = 1, .mu = 0x1p64, .lambda = below_one},
          ranking_options{.k1 = smallest, .b = smallest, .mu = 1e-3, .lambda = 1e-9}}) {
        auto requested = options;
        requested.model = GetParam();
        requested.c = std::clamp(options.k1, 0x1p-64, 0x1p64);
        requested.delta = std::min(options.k1, 10.0);
        if (GetParam() == ranking_model::atire || uses_delta(GetParam()))
            requested.k1 = std::min(requested.k1, 100.0);
        expect_reference(collection, {{0, 1}, {1, 100'000}}, requested, 20);
    }
}

TEST_P(search_models, huge_frequencies_and_lengths) {
    sample collection;
    constexpr std::uint32_t max = std::numeric_limits<std::uint32_t>::max();
    collection.words.resize(2);
    for (std::uint32_t d = 0; d < 300; ++d) {
        collection.words[0][d] = d % 3 == 0 ? max - d : 1 + d;
        if (d % 7 == 0) collection.words[1][d] = 1u << 31;
        collection.lengths.push_back(d % 5 == 0 ? max : max - 2 * d);
    }
    expect_reference(collection, {{0, 1}, {1, 2}}, {.model = GetParam()}, 10);
}

TEST_P(search_models, a_word_twice_in_the_query_counts_twice) {
    const auto collection = random_sample(500, {0.7, 0.1}, 9);
    const encoded_query twice(collection, {{0, 1}, {1, 1}, {0, 1}}), counted(collection, {{0, 2}, {1, 1}});
    const collection_view view{collection.lengths, collection.total()};
    EXPECT_EQ(search(view, {twice.terms}, {.model = GetParam()}, 50),
              search(view, {counted.terms}, {.model = GetParam()}, 50));
}

TEST_P(search_models, empty_lists_and_empty_documents) {
    sample collection = random_sample(200, {0.0, 0.5}, 10);
    collection.lengths[199] = 0;
    collection.words[1].erase(199);
    expect_reference(collection, {{0, 1}}, {.model = GetParam()}, 10);
    expect_reference(collection, {{0, 1}, {1, 1}}, {.model = GetParam()}, 1000);
    expect_reference(collection, {{1, 0}}, {.model = GetParam()}, 10);
    EXPECT_TRUE(search({}, {}, {.model = GetParam()}, 10).empty());
    EXPECT_TRUE(search({collection.lengths, collection.total()}, {}, {.model = GetParam()}, 10).empty());
}

TEST_P(search_models, one_giant_list_next_to_rare_words) {
    const auto collection = random_sample(12'000, {1.0, 0.0005, 0.0002}, 11, false);
    for (const std::size_t k : {1u, 10u, 40'000u})
        expect_reference(collection, {{0, 1}, {1, 1}, {2, 1}}, {.model = GetParam()}, k);
}

RC_GTEST_PROP(search, any_collection_matches_reference, ()) {
    const auto documents = *rc::gen::inRange<std::uint32_t>(1, 700);
    std::vector<double> densities;
    for (const int permille : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001)))
        densities.push_back(permille / 1000.0);
    if (densities.size() > 6) densities.resize(6);
    const auto collection = random_sample(documents, densities, *rc::gen::arbitrary<std::uint64_t>());
    query requested;
    for (std::size_t w = 0; w < densities.size(); ++w) requested.emplace_back(w, *rc::gen::inRange(0u, 4u));
    const ranking_options options{
        .model = *rc::gen::elementOf(std::vector(std::begin(all_models), std::end(all_models))),
        .k1 = *rc::gen::inRange(0, 40) / 10.0,
        .b = *rc::gen::inRange(0, 11) / 10.0,
        .mu = *rc::gen::inRange(1, 4000) / 2.0,
        .lambda = *rc::gen::inRange(1, 100) / 100.0,
        .delta = *rc::gen::inRange(0, 30) / 10.0,
        .c = *rc::gen::inRange(1, 300) / 10.0};
    expect_reference(collection, requested, options, *rc::gen::inRange<std::size_t>(1, 2 * documents));
}

TEST(search, every_instruction_set_gives_the_same_bits) {
    const auto collection = random_sample(9'000, {0.8, 0.3, 0.01}, 12);
    const encoded_query encoded(collection, {{0, 1}, {1, 1}, {2, 1}});
    for (const auto model : all_models) {
        const auto expected =
            reference::search(collection.lengths, collection.total(), encoded.words, {.model = model}, 9'000);
        for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
            hwy::SetSupportedTargetsForTest(target);
            hwy::GetChosenTarget().Update(hwy::SupportedTargets());
            EXPECT_EQ(
                search({collection.lengths, collection.total()}, {encoded.terms}, {.model = model}, 9'000),
                expected)
                << hwy::TargetName(target);
        }
        hwy::SetSupportedTargetsForTest(0);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
}

// Two documents by hand: N = 2, lengths 2 and 4, the word once in the first and twice in the second.
TEST(search, scores_are_those_of_the_formulas) {
    const sample collection{{2, 4}, {{{0, 1}, {1, 2}}}};
    const encoded_query encoded(collection, {{0, 1}});
    const collection_view view{collection.lengths, 6};
    const auto score = [&](const ranking_options& options, std::uint32_t document) {
        for (const auto& found : search(view, {encoded.terms}, options, 2))
            if (found.document == document) return found.score();
        return std::nan("");
    };
    const double idf = std::log(1 + 0.5 / 2.5);
    const ranking_options bm25{.k1 = 0.9, .b = 0.4};
    EXPECT_NEAR(score(bm25, 0), idf / (1 + 0.9 * (0.6 + 0.4 * 2 / 3)), 1e-9);
    EXPECT_NEAR(score(bm25, 1), idf * 2 / (2 + 0.9 * (0.6 + 0.4 * 4 / 3)), 1e-9);
    const ranking_options ql{.model = ranking_model::ql, .lambda = 0.25};
    EXPECT_NEAR(score(ql, 0), std::log(0.25 / 2 + 0.75 * 3 / 6), 1e-9);
    EXPECT_NEAR(score(ql, 1), std::log(0.25 * 2 / 4 + 0.75 * 3 / 6), 1e-9);
    const ranking_options dirichlet{.model = ranking_model::dirichlet, .mu = 10};
    EXPECT_NEAR(score(dirichlet, 0), std::log((1 + 10 * 0.5) / (2 + 10)), 1e-9);
    EXPECT_NEAR(score(dirichlet, 1), std::log((2 + 10 * 0.5) / (4 + 10)), 1e-9);
    const ranking_options two_stage{.model = ranking_model::two_stage, .mu = 10, .lambda = 0.7};
    EXPECT_NEAR(score(two_stage, 0), std::log(0.7 * (1 + 10 * 0.5) / (2 + 10) + 0.3 * 0.5), 1e-9);
    EXPECT_NEAR(score(two_stage, 1), std::log(0.7 * (2 + 10 * 0.5) / (4 + 10) + 0.3 * 0.5), 1e-9);
}

// Kamphuis et al. 2020; Amati and van Rijsbergen 2002. N = 5, df = 1, f = 2, |d| = 4, average 6, cf = 2.
TEST(search, variants_are_those_of_the_formulas) {
    const sample collection{{4, 100, 0, 0, 0}, {{{0, 2}}}};
    const encoded_query encoded(collection, {{0, 1}});
    const auto score = [&](ranking_options options) {
        options.k1 = 1.2;
        options.b = 0.75;
        return search({collection.lengths, 30}, {encoded.terms}, options, 1).front().score();
    };
    const double norm = 0.25 + 0.75 * 4 / 6, k = 1.2 * norm, saturated = 2.2 * 2 / (k + 2);
    EXPECT_NEAR(score({.model = ranking_model::lucene}), std::log(1 + 4.5 / 1.5) * 2 / (k + 2), 1e-9);
    EXPECT_NEAR(score({.model = ranking_model::robertson}), std::log(4.5 / 1.5) * 2 / (k + 2), 1e-9);
    EXPECT_NEAR(score({.model = ranking_model::atire}), std::log(5.0) * saturated, 1e-9);
    EXPECT_NEAR(score({.model = ranking_model::bm25_plus, .delta = 1}), std::log(6.0) * (saturated + 1),
                1e-9);
    const double c = 2 / norm;
    EXPECT_NEAR(score({.model = ranking_model::bm25l, .delta = 0.5}),
                std::log(6.0 / 1.5) * 2.2 * (c + 0.5) / (1.2 + c + 0.5), 1e-9);
    const double t = 2 * std::log2(1 + 3.0 * 6 / 4), mean = 2.0 / 5;
    EXPECT_NEAR(
        score({.model = ranking_model::pl2, .c = 3}),
        (t * std::log2(t / mean) + (mean - t) * std::log2(std::exp(1.0)) + 0.5 * std::log2(2 * M_PI * t)) /
            (t + 1),
        1e-9);
    EXPECT_NEAR(score({.model = ranking_model::inl2, .c = 3}), t / (t + 1) * std::log2(6.0 / 1.5), 1e-9);
}

/// SmallFloat.intToByte4 of Lucene, and back.
std::uint32_t by_lucene(std::uint32_t length) {
    if (length < 24) return length;
    const std::uint64_t rest = length - 24;
    const auto bits = static_cast<int>(std::bit_width(rest));
    const int encoded =
        bits < 4 ? static_cast<int>(rest) : static_cast<int>(rest >> (bits - 4) & 7) | (bits - 3) << 3;
    const int shift = (encoded >> 3) - 1;
    return 24 +
           static_cast<std::uint32_t>(shift < 0 ? encoded & 7 : std::uint64_t((encoded & 7) | 8) << shift);
}

TEST(search, lucene_keeps_lengths_in_a_byte) {
    for (std::uint32_t length = 0; length < 100'000; ++length)
        ASSERT_EQ(search_detail::lucene_length(length), by_lucene(length));
    EXPECT_EQ(search_detail::lucene_length(~0U), by_lucene(~0U));
    // Equal lengths for Lucene are equal scores.
    const sample collection{{100, 101, 104}, {{{0, 1}, {1, 1}, {2, 1}}}};
    const encoded_query encoded(collection, {{0, 1}});
    const auto found =
        search({collection.lengths, 305}, {encoded.terms}, {.model = ranking_model::lucene}, 3);
    EXPECT_EQ(found[0].fixed_score, found[1].fixed_score);
    EXPECT_NE(found[1].fixed_score, found[2].fixed_score);
}

// The bound of PL2 holds where the divergence falls with the frequency.
TEST(search, bounds_of_pl2_hold_for_frequent_words) {
    for (const std::uint64_t occurrences : {1u, 900u, 5'000u, 100'000u, 100'000'000u})
        for (const double c : {0.001, 1.0, 50.0}) {
            const std::vector<std::uint32_t> lengths(1000, 100);
            const posting_list list{{}, 900, occurrences};
            const search_detail::pl2_scorer scorer({lengths, 100'000}, list,
                                                   {.model = ranking_model::pl2, .c = c});
            std::int64_t highest = 0;
            for (std::uint32_t f = 1; f < 400; ++f)
                for (const std::uint32_t length : {400u, 5'000u, 1'000'000u}) {
                    highest = std::max(highest, scorer.part(f, length));
                    ASSERT_GE(scorer.bound(f, 400) + 1, highest);
                }
        }
}

TEST(search, refuses_parameters_out_of_range) {
    const auto refused = [](const ranking_options& options) {
        EXPECT_THROW(search({}, {}, options, 10), usage_error);
    };
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    for (const double k1 : {-0.1, nan, infinity}) refused({.k1 = k1});
    for (const double b : {-0.1, 1.1, nan}) refused({.b = b});
    for (const double lambda : {0.0, 1.0, -1.0, nan}) refused({.model = ranking_model::ql, .lambda = lambda});
    for (const double mu : {0.0, -1.0, nan, infinity}) refused({.model = ranking_model::dirichlet, .mu = mu});
    refused({.model = static_cast<ranking_model>(99)});
    refused({.model = ranking_model::atire, .k1 = 101});
    refused({.model = ranking_model::bm25l, .delta = -1});
    refused({.model = ranking_model::pl2, .c = 0});
    const sample collection{{1}, {{{0, 1}}}};
    const encoded_query encoded(collection, {{0, 262'145}});
    EXPECT_THROW(search({collection.lengths, 1}, {encoded.terms}, {}, 1), usage_error);
}

TEST(search, counts_that_cannot_be_are_damage) {
    const auto collection = random_sample(100, {0.5}, 13);
    const encoded_query encoded(collection, {{0, 1}});
    const auto with = [&](auto change) {
        auto terms = encoded.terms;
        change(terms[0].list);
        EXPECT_THROW(search({collection.lengths, collection.total()}, {terms}, {}, 1), damaged_store);
    };
    with([](posting_list& list) { list.collection_frequency = list.document_frequency - 1; });
    with([&](posting_list& list) { list.collection_frequency = collection.total() + 1; });
    with([](posting_list& list) { list.document_frequency = 101; });
    with([](posting_list& list) { list.bytes = list.bytes.first(list.bytes.size() - 1); });
}

}  // namespace
}  // namespace quern::search_test
