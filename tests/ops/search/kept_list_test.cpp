// SPDX-License-Identifier: Apache-2.0
// Ranking by kept lists: every form of the lists, with all and with some terms required, gives the reference's documents,
// scores and counts, bit for bit.
#include "ops/search/kept_list.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/search_samples.hpp"

namespace quern::kept_list_test {
namespace {

using namespace quern::search_samples;
using search_detail::kept_form;
using search_detail::kept_list;
using search_detail::kept_term;

constexpr std::optional<kept_form> all_forms[] = {std::nullopt, kept_form::documents, kept_form::windows,
                                                  kept_form::dense};

/// Query words as kept terms; `forms`: of each word in turn.
struct kept_query {
    std::vector<kept_list> lists;
    std::vector<kept_term> terms;

    kept_query(const collection_view& view, const encoded_query& encoded, const ranking_options& options,
               const std::vector<std::optional<kept_form>>& forms, const std::vector<bool>& required = {},
               const std::vector<bool>& excluded = {}) {
        lists.reserve(encoded.terms.size());
        for (std::size_t i = 0; i < encoded.terms.size(); ++i) {
            lists.push_back(
                search_detail::keep_list(view, encoded.terms[i], options, forms[i % forms.size()]));
            terms.push_back({&lists.back(), encoded.terms[i].count, !required.empty() && required[i],
                             !excluded.empty() && excluded[i]});
        }
    }
};

void expect_reference(const sample& collection, const query& requested, const ranking_options& options,
                      std::size_t k, const std::vector<std::optional<kept_form>>& forms,
                      const std::vector<bool>& required = {}, const std::vector<bool>& excluded = {},
                      const std::vector<std::uint64_t>& passing = {}) {
    const collection_view view{collection.lengths, collection.total()};
    const encoded_query encoded(collection, requested);
    std::optional<std::set<std::uint32_t>> allowed;
    for (std::size_t i = 0; i < required.size(); ++i) {
        if (!required[i]) continue;
        std::set<std::uint32_t> both;
        for (const auto& [d, _] : encoded.words[i].documents)
            if (!allowed || allowed->contains(d)) both.insert(d);
        allowed = std::move(both);
    }
    auto words = encoded.words;
    for (std::size_t i = excluded.size(); i > 0; --i) {
        if (!excluded[i - 1]) continue;
        if (!allowed) {
            allowed.emplace();
            for (std::uint32_t d = 0; d < collection.lengths.size(); ++d) allowed->insert(d);
        }
        for (const auto& [d, _] : encoded.words[i - 1].documents) allowed->erase(d);
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (!passing.empty()) {
        std::set<std::uint32_t> both;
        for (std::uint32_t d = 0; d < collection.lengths.size(); ++d)
            if ((passing[d / 64] >> d % 64 & 1) != 0 && (!allowed || allowed->contains(d))) both.insert(d);
        allowed = std::move(both);
    }
    const auto all = reference::search(collection.lengths, collection.total(), words, options,
                                       collection.lengths.size(), {}, allowed ? &*allowed : nullptr);
    auto expected = all;
    expected.resize(std::min(k, expected.size()));
    const kept_query kept(view, encoded, options, forms, required, excluded);
    const std::uint64_t documents = collection.lengths.size();
    ASSERT_EQ(search_detail::rank_kept(kept.terms, documents, k, nullptr, nullptr, passing), expected);
    std::uint64_t total = 17;
    ASSERT_EQ(search_detail::rank_kept(kept.terms, documents, k, &total, nullptr, passing), expected);
    ASSERT_EQ(total, all.size());
    ASSERT_EQ(search_detail::count_kept(kept.terms, documents, passing), all.size());
    if (passing.empty()) return;

    // The same over the documents that pass alone.
    const search_detail::numbered_documents numbered(passing);
    std::vector<kept_list> lists;
    lists.reserve(kept.terms.size());
    std::vector<kept_term> terms = kept.terms;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        lists.push_back(search_detail::keep_those_of(*terms[i].list, numbered, forms[i % forms.size()]));
        terms[i].list = &lists.back();
    }
    total = 17;
    auto found = search_detail::rank_kept(terms, numbered.size(), k, &total);
    for (scored_document& of : found) of.document = numbered.document(of.document);
    ASSERT_EQ(found, expected);
    ASSERT_EQ(total, all.size());
}

class kept_models : public ::testing::TestWithParam<ranking_model> {};
INSTANTIATE_TEST_SUITE_P(all, kept_models, ::testing::Values(ranking_model::bm25, ranking_model::ql));

TEST_P(kept_models, match_reference_at_every_size_in_every_form) {
    for (const std::uint32_t documents : {1u, 31u, 127u, 129u, 1023u, 1024u, 1025u, 4097u, 9000u}) {
        const auto collection = random_sample(documents, {1.0, 0.5, 0.1, 0.02, 0.9, 0.002}, documents);
        for (const auto form : all_forms)
            for (const std::size_t k : {0u, 1u, 10u, 11u, 100u, 1001u, 100000u})
                expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}, {5, 2}}, {.model = GetParam()},
                                 k, {form});
    }
}

