// SPDX-License-Identifier: Apache-2.0
// Batches of queries on every place, against `search` one by one: every model, lists of every length, minimal memory,
// queries that a GPU leaves to the CPU.
#include "quern/ops/resident_index.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "ops/search/scoring.hpp"
#include "ops/search/search_samples.hpp"
#include "quern/base/error.hpp"
#include "several_places.hpp"

namespace quern::resident_index_test {
namespace {

using namespace search_samples;

struct encoded_batch {
    std::vector<encoded_query> encoded;
    std::vector<search_query> queries;

    encoded_batch(const sample& collection, const std::vector<query>& requested) {
        encoded.reserve(requested.size());  // queries point into it
        for (const query& one : requested)
            queries.push_back({.terms = encoded.emplace_back(collection, one).terms});
    }
};

template <class Tested>
class resident_index_test : public on_place<Tested> {
  protected:
    static void expect_search(resident_index& resident, const collection_view& view,
                              std::span<const search_query> queries, const ranking_options& options,
                              std::size_t k) {
        const auto found = resident.search(queries, options, k);
        ASSERT_EQ(found.size(), queries.size());
        for (std::size_t i = 0; i < queries.size(); ++i)
            ASSERT_EQ(found[i], search(view, queries[i], options, k))
                << "query " << i << ", k " << k << ", model " << static_cast<int>(options.model) << ", "
                << view.document_lengths.size() << " documents";
    }

