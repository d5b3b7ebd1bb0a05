// SPDX-License-Identifier: Apache-2.0
// BM25F on random collections: every split of the work, with and without pruning, against the reference, bit for bit.
#include "quern/ops/field_search.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <random>

#include "ops/search/field_scoring.hpp"
#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"
#include "reference/field_search_reference.hpp"

namespace quern::field_search_test {
namespace {

using namespace quern::search_samples;

/// A collection whose words are in titles, in texts and, by the seed, in other fields, with lists as search_fields takes them.
struct fielded_sample {
    std::vector<std::uint32_t> title_lengths, text_lengths, lengths;
    std::vector<reference::fielded_word> words;
    std::vector<encoded_list> lists, titles;
    std::deque<encoded_list> others;  // of each word its fields
    std::vector<std::vector<posting_list>> views_of_others;
    std::vector<std::vector<std::uint32_t>> other_lengths;  // of each field
    std::deque<field_lengths> lengths_of_others;
    std::vector<query_term> terms;
    std::optional<field_lengths> all_titles;
    std::uint64_t total = 0;

    fielded_sample(std::uint32_t documents, const std::vector<double>& densities, std::uint64_t seed,
                   bool with_lengths = true) {
        std::mt19937_64 random(seed);
        const sample text = random_sample(documents, densities, seed);
        words.resize(densities.size());
        std::vector<std::uint32_t> in_titles(documents);
        for (std::size_t w = 0; w < words.size(); ++w) {
            words[w].text = text.words[w];
            words[w].count = 1 + static_cast<std::uint32_t>(random() % 2);
            if (w % 3 == 2) words[w].weight = 1 + static_cast<std::uint32_t>(random() % weight_one);
            const bool often = random() % 2 == 0;
            for (std::uint32_t d = 0; d < documents; ++d) {
                if (w % 4 == 3 || random() % (often && words[w].text.contains(d) ? 3 : 61) != 0) continue;
                const auto frequency = static_cast<std::uint32_t>(random() % 32 == 0 ? random() % 70'000 : 0);
                words[w].title[d] = 1 + frequency;
                in_titles[d] += 1 + frequency;
            }
        }
        for (std::uint32_t d = 0; d < documents; ++d) {
            text_lengths.push_back(text.lengths[d]);
            title_lengths.push_back(in_titles[d] + static_cast<std::uint32_t>(random() % 3));
            lengths.push_back(title_lengths[d] + text_lengths[d]);
        }
        add_other_fields(random() % 3, random);
        for (const std::uint32_t length : lengths) total += length;
        all_titles.emplace(title_lengths);
        for (const auto& word : words) {
            reference::word_documents all = word.text;
            for (const auto& [d, frequency] : word.title) all[d] += frequency;
            auto& views = views_of_others.emplace_back();
            for (const auto& other : word.others) {
                for (const auto& [d, frequency] : other) all[d] += frequency;
                others.emplace_back(other, with_lengths ? lengths : std::span<const std::uint32_t>{});
                views.push_back(others.back().view());
            }
            lists.emplace_back(all, with_lengths ? lengths : std::span<const std::uint32_t>{});
            titles.emplace_back(word.title, with_lengths ? lengths : std::span<const std::uint32_t>{});
        }
        for (std::size_t w = 0; w < words.size(); ++w)
            terms.push_back({lists[w].view(), words[w].count, titles[w].view(), 0, words[w].weight,
                             w % 5 == 4 ? std::span<const posting_list>() : views_of_others[w]});
    }
    fielded_sample(const fielded_sample&) = delete;
    fielded_sample& operator=(const fielded_sample&) = delete;

    collection_view view() const { return {lengths, total}; }

  private:
    void add_other_fields(std::size_t count, std::mt19937_64& random) {
        for (std::size_t field = 0; field < count; ++field) {
            auto& of_field = other_lengths.emplace_back(lengths.size());
            for (std::uint32_t& length : of_field) length = static_cast<std::uint32_t>(random() % 3);
            for (std::size_t w = 0; w < words.size(); ++w) {
                auto& documents = words[w].others.emplace_back();
                const std::uint64_t one_in = random() % 2 == 0 ? 4 : 90;
                for (std::uint32_t d = 0; w % 5 != 4 && d < lengths.size(); ++d) {
                    if (random() % one_in != 0) continue;
                    documents[d] = static_cast<std::uint32_t>(1 + (random() % 16 == 0 ? random() % 300 : 0));
                    of_field[d] += documents[d];
                }
            }
            for (std::size_t d = 0; d < lengths.size(); ++d) lengths[d] += of_field[d];
            lengths_of_others.emplace_back(of_field);
        }
    }
};

field_ranking random_ranking(std::mt19937_64& random, const fielded_sample& of) {
    const double weights[] = {1, 1, 2.5, 0.1, 40, 0x1p-20, 0x1p20}, bs[] = {0, 0.4, 0.75, 1},
                 k1s[] = {0, 0.9, 1.2, 50};
    field_ranking made;
    made.k1 = k1s[random() % 4];
    made.title = {weights[random() % 7], bs[random() % 4]};
    made.text = {weights[random() % 7], bs[random() % 4]};
    made.titles = &*of.all_titles;
    for (const field_lengths& lengths : of.lengths_of_others)
        made.others.push_back({{weights[random() % 7], bs[random() % 4]}, &lengths});
    return made;
}

std::vector<scored_document> slow(const fielded_sample& of, const field_ranking& by, std::size_t k,
                                  const std::function<bool(std::uint32_t)>& found = {},
                                  const std::vector<std::int64_t>& boosts = {},
                                  const std::function<std::int64_t(std::uint32_t)>& prior = {}) {
    std::vector<reference::other_field> others;
    for (std::size_t i = 0; i < by.others.size(); ++i)
        others.push_back({{by.others[i].by.weight, by.others[i].by.b}, of.other_lengths[i]});
    return reference::search_fields(of.title_lengths, of.text_lengths, of.words, by.k1,
                                    {by.title.weight, by.title.b}, {by.text.weight, by.text.b}, k, found,
                                    boosts, prior, others);
}

TEST(field_search, every_split_of_the_work_gives_the_reference) {
    std::mt19937_64 random(71);
    const std::vector<double> densities[] = {{0.5}, {0.01, 0.9, 0.2, 0.05}, {0.3, 0.3, 0.002, 0.6, 0.04, 1}};
    for (const std::uint32_t documents : {1u, 127u, 129u, 4097u, 8200u})
        for (const auto& of : densities)
            for (const bool with_lengths : {true, false}) {
                const fielded_sample made(documents, of, documents + of.size(), with_lengths);
                search_query query{made.terms};
                for (int i = 0; i < 2; ++i) {
                    const field_ranking by = random_ranking(random, made);
                    for (const std::size_t k : {1, 10, 100'000}) {
                        const auto expected = slow(made, by, k);
                        for (const auto& how : all_strategies) {
                            if (how.window == 1 && documents > 200) continue;
                            ASSERT_EQ(search_detail::rank_fields(made.view(), query, by, k, how), expected)
                                << documents << " documents, k " << k << ", window " << how.window;
                        }
                        ASSERT_EQ(search_fields(made.view(), query, by, k), expected);
                    }
                }
            }
}

RC_GTEST_PROP(field_search, restricted_and_joined_searches_give_the_reference, ()) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    std::mt19937_64 random(seed);
    const auto documents = static_cast<std::uint32_t>(1 + random() % 5000);
    const fielded_sample made(documents, {0.3, 0.02, 0.7, 0.1}, seed);
    const field_ranking by = random_ranking(random, made);
    search_query query{made.terms};
    std::vector<std::uint32_t> allowed, forbidden, passing;
    const auto chosen = [&] {
        std::vector<std::uint32_t> some;
        const std::uint64_t one_in[] = {2, 30, 3000};
        const std::uint64_t rare = one_in[random() % 3];
        for (std::uint32_t d = 0; d < documents; ++d)
            if (random() % rare == 0) some.push_back(d);
        return some;
    };
    const bool with_allowed = random() % 2 == 0, with_passing = random() % 2 == 0;
    if (with_allowed) query.allowed = allowed = chosen();
    if (random() % 2 == 0) query.forbidden = forbidden = chosen();
    std::vector<std::uint64_t> bits;
    if (with_passing) query.passing = bits = bits_of(passing = chosen(), documents);
    if (random() % 2 == 0) query.excluded = static_cast<std::uint32_t>(random() % documents);
    std::vector<std::int64_t> boosts;
    if (random() % 3 == 0) {
        for (std::uint32_t d = 0; d < documents; ++d)
            boosts.push_back(random() % 2 == 0 ? no_boost
                                               : static_cast<std::int64_t>(random() % (1ULL << 33)));
        query.boosts = boosts;
    }
    std::vector<std::uint64_t> ranks;
    if (random() % 2 == 0) {
        for (std::uint32_t d = 0; d < documents; ++d) ranks.push_back(random() % 50);
        query.prior = document_prior{ranks, 0.1, 2};
    }
    const auto found = [&](std::uint32_t d) {
        return (!with_allowed || std::ranges::binary_search(allowed, d)) &&
               !std::ranges::binary_search(forbidden, d) &&
               (!with_passing || std::ranges::binary_search(passing, d)) && d != query.excluded;
    };
    const auto prior = [&](std::uint32_t d) { return query.prior ? prior_part(*query.prior, d) : 0; };
    for (const std::size_t k : {1, 20, 100'000}) {
        const auto expected = slow(made, by, k, found, boosts, prior);
        for (const auto& how : all_strategies)
            if (how.window != 1 || documents < 200)
                RC_ASSERT(search_detail::rank_fields(made.view(), query, by, k, how) == expected);
    }
}

TEST(field_search, explanations_add_up_to_scores) {
    std::mt19937_64 random(5);
    const fielded_sample made(3000, {0.3, 0.05, 0.6}, 9);
    const field_ranking by = random_ranking(random, made);
    const search_query query{made.terms};
    for (const auto& hit : search_fields(made.view(), query, by, 200)) {
        std::int64_t sum = 0;
        for (const field_score_parts& of : explain_fields(made.view(), query, by, hit.document))
            sum += of.sum();
        ASSERT_EQ(sum, hit.fixed_score);
    }
}

TEST(field_search, without_titles_a_weight_of_one_is_bm25) {
    const sample plain = random_sample(5000, {0.2, 0.03}, 3);
    const field_lengths none(std::vector<std::uint32_t>(5000, 0));
    const encoded_list first(plain.words[0], plain.lengths), second(plain.words[1], plain.lengths);
    const query_term terms[] = {{first.view()}, {second.view()}};
    field_ranking by;
    by.titles = &none;
    const auto by_fields = search_fields({plain.lengths, plain.total()}, {terms}, by, 5000);
    const auto by_words = search({plain.lengths, plain.total()}, {terms}, {}, 5000);
    ASSERT_EQ(by_fields.size(), by_words.size());
    std::vector<double> expected(5000);
    for (const auto& hit : by_words) expected[hit.document] = hit.score();
    for (const auto& hit : by_fields) ASSERT_NEAR(hit.score(), expected[hit.document], 1e-9);
}

TEST(field_search, bounds_hold_for_every_posting) {
    std::mt19937_64 random(6);
    const fielded_sample made(2000, {0.4, 0.01}, 12);
    const field_ranking by = random_ranking(random, made);
    for (query_term term : made.terms) {
        term.count = 1;
        term.weight = weight_one;
        const auto all = search_fields(made.view(), {std::span(&term, 1)}, by, 2000);
        const auto bounds = search_detail::field_bounds_of(made.view(), term, by);
        EXPECT_EQ(bounds.largest, all.front().fixed_score);
        EXPECT_EQ(bounds.least, all.back().fixed_score);
    }
}

TEST(field_search, refuses_what_cannot_be_ranked) {
    const fielded_sample made(10, {0.9}, 1);
    query_term plain = made.terms[0];
    plain.fields = {};
    const search_query query{std::span(&plain, 1)};
    field_ranking by;
    by.titles = &*made.all_titles;
    EXPECT_NO_THROW(search_fields(made.view(), query, by, 3));
    by.title.weight = 0;
    EXPECT_THROW(search_fields(made.view(), query, by, 3), usage_error);
    by.title = {.b = 1.5};
    EXPECT_THROW(search_fields(made.view(), query, by, 3), usage_error);
    by.title = {};
    by.k1 = -1;
    EXPECT_THROW(search_fields(made.view(), query, by, 3), usage_error);
    by.k1 = 1;
    EXPECT_THROW(explain_fields(made.view(), query, by, 10), usage_error);
    by.others.push_back({{.weight = 1}, &*made.all_titles});
    const posting_list field = made.titles[0].view();
    query_term term = made.terms[0];
    for (const std::size_t lists : {0, 1}) {
        term.fields = std::span(&field, lists);
        EXPECT_NO_THROW(search_fields(made.view(), {std::span(&term, 1)}, by, 3));
    }
    const posting_list two[] = {field, field};
    term.fields = two;
    EXPECT_THROW(search_fields(made.view(), {std::span(&term, 1)}, by, 3), usage_error);
    term.fields = {};
    by.others[0].by.weight = 0;
    EXPECT_THROW(search_fields(made.view(), {std::span(&term, 1)}, by, 3), usage_error);
    by.others[0] = {{.weight = 1}, nullptr};
    EXPECT_THROW(search_fields(made.view(), {std::span(&term, 1)}, by, 3), usage_error);
    by.others.clear();
    by.titles = nullptr;
    EXPECT_THROW(search_fields(made.view(), query, by, 3), usage_error);
}

}  // namespace
}  // namespace quern::field_search_test