TEST_P(kept_models, titles_match_reference) {
    const auto collection = random_sample(5'000, {0.9, 0.3, 0.02, 0.002}, 6);
    for (const double weight : {1e-12, 0.25, 100.0})
        for (const auto form : all_forms)
            for (const std::size_t k : {1u, 10u, 300u})
                expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}},
                                 {.model = GetParam(), .title_weight = weight}, k, {form});
}

TEST_P(kept_models, required_terms_match_reference) {
    const auto collection = random_sample(5'000, {0.9, 0.5, 0.1, 0.02, 0.002}, 21);
    for (const auto& required :
         {std::vector{true, true, false, false, false}, std::vector{true, false, true, true, false},
          std::vector{false, false, true, false, false}, std::vector{true, true, true, true, true}})
        for (const auto form : all_forms)
            for (const std::size_t k : {1u, 10u, 100u, 10000u})
                expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 3}, {4, 1}}, {.model = GetParam()},
                                 k, {form}, required);
}

TEST_P(kept_models, excluded_terms_match_reference) {
    const auto collection = random_sample(5'000, {0.9, 0.5, 0.1, 0.02, 0.002}, 22);
    for (const auto& excluded :
         {std::vector{true, false, false, false, false}, std::vector{false, true, false, true, false},
          std::vector{false, false, true, false, false}, std::vector{false, true, true, true, true},
          std::vector{true, true, true, false, true}, std::vector{true, true, false, true, true}})
        for (const auto& required :
             {std::vector<bool>(5), std::vector{!excluded[0], false, false, !excluded[3], false}})
            for (const auto form : all_forms)
                for (const std::size_t k : {1u, 10u, 100u, 10000u})
                    expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 3}, {4, 1}},
                                     {.model = GetParam()}, k, {form}, required, excluded);
}

/// Every `step`-th document of [begin, end).
std::vector<std::uint64_t> every(std::uint32_t step, std::uint32_t begin, std::uint32_t end,
                                 std::uint32_t documents) {
    std::vector<std::uint64_t> bits((documents + 63) / 64);
    for (std::uint32_t d = begin; d < end; d += step) bits[d / 64] |= std::uint64_t{1} << d % 64;
    return bits;
}

TEST(numbered_documents, are_those_of_the_set_in_order) {
    for (const std::uint32_t documents : {0u, 1u, 63u, 64u, 65u, 1000u})
        for (const std::uint32_t step : {1u, 3u, 64u, 500u}) {
            const auto bits = every(step, 0, documents, documents);
            const search_detail::numbered_documents numbered(bits);
            ASSERT_EQ(numbered.size(), (documents + step - 1) / step);
            for (std::uint32_t i = 0; i < numbered.size(); ++i) {
                ASSERT_EQ(numbered.document(i), i * step);
                ASSERT_EQ(numbered.number(i * step), i);
            }
            for (std::uint32_t d = 0; d < documents; ++d)
                ASSERT_EQ(numbered.number(d), (d + step - 1) / step);
        }
}