    static void expect_search(const sample& collection, const std::vector<query>& requested,
                              const ranking_options& options, const std::vector<std::size_t>& wanted,
                              const context& ctx = Tested::ctx()) {
        const encoded_batch batch(collection, requested);
        const collection_view view{collection.lengths, collection.total()};
        resident_index resident(view, ctx);
        for (const std::size_t k : wanted) expect_search(resident, view, batch.queries, options, k);
    }
};
TYPED_TEST_SUITE(resident_index_test, tested_places, tested_place_names);

TYPED_TEST(resident_index_test, every_model_at_every_size) {
    for (const ranking_model model : all_models) {
        for (const std::uint32_t documents : {1u, 31u, 127u, 128u, 129u, 257u, 4095u, 4096u, 4097u}) {
            if (tested_with().small_sizes && documents > 4 && documents != 129 && documents != 4097) continue;
            const auto collection = random_sample(documents, {1.0, 0.5, 0.1, 0.02, 0.9}, documents);
            this->expect_search(collection,
                                {{{0, 1}, {1, 2}, {2, 1}, {3, 1}}, {{4, 1}}, {{3, 2}, {3, 1}}, {}},
                                {.model = model}, {0, 1, 10, 1000, 100'000});
        }
    }
}

TYPED_TEST(resident_index_test, titles_count) {
    const auto collection = random_sample(9'000, {0.9, 0.6, 0.3, 0.02, 0.002}, 6);
    for (const ranking_model model : all_models)
        for (const double weight : {1e-12, 0.25, 100.0})
            this->expect_search(collection, {{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}, {{2, 100'000}}},
                                {.model = model, .title_weight = weight}, {1, 300, 100'000});
}

TYPED_TEST(resident_index_test, many_queries_over_many_tiles) {
    const bool few = tested_with().small_sizes;
    const auto collection = random_sample(few ? 20'000 : 70'000, {0.9, 0.3, 0.05, 0.005, 0.0005, 0.00005}, 5);
    std::vector<query> requested;
    for (std::uint32_t i = 0; i < (few ? 20u : 70u); ++i) {
        query& one = requested.emplace_back();
        for (std::uint32_t w = 0; w < 6; ++w)
            if ((i >> w & 1) != 0) one.emplace_back(w, 1 + i % 3);
    }
    for (const ranking_model model : all_models)
        this->expect_search(collection, requested, {.model = model}, {1, 10, 1000, 5000});
}

TYPED_TEST(resident_index_test, ties_go_to_the_first_documents) {
    sample collection;
    collection.lengths.assign(10'000, 7);
    collection.words.resize(2);
    for (std::uint32_t d = 0; d < 10'000; ++d) collection.words[d % 2][d] = 1;
    for (const ranking_model model : all_models)
        this->expect_search(collection, {{{0, 1}, {1, 1}}, {{1, 1}}}, {.model = model},
                            {1, 63, 64, 65, 4'999, 5'000, 5'001, 10'000});
}

TYPED_TEST(resident_index_test, huge_frequencies_and_lengths) {
    sample collection;
    constexpr std::uint32_t max = std::numeric_limits<std::uint32_t>::max();
    collection.words.resize(2);
    for (std::uint32_t d = 0; d < 300; ++d) {
        collection.words[0][d] = d % 3 == 0 ? max - d : 1 + d;
        if (d % 7 == 0) collection.words[1][d] = 1u << 31;
        collection.lengths.push_back(d % 5 == 0 ? max : max - 2 * d);
    }
    for (const ranking_model model : all_models)
        this->expect_search(collection, {{{0, 1}, {1, 2}}}, {.model = model}, {10, 300});
}

TYPED_TEST(resident_index_test, extreme_parameters) {
    const auto collection = random_sample(300, {0.9, 0.2}, 8);
    const double smallest = std::numeric_limits<double>::denorm_min();
    for (const ranking_model model : all_models) {
        if (!search_detail::runs_on_device(model))
            continue;  // other models have narrower ranges, and run on the CPU
        for (ranking_options options :
             {ranking_options{.k1 = 0, .b = 0, .mu = 0x1p-64, .lambda = smallest},
              ranking_options{.k1 = 0x1p64, .b = 1, .mu = 0x1p64, .lambda = std::nextafter(1.0, 0.0)},
              ranking_options{.k1 = smallest, .b = smallest, .mu = 1e-3, .lambda = 1e-9}}) {
            options.model = model;
            this->expect_search(collection, {{{0, 1}, {1, 100'000}}, {{1, 262'144}}}, options, {20});
        }
    }
}

// From a budget that evicts lists to one that splits the documents into ranges.
TYPED_TEST(resident_index_test, little_memory_changes_nothing) {
    const auto collection = random_sample(30'000, {0.9, 0.6, 0.01, 0.002}, 6);
    for (const std::uint64_t bytes : {20u << 20, 1u << 20}) {
        context ctx = TypeParam::ctx();
        ctx.gpu_memory_bytes = bytes;
        for (const ranking_model model : all_models)
            this->expect_search(collection,
                                {{{0, 1}, {1, 1}, {2, 1}, {3, 1}}, {{0, 1}}, {{2, 2}}, {{1, 1}, {0, 3}}},
                                {.model = model, .title_weight = 0.25}, {1, 10, 2'500, 30'000}, ctx);
    }
}

// A list takes about 3.6 bytes per document, and every term has its own list.
sample heavy_sample(std::uint32_t documents) {
    sample collection;
    collection.words.resize(1);
    for (std::uint32_t d = 0; d < documents; ++d) {
        const std::uint32_t frequency = 1 + (d * 0x9e3779b1u >> 4);
        collection.words[0].emplace_hint(collection.words[0].end(), d, frequency);
        collection.lengths.push_back(frequency + d % 7);
    }
    return collection;
}

query terms_of(std::size_t count) {
    return query(count, {0, 1});
}

// The lists of one query exceed the memory for lists, and only a part of the documents has lists that fit.
TYPED_TEST(resident_index_test, one_query_larger_than_memory) {
    const auto collection = heavy_sample(40'000);
    context ctx = TypeParam::ctx();
    ctx.gpu_memory_bytes = 1u << 20;  // half of it for lists
    for (const ranking_model model : all_models) {
        if (tested_with().small_sizes && model != ranking_model::bm25) continue;
        this->expect_search(collection, {terms_of(2), terms_of(12), terms_of(30), terms_of(1), terms_of(12)},
                            {.model = model}, {1, 10, 2'500, 40'000}, ctx);
    }
    const encoded_batch batch(collection, {terms_of(2), terms_of(40)});
    resident_index resident({collection.lengths, collection.total()}, ctx);
    if (resident.record().place.starts_with("cpu")) return;
    try {
        resident.search(batch.queries, {}, 10);
        FAIL() << "40 lists of 4,096 documents do not fit";
    } catch (const out_of_memory& e) {
        constexpr std::uint64_t blocks = 4'096 / 128, units_a_block = 1 + 28;  // frequencies have 28 bits
        const out_of_memory expected("the posting lists of a query", 40 * blocks * units_a_block * 16,
                                     1u << 19);
        EXPECT_STREQ(e.what(), expected.what());
    }
    this->expect_search(resident, {collection.lengths, collection.total()}, std::span(batch.queries).first(1),
                        {}, 10);
}

// Two queries whose lists fit, but not together: later lists evict the resident ones.
TYPED_TEST(resident_index_test, lists_give_way) {
    const auto collection = heavy_sample(20'000);
    context ctx = TypeParam::ctx();
    ctx.gpu_memory_bytes = 4u << 20;
    const encoded_batch batch(collection, {terms_of(20), terms_of(18)});
    const collection_view view{collection.lengths, collection.total()};
    resident_index resident(view, ctx);
    const bool cpu = resident.record().place.starts_with("cpu");
    std::vector<std::uint64_t> brought;
    const auto ask = [&](std::size_t first, std::size_t count) {
        const std::uint64_t before = resident.record().bytes_brought;
        this->expect_search(resident, view, std::span(batch.queries).subspan(first, count), {}, 10);
        brought.push_back(resident.record().bytes_brought - before);
    };
    ask(0, 1);
    ask(0, 1);
    ask(1, 1);
    ask(0, 2);
    const std::uint64_t a = brought[0], b = brought[2];
    EXPECT_EQ(brought, (std::vector<std::uint64_t>{a, 0, b, a + b}));
    EXPECT_EQ(a == 0, cpu);
    EXPECT_EQ(b == 0, cpu);
}

// Documents that all tie leave queries undecided. These are repeated with all scores, after the kept documents are
// released.
TYPED_TEST(resident_index_test, undecided_queries_and_little_memory) {
    sample collection;
    collection.lengths.assign(60'000, 1u << 30);
    collection.words.resize(1);
    for (std::uint32_t d = 0; d < 60'000; ++d)
        collection.words[0].emplace_hint(collection.words[0].end(), d, 1u << 28);
    context ctx = TypeParam::ctx();
    ctx.gpu_memory_bytes =
        6u << 20;  // lists take 2.8 MB, a row of scores 480 kB, the kept documents of a query 0.1 MB
    encoded_batch batch(collection, std::vector<query>(13, terms_of(1)));
    for (std::size_t i = 0; i < 13; ++i) batch.queries.push_back(batch.queries[i]);
    const collection_view view{collection.lengths, collection.total()};
    resident_index resident(view, ctx);
    for (const std::size_t k : {10u, 300u})
        this->expect_search(resident, view, batch.queries, {.model = ranking_model::dirichlet}, k);
}

TYPED_TEST(resident_index_test, what_a_gpu_does_not_take) {
    const auto collection = random_sample(5'000, {0.9, 0.3, 0.01}, 7);
    const encoded_batch batch(collection, {{{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{2, 1}}});
    const collection_view view{collection.lengths, collection.total()};
    std::vector<search_query> queries = batch.queries;
    const std::vector<std::uint32_t> allowed = {3, 5, 8, 999, 4'998};
    queries[1].allowed = allowed;
    const std::vector<query_term> many(1'200, batch.queries[0].terms[0]);
    queries.push_back({.terms = many});
    query_term half = batch.queries[0].terms[0];
    half.weight = weight_one / 2;
    queries.push_back({.terms = {&half, 1}});
    const std::vector<std::uint64_t> ranks(5'000, 3);
    queries.push_back({.terms = batch.queries[0].terms, .prior = document_prior{.ranks = ranks}});
    std::vector<std::int64_t> boosts(5'000, no_boost);
    boosts[77] = -5;
    queries.push_back({.terms = batch.queries[2].terms, .boosts = boosts});
    queries.push_back({.terms = batch.queries[2].terms, .excluded = collection.words[2].begin()->first});
    const auto passing = bits_of(allowed, 5'000);
    queries.push_back({.terms = batch.queries[0].terms, .passing = passing});
    resident_index resident(view, TypeParam::ctx());
    for (const std::size_t k : {1u, 10u, 10'000u}) this->expect_search(resident, view, queries, {}, k);
    const bool cpu = resident.record().place.starts_with("cpu");
    EXPECT_EQ(resident.record().queries, 27u);
    EXPECT_EQ(resident.record().queries_on_cpu, cpu ? 0u : 21u);
    EXPECT_EQ(resident.record().bytes_brought == 0, cpu);
}

// Several places: units of a query, of all queries, and fewer than places; lists that are evicted; queries for the CPU.
TYPED_TEST(resident_index_test, several_places_share_the_queries) {
    const auto collection = random_sample(3'000, {0.9, 0.3, 0.05, 0.005}, 5);
    const collection_view view{collection.lengths, collection.total()};
    std::vector<query> requested;
    for (std::uint32_t i = 0; i < 32; ++i) {
        query& one = requested.emplace_back();
        for (std::uint32_t w = 0; w < 4; ++w)
            if ((i >> w & 1) != 0) one.emplace_back(w, 1 + i % 3);
    }
    encoded_batch batch(collection, requested);
    const std::vector<std::uint32_t> allowed = {3, 5, 8, 999, 2'998};
    batch.queries[7].allowed = allowed;
    context ctx = TypeParam::ctx();
    ctx.gpu_memory_bytes = 1u << 20;
    for (const std::size_t places : {2, 3}) {
        chosen_device chosen = choose_device(ctx, "this test");
        chosen.more = further_places(chosen, places - 1);
        for (const std::uint64_t unit : {1, 9'000, 1'000'000}) {
            resident_index resident(view, ctx, chosen, unit);
            for (const std::size_t count : {0u, 1u, 2u, 5u, 32u})
                for (const std::size_t k : {1u, 10u, 3'000u})
                    this->expect_search(resident, view, std::span(batch.queries).first(count), {}, k);
            EXPECT_EQ(resident.record().queries, 3 * 40u);
            EXPECT_EQ(resident.record().queries_on_cpu, chosen.cuda ? 3u : 0u);
            EXPECT_EQ(resident.record().bytes_brought == 0, !chosen.cuda);
        }
    }
}

TYPED_TEST(resident_index_test, refuses_what_search_refuses) {
    const auto collection = random_sample(100, {0.5}, 13);
    const encoded_batch batch(collection, {{{0, 1}}, {{0, 262'145}}});
    resident_index resident({collection.lengths, collection.total()}, TypeParam::ctx());
    EXPECT_THROW(resident.search(batch.queries, {}, 1), usage_error);
    EXPECT_THROW(resident.search(std::span(batch.queries).first(1), {.k1 = -1}, 1), usage_error);
    EXPECT_TRUE(resident.search({}, {}, 1).empty());
    EXPECT_EQ(resident.search(std::span(batch.queries).first(1), {}, 0),
              std::vector<std::vector<scored_document>>(1));
    resident_index nothing({}, TypeParam::ctx());
    const search_query empty;
    EXPECT_TRUE(nothing.search({&empty, 1}, {}, 10)[0].empty());
}

// For any bytes of a list: the CPU's ranking, or damaged_store.
TYPED_TEST(resident_index_test, damaged_lists) {
    const auto collection = random_sample(1'000, {0.7}, 3);
    const encoded_query encoded(collection, {{0, 1}});
    const collection_view view{collection.lengths, collection.total()};
    unsigned refused = 0;
    std::mt19937 random(3);
    for (int i = 0; i < (tested_with().small_sizes ? 20 : 300); ++i) {
        std::string bytes = encoded.lists[0].bytes;
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
        query_term term = encoded.terms[0];
        term.list.bytes = bytes;
        const search_query requested{.terms = {&term, 1}};
        resident_index resident(view, TypeParam::ctx());
        std::vector<scored_document> found, expected;
        bool here = false, on_device = false;
        try {
            expected = search(view, requested, {}, 1'000);
        } catch (const damaged_store&) {
            here = true;
        }
        try {
            found = resident.search({&requested, 1}, {}, 1'000)[0];
        } catch (const damaged_store&) {
            on_device = true;
        }
        EXPECT_EQ(here, on_device);
        EXPECT_EQ(found, expected);
        refused += on_device;
    }
    EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace quern::resident_index_test
