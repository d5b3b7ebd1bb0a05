// SPDX-License-Identifier: Apache-2.0
// The other parts of a query: only some documents, words after a history, and explanations. All against the reference, bit
// for bit.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <deque>
#include <set>

#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::queries_test {
namespace {

using namespace quern::search_samples;

/// A query with all parts; the input of the operation and of the reference.
struct query_plan {
    encoded_query encoded;
    std::deque<std::vector<continued_document>> lists;
    std::vector<query_continuation> continuations;
    std::vector<reference::query_history> histories;
    bool restricted = false;
    std::vector<std::uint32_t> allowed;  // where restricted

    query_plan(const sample& collection, const query& requested) : encoded(collection, requested) {}

    void add_history(reference::query_history history) {
        auto& list = lists.emplace_back();
        query_continuation of;
        of.count = history.count;
        for (const auto& [document, counts] : history.documents) {
            list.push_back({document, counts.first, counts.second});
            of.history += counts.first;
            of.frequency += counts.second;
        }
        of.documents = list;
        continuations.push_back(of);
        histories.push_back(std::move(history));
    }
    void allow(std::vector<std::uint32_t> documents) {
        restricted = true;
        allowed = std::move(documents);
    }

    search_query view() const {
        search_query made{encoded.terms, continuations};
        if (restricted) made.allowed = allowed;
        return made;
    }
    std::vector<scored_document> expected(const sample& collection, const ranking_options& options,
                                          std::size_t k) const {
        const std::set<std::uint32_t> of(allowed.begin(), allowed.end());
        return reference::search(collection.lengths, collection.total(), encoded.words, options, k, histories,
                                 restricted ? &of : nullptr);
    }
};

void expect_reference(const sample& collection, const query_plan& requested, const ranking_options& options,
                      std::size_t k) {
    const collection_view view{collection.lengths, collection.total()};
    const auto expected = requested.expected(collection, options, k);
    ASSERT_EQ(search(view, requested.view(), options, k), expected);
    std::vector<search_query> forms{requested.view()};
    const auto passing = bits_of(requested.allowed, collection.lengths.size());
    if (requested.restricted) {  // the same documents as bits, and as both
        forms.push_back(requested.view());
        forms.back().passing = passing;
        forms.push_back(forms.back());
        forms.back().allowed.reset();
    }
    for (std::size_t form = 0; form < forms.size(); ++form)
        for (const auto& how : all_strategies)
            ASSERT_EQ(search_detail::rank_cpu(view, forms[form], options, k, how), expected)
                << "form " << form << ", window " << how.window << (how.prune ? ", pruned" : "") << ", k "
                << k << ", model " << static_cast<int>(options.model);
}

TEST(queries, a_list_and_bits_restrict_together) {
    const auto collection = random_sample(9'000, {0.6, 0.1}, 31);
    const collection_view view{collection.lengths, collection.total()};
    const encoded_query encoded(collection, {{0, 1}, {1, 1}});
    std::vector<std::uint32_t> second, third, sixth;
    for (std::uint32_t d = 0; d < 9'000; ++d) {
        if (d % 2 == 0) second.push_back(d);
        if (d % 3 == 0) third.push_back(d);
        if (d % 6 == 0) sixth.push_back(d);
    }
    const auto passing = bits_of(third, 9'000);
    search_query both{encoded.terms};
    both.allowed = second;
    both.passing = passing;
    const std::set<std::uint32_t> set(sixth.begin(), sixth.end());
    EXPECT_EQ(search(view, both, {}, 50),
              reference::search(collection.lengths, collection.total(), encoded.words, {}, 50, {}, &set));
}

/// The parts of every document found add up to its score.
void expect_explained(const sample& collection, const query_plan& requested, const ranking_options& options) {
    const collection_view view{collection.lengths, collection.total()};
    for (const scored_document& found : search(view, requested.view(), options, 40)) {
        const auto parts = explain(view, requested.view(), options, found.document);
        ASSERT_EQ(parts.size(), requested.encoded.terms.size() + requested.continuations.size());
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            sum += parts[i].sum();
            if (i >= requested.encoded.terms.size()) continue;
            const auto& documents = requested.encoded.words[i].documents;
            const auto at = documents.find(found.document);
            if (requested.encoded.words[i].count != 0) {
                ASSERT_EQ(parts[i].frequency, at == documents.end() ? 0 : at->second);
            }
        }
        ASSERT_EQ(sum, found.fixed_score);
    }
}

std::vector<std::uint32_t> every(std::uint32_t step, std::uint32_t documents, std::uint32_t first = 0) {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t d = first; d < documents; d += step) chosen.push_back(d);
    return chosen;
}

/// Documents with histories and their continuations: some always continue with the word, some never.
reference::query_history random_history(std::uint32_t documents, double density, std::uint64_t seed,
                                        std::uint32_t count = 1) {
    std::mt19937_64 random(seed);
    reference::query_history history;
    history.count = count;
    for (std::uint32_t d = 0; d < documents; ++d) {
        if (static_cast<double>(random() % 1000) >= 1000 * density) continue;
        const auto h = static_cast<std::uint32_t>(1 + random() % (random() % 16 == 0 ? 4'000'000'000u : 5u));
        history.documents[d] = {h, static_cast<std::uint32_t>(random() % (std::uint64_t{h} + 1))};
    }
    history.documents[documents / 2] = {3, 2};  // the collection contains it
    return history;
}

class query_models : public ::testing::TestWithParam<ranking_model> {};
INSTANTIATE_TEST_SUITE_P(all, query_models, ::testing::ValuesIn(all_models));

TEST_P(query_models, only_allowed_documents_are_found) {
    constexpr std::uint32_t documents = 9'500;
    const auto collection = random_sample(documents, {0.9, 0.4, 0.02, 0.002}, 21);
    for (const auto& chosen : {std::vector<std::uint32_t>{},
                               every(1, documents),
                               every(2, documents),
                               every(7, documents),
                               every(9, documents),
                               every(500, documents, 3),
                               {documents - 1},
                               {0, 4095, 4096, 9'000}})
        for (const std::size_t k : {1u, 10u, 700u, 20'000u}) {
            query_plan requested(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}});
            requested.allow(chosen);
            expect_reference(collection, requested, {.model = GetParam(), .title_weight = k == 10 ? 0.25 : 0},
                             k);
        }
}

TEST_P(query_models, an_allowed_document_without_a_word_is_not_found) {
    const auto collection = random_sample(5'000, {0.01, 0.005}, 22);
    for (const std::uint32_t step : {1u, 3u, 40u}) {
        query_plan requested(collection, {{0, 1}, {1, 1}});
        requested.allow(every(step, 5'000));
        expect_reference(collection, requested, {.model = GetParam()}, 10'000);
    }
}

TEST_P(query_models, parts_add_up_to_the_score) {
    const auto collection = random_sample(3'000, {0.9, 0.3, 0.01, 0.0}, 23);
    query_plan requested(collection, {{0, 1}, {1, 3}, {2, 1}, {3, 1}, {0, 0}});
    for (const double weight : {0.0, 0.25})
        expect_explained(collection, requested, {.model = GetParam(), .title_weight = weight});
}

RC_GTEST_PROP(queries, any_query_matches_reference, ()) {
    const auto documents = *rc::gen::inRange<std::uint32_t>(1, 600);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto collection = random_sample(documents, {0.7, 0.2, 0.03}, seed);
    query_plan requested(collection, {{0, 2}, {1, 1}, {2, 3}});
    ranking_options options{
        .model = *rc::gen::elementOf(std::vector(std::begin(all_models), std::end(all_models))),
        .mu = *rc::gen::inRange(1, 4000) / 2.0,
        .lambda = *rc::gen::inRange(1, 100) / 100.0,
        .title_weight = *rc::gen::inRange(0, 3) / 4.0};
    if (*rc::gen::arbitrary<bool>()) requested.allow(every(*rc::gen::inRange(1u, 40u), documents));
    const auto histories = *rc::gen::inRange(0, 4);
    if (histories != 0) options.model = ranking_model::ql;
    for (int i = 0; i < histories; ++i) {
        requested.add_history(
            random_history(documents, i * 0.3, seed + static_cast<std::uint64_t>(i), 1 + i % 2));
        const auto word = static_cast<std::size_t>(i) % 3;
        auto& term = requested.encoded.terms[word];
        if (term.continued < term.count) requested.encoded.words[word].continued = ++term.continued;
    }
    expect_reference(collection, requested, options, *rc::gen::inRange<std::size_t>(1, 2 * documents));
    expect_explained(collection, requested, options);
}

TEST(queries, histories_over_many_windows) {
    const auto collection = random_sample(9'000, {0.5, 0.1, 0.001}, 24);
    for (const double lambda : {0.5, std::numeric_limits<double>::denorm_min(), std::nextafter(1.0, 0.0)})
        for (const std::size_t k : {10u, 100'000u}) {
            query_plan requested(collection, {{0, 1}, {1, 2}, {2, 1}});
            requested.add_history(random_history(9'000, 0.4, 25));
            requested.add_history(random_history(9'000, 0.001, 26, 3));
            requested.encoded.terms[1].continued = requested.encoded.words[1].continued = 2;
            requested.encoded.terms[2].continued = requested.encoded.words[2].continued = 1;
            expect_reference(collection, requested,
                             {.model = ranking_model::ql, .lambda = lambda, .title_weight = 0.25}, k);
        }
}

// The likelihood equals that of `quern ngrams`, for any counts.
RC_GTEST_PROP(queries, a_history_scores_by_the_likelihood_of_ngrams, ()) {
    const auto counts = [](std::uint32_t least) {
        return *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(least, 9),
                               rc::gen::inRange<std::uint32_t>(least, 1u << 30));
    };
    const std::uint32_t h = counts(1), f = std::min(h, counts(0)), other_h = counts(1);
    const std::uint32_t other_f = std::max(1u, std::min(other_h, counts(0)));
    const double lambda = *rc::gen::inRange(1, 1000) / 1000.0;
    const std::vector<continued_document> documents{{0, h, f}, {1, other_h, other_f}};
    const query_continuation of{documents, std::uint64_t{f} + other_f, std::uint64_t{h} + other_h};
    const sample collection{{1, 1, 1}, {{{0, 1}, {1, 1}, {2, 1}}}};
    encoded_query encoded(collection, {{0, 1}});
    encoded.terms[0].continued = 1;
    const auto found = search({collection.lengths, 3}, {encoded.terms, {&of, 1}},
                              {.model = ranking_model::ql, .lambda = lambda}, 3);
    RC_ASSERT(found.size() == 3u);
    for (const scored_document& document : found) {
        const std::uint64_t in_document[] = {f, other_f, 0}, history[] = {h, other_h, 0};
        const ngram_counts expected{in_document[document.document], history[document.document], of.frequency,
                                    of.history, 0};
        RC_ASSERT(document.fixed_score ==
                  reference::fixed(canonical_log(likelihood_of(expected, {.lambda = lambda}))));
    }
}

TEST(queries, what_does_not_fit_is_refused) {
    const auto collection = random_sample(100, {0.5}, 27);
    const collection_view view{collection.lengths, collection.total()};
    const encoded_query encoded(collection, {{0, 1}});
    const auto refused = [&](const search_query& query, ranking_model model = ranking_model::ql) {
        EXPECT_THROW(search(view, query, {.model = model}, 1), usage_error);
        EXPECT_THROW(explain(view, query, {.model = model}, 0), usage_error);
    };
    for (const auto& documents : {std::vector<std::uint32_t>{3, 3}, {4, 2}, {100}})
        refused({encoded.terms, {}, documents});
    for (const auto& bits : {std::vector<std::uint64_t>{1}, {1, 1, 0}, {0, std::uint64_t{1} << 36}}) {
        search_query query{encoded.terms};
        query.passing = bits;
        refused(query);
    }
    const auto with_list = [&](std::vector<continued_document> list, std::uint64_t f, std::uint64_t h) {
        const query_continuation of{list, f, h};
        refused({encoded.terms, {&of, 1}});
    };
    with_list({}, 0, 0);
    with_list({{1, 2, 3}}, 3, 2);
    with_list({{1, 0, 0}, {2, 1, 1}}, 1, 1);
    with_list({{100, 1, 1}}, 1, 1);
    with_list({{5, 1, 1}, {5, 1, 1}}, 2, 2);
    with_list({{5, 2, 1}}, 1, 1);
    with_list({{5, 2, 1}}, 2, 2);
    const std::vector<continued_document> sound{{5, 2, 1}};
    const query_continuation of{sound, 1, 2};
    refused({encoded.terms, {&of, 1}}, ranking_model::bm25);
    auto terms = encoded.terms;
    terms[0].continued = 2;
    refused({terms});
    EXPECT_THROW(explain(view, {encoded.terms}, {}, 100), usage_error);
}

TEST(search, required_words_are_in_every_result) {
    for (const std::uint32_t documents : {1u, 200u, 9000u}) {
        const sample collection = random_sample(documents, {0.7, 0.3, 0.05, 0.5, 0.01, 0}, documents);
        for (std::size_t round = 0; round < 40; ++round) {
            query_plan requested(collection, {{0, 1}, {1, 2}, {2, 1}, {3, 1}, {4, 1}});
            std::vector<std::uint32_t> allowed;
            std::vector<std::uint8_t> flags(5);
            for (std::uint32_t d = 0; d < documents; ++d) {
                bool holds = true;
                for (std::size_t w = 0; w < 5; ++w) {
                    const bool required = ((round + 1) >> w & 1) != 0;
                    flags[w] = required;
                    holds = holds && (!required || collection.words[w].contains(d));
                }
                if (holds && (round % 3 != 0 || d % 3 != 0)) allowed.push_back(d);
            }
            const bool some_required = (round + 1) % 32 != 0;
            if (!some_required) continue;
            std::vector<std::uint32_t> third;  // forbidden
            for (std::uint32_t d = 0; d < documents; d += 3) third.push_back(d);
            const std::set<std::uint32_t> set(allowed.begin(), allowed.end());
            const auto passing = bits_of(allowed, documents);
            ranking_options options;
            options.model = all_models[round % 4];
            options.title_weight = round % 5 == 0 ? 0.5 : 0;
            const collection_view view{collection.lengths, collection.total()};
            search_query restricted{requested.encoded.terms};
            if (round % 3 == 0) restricted.forbidden = third;
            for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{10'000}}) {
                const auto expected = reference::search(collection.lengths, collection.total(),
                                                        requested.encoded.words, options, k, {}, &set);
                const auto found = [&](const search_detail::strategy& how) {
                    return search_detail::search_requiring(view, restricted, flags, options, k, how);
                };
                ASSERT_EQ(found({}), expected) << documents << ", round " << round << ", k " << k;
                ASSERT_EQ(found({4096, false}), expected);
                restricted.allowed = allowed;  // both restrict
                ASSERT_EQ(found({}), expected);
                restricted.passing = passing;
                ASSERT_EQ(found({}), expected);
                restricted.allowed.reset();
                ASSERT_EQ(found({}), expected);
                ASSERT_EQ(found({4096, false}), expected);
                restricted.passing = {};
            }
        }
    }
}

TEST(search, a_required_word_without_documents_leaves_nothing) {
    const sample collection = random_sample(100, {0.5, 0}, 3);
    query_plan requested(collection, {{0, 1}, {1, 1}});
    const std::vector<std::uint8_t> flags = {0, 1};
    const collection_view view{collection.lengths, collection.total()};
    EXPECT_TRUE(search_detail::search_requiring(view, requested.view(), flags, {}, 10).empty());
    const std::vector<std::int64_t> boosts(100, 1);
    search_query joined = requested.view();
    joined.boosts = boosts;
    EXPECT_THROW(search_detail::search_requiring(view, joined, flags, {}, 10), usage_error);
}

}  // namespace
}  // namespace quern::queries_test