TEST_P(kept_models, documents_that_pass_match_reference) {
    constexpr std::uint32_t documents = 70'000;  // three windows of bits
    const auto collection = random_sample(documents, {0.9, 0.3, 0.05, 0.004, 0.0004}, 23);
    for (const auto& passing : {every(1, 0, 0, documents), every(1, 0, documents, documents),
                                every(3, 1, documents, documents), every(997, 5, documents, documents),
                                every(1, 40'000, 40'300, documents), every(2, 66'000, documents, documents)})
        for (const auto& [required, excluded] :
             {std::pair(std::vector<bool>(5), std::vector<bool>(5)),
              std::pair(std::vector{false, true, true, false, false}, std::vector<bool>(5)),
              std::pair(std::vector{true, false, false, false, false},
                        std::vector{false, false, true, false, false}),
              std::pair(std::vector<bool>(5), std::vector{true, false, false, true, false}),
              std::pair(std::vector<bool>(5), std::vector{false, true, true, true, true})})
            for (const std::size_t k : {1u, 10u, 200u})
                expect_reference(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 3}, {4, 1}}, {.model = GetParam()},
                                 k, {{}}, required, excluded, passing);
    for (const auto form : all_forms)
        for (const std::uint32_t word : {0u, 2u, 4u})
            expect_reference(collection, {{word, 2}}, {.model = GetParam()}, 10, {form}, {}, {},
                             every(11, 300, 50'000, documents));
}

TEST_P(kept_models, ties_go_to_the_first_documents) {
    sample collection;
    collection.lengths.assign(3000, 7);
    collection.words.resize(2);
    for (std::uint32_t d = 0; d < 3000; ++d) collection.words[d % 2][d] = 1;
    for (const auto form : all_forms)
        for (const std::size_t k : {1u, 9u, 10u, 11u, 63u, 65u, 99u, 100u, 1000u, 1499u, 1501u, 3000u})
            expect_reference(collection, {{0, 1}, {1, 1}}, {.model = GetParam()}, k, {form});
}

TEST_P(kept_models, words_of_no_document_add_nothing) {
    const auto collection = random_sample(2000, {0.5, 0.0, 0.01}, 4);
    for (const auto form : all_forms) {
        expect_reference(collection, {{1, 1}}, {.model = GetParam()}, 10, {form});
        expect_reference(collection, {{0, 1}, {1, 1}, {2, 1}}, {.model = GetParam()}, 10, {form});
        expect_reference(collection, {{0, 1}, {1, 1}}, {.model = GetParam()}, 10, {form}, {true, true});
    }
    EXPECT_TRUE(search_detail::rank_kept({}, 2000, 10).empty());
    const auto one_passes = every(2000, 7, 2000, 2000);
    EXPECT_TRUE(search_detail::rank_kept({}, 2000, 10, nullptr, nullptr, one_passes).empty());
    for (const auto& excluded : {std::vector{false}, std::vector{true}}) {
        expect_reference(collection, {{1, 1}}, {.model = GetParam()}, 10, {{}}, {}, excluded, one_passes);
        expect_reference(collection, {{1, 1}, {2, 1}}, {.model = GetParam()}, 10, {{}}, {}, {false, true},
                         one_passes);
    }
}

TEST_P(kept_models, huge_frequencies_and_parameters) {
    const auto collection = random_sample(1500, {0.9, 0.2, 0.01}, 8);
    for (const ranking_options of : {ranking_options{.k1 = 0, .b = 0, .lambda = 1e-300},
                                     ranking_options{.k1 = 0x1p64, .b = 1, .lambda = 0.999999}}) {
        auto options = of;
        options.model = GetParam();
        for (const auto form : all_forms)
            expect_reference(collection, {{0, 1}, {1, 100'000}, {2, 100}}, options, 20, {form});
    }
}

RC_GTEST_PROP(kept_lists, any_collection_matches_reference_in_any_forms, ()) {
    const auto documents = *rc::gen::inRange<std::uint32_t>(1, 4000);
    const auto words = *rc::gen::inRange<std::size_t>(1, 6);
    std::vector<double> densities;
    query requested;
    std::vector<std::optional<kept_form>> forms;
    std::vector<bool> required, excluded;
    for (std::size_t w = 0; w < words; ++w) {
        const double density = *rc::gen::inRange(0, 1001) / 1000.0;
        densities.push_back(*rc::gen::element(1.0, 0.1, 0.01) * density);
        requested.emplace_back(w, *rc::gen::inRange(0u, 4u));
        forms.push_back(*rc::gen::element(all_forms[0], all_forms[1], all_forms[2], all_forms[3]));
        required.push_back(requested.back().second != 0 && *rc::gen::inRange(0, 4) == 0);
        excluded.push_back(requested.back().second != 0 && !required.back() && *rc::gen::inRange(0, 4) == 0);
    }
    const auto collection = random_sample(documents, densities, *rc::gen::arbitrary<std::uint64_t>());
    const auto k = *rc::gen::element<std::size_t>(1, 5, 10, 50, 100, 999, 5000);
    const auto model = *rc::gen::element(ranking_model::bm25, ranking_model::ql);
    expect_reference(collection, requested, {.model = model}, k, forms);
    expect_reference(collection, requested, {.model = model}, k, forms, required);
    expect_reference(collection, requested, {.model = model}, k, forms, required, excluded);
    expect_reference(collection, requested, {.model = model}, k, forms, {}, excluded);
    RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(kept_lists, forms_follow_the_share_of_documents) {
    using search_detail::kept_form_for;
    EXPECT_EQ(kept_form_for(10, 80), kept_form::dense);
    EXPECT_EQ(kept_form_for(12'499, 100'000), kept_form::windows);
    EXPECT_EQ(kept_form_for(12'500, 100'000), kept_form::dense);
    EXPECT_EQ(kept_form_for(700, 100'000), kept_form::documents);
}

TEST(kept_lists, their_size_is_bounded) {
    for (const double density : {1.0, 0.2, 0.05, 0.001}) {
        const auto collection = random_sample(20'000, {density}, 3);
        const collection_view view{collection.lengths, collection.total()};
        const encoded_query encoded(collection, {{0, 1}});
        const auto list = search_detail::keep_list(view, encoded.terms[0], {});
        EXPECT_LE(list.bytes(), search_detail::kept_bytes(list.size, 20'000)) << density;
    }
}

TEST(kept_lists, models_that_score_lengths_are_not_kept) {
    EXPECT_TRUE(search_detail::can_be_kept(ranking_model::bm25));
    EXPECT_TRUE(search_detail::can_be_kept(ranking_model::ql));
    EXPECT_FALSE(search_detail::can_be_kept(ranking_model::dirichlet));
    EXPECT_FALSE(search_detail::can_be_kept(ranking_model::two_stage));
}

}  // namespace
}  // namespace quern::kept_list_test
