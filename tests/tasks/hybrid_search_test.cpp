// SPDX-License-Identifier: Apache-2.0
// Words and vectors of documents in one ranking, compared with a reference: all products of integers, a complete sort, and the
// fusion of both rankings by its formula; then files of vectors and their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "temporary_folder.hpp"

namespace quern::hybrid_search_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::temporary_folder;
using testing::write_file;
using numbers = std::vector<int>;

constexpr int dimensions = 5;

std::string json_of(const numbers& vector) {
    std::string text = "[";
    for (const int x : vector) text += (text.size() == 1 ? "" : ",") + std::to_string(x);
    return text + "]";
}

std::vector<float> floats_of(const numbers& vector) {
    return {vector.begin(), vector.end()};
}

struct vectored_store {
    temporary_folder folder;
    std::vector<numbers> vectors;
    std::optional<search_engine> engine;

    vectored_store(std::size_t documents, std::mt19937_64& random) {
        const std::vector<std::string> words = {"mill", "stone", "grain", "flour", "wind"};
        std::string lines, rows;
        std::vector<std::string> of_rows;
        for (std::size_t d = 0; d < documents; ++d) {
            std::string text;
            for (std::size_t i = random() % 5; i > 0; --i)
                text += words[std::min(random() % words.size(), random() % words.size())] + " ";
            lines += "{\"id\":\"d" + std::to_string(d) + R"(","n":)" + std::to_string(d % 7) +
                     R"(,"text":")" + text + "\"}\n";
            numbers& vector = vectors.emplace_back();
            for (int i = 0; i < dimensions; ++i) vector.push_back(static_cast<int>(random() % 7) - 3);
            of_rows.push_back("{\"id\":\"d" + std::to_string(d) + R"(","vector":)" + json_of(vector) + "}\n");
        }
        std::ranges::shuffle(of_rows, random);
        for (const std::string& row : of_rows) rows += row;
        write_file(folder / "corpus.jsonl", lines);
        write_file(folder / "vectors.jsonl", rows);
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = folder / "store";
        options.skip = all_build_stages;
        options.fields.kept = {"n"};
        options.vectors.file = folder / "vectors.jsonl";
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        engine.emplace(search_engine::open(folder / "store", ctx));
    }
};

/// Documents from the best by one measure, true ties in order.
std::vector<std::uint32_t> nearest(const std::vector<numbers>& vectors, const numbers& query,
                                   quern::vector_metric metric, const std::vector<bool>& allowed) {
    const auto product = [](const numbers& a, const numbers& b) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
    };
    struct row {
        std::uint32_t document;
        std::int64_t above, below;  // a fraction
    };
    std::vector<row> rows;
    for (std::uint32_t d = 0; d < vectors.size(); ++d) {
        if (!allowed[d]) continue;
        const std::int64_t p = product(vectors[d], query), own = product(vectors[d], vectors[d]);
        switch (metric) {
            case quern::vector_metric::ip:
                rows.push_back({d, p, 1});
                break;
            case quern::vector_metric::cosine:
                // The signed square; without length the cosine counts as 0.
                rows.push_back(own == 0 ? row{d, 0, 1} : row{d, p * std::abs(p), own});
                break;
            default:
                rows.push_back({d, 2 * p - own, 1});
        }
    }
    std::ranges::stable_sort(
        rows, [](const row& a, const row& b) { return a.above * b.below > b.above * a.below; });
    std::vector<std::uint32_t> ranked;
    for (const row& of : rows) ranked.push_back(of.document);
    return ranked;
}

std::vector<std::uint32_t> documents_of(const search_result& result) {
    std::vector<std::uint32_t> documents;
    for (const search_hit& hit : result.hits) documents.push_back(hit.document);
    return documents;
}

TEST(hybrid_search, both_rankings_are_exact_and_joined_by_reciprocal_ranks) {
    constexpr quern::vector_metric metrics[] = {quern::vector_metric::cosine, quern::vector_metric::ip,
                                                quern::vector_metric::l2};
    const std::vector<std::string> queries = {
        "mill",       "stone grain",    "+mill stone", "mill -stone",
        "flour wind", "\"mill stone\"", "zebra",       "wind OR (mill AND grain)"};
    std::mt19937_64 random(8);
    for (const std::size_t size : {1, 9, 200}) {
        vectored_store store(size, random);
        ASSERT_EQ(store.engine->vector_dimensions(), 5U);
        for (int round = 0; round < 120; ++round) {
            numbers query;
            for (int i = 0; i < dimensions; ++i) query.push_back(static_cast<int>(random() % 7) - 3);
            search_options options;
            options.syntax = query_syntax::automatic;
            options.k = round % 4 == 0 ? size : 1 + random() % 20;
            options.fusion_depth =
                round % 3 == 0 ? std::numeric_limits<std::size_t>::max() : 1 + random() % 30;
            options.similarity = metrics[round % 3];
            options.fusion_constant = round % 2 == 0 ? 60 : 1;
            options.vector_weight = round % 5 == 0 ? 0.5 : 1;
            options.total = true;
            const bool filtered = round % 6 == 1;
            if (filtered) options.filter = "n < 3";
            const std::string& text = queries[random() % queries.size()];
            const std::size_t depth = std::max(options.fusion_depth, options.k);

            search_options of_words = options;
            of_words.k = size;
            const auto by_words = documents_of(store.engine->search(text, of_words));
            // What must be there or must not, restricts both.
            std::vector<bool> allowed(size, true);
            const bool restricted = text.find_first_of("+\"O") != std::string::npos;
            const bool excludes = text == "mill -stone";
            std::vector<bool> with_stone(size, false);
            if (excludes)
                for (const std::uint32_t d : documents_of(store.engine->search("stone", of_words)))
                    with_stone[d] = true;
            std::vector<bool> with_words(size, false);
            for (const std::uint32_t d : by_words) with_words[d] = true;
            for (std::uint32_t d = 0; d < size; ++d)
                allowed[d] = (!filtered || d % 7 < 3) && (!restricted || with_words[d]) &&
                             (!excludes || !with_stone[d]);
            const auto by_vectors = nearest(store.vectors, query, options.similarity, allowed);

            std::map<std::uint32_t, double> fused;
            for (std::size_t i = 0; i < std::min(depth, by_words.size()); ++i)
                fused[by_words[i]] += 1 / (options.fusion_constant + static_cast<double>(i + 1));
            for (std::size_t i = 0; i < std::min(depth, by_vectors.size()); ++i)
                fused[by_vectors[i]] +=
                    options.vector_weight / (options.fusion_constant + static_cast<double>(i + 1));
            std::vector<std::pair<double, std::uint32_t>> expected;
            for (const auto& [d, score] : fused) expected.emplace_back(-score, d);
            std::ranges::sort(expected);

            options.vector = floats_of(query);
            const search_result found = store.engine->search(text, options);
            ASSERT_EQ(found.total, expected.size()) << text;
            ASSERT_EQ(found.hits.size(), std::min(options.k, expected.size())) << text;
            for (std::size_t i = 0; i < found.hits.size(); ++i) {
                ASSERT_EQ(found.hits[i].document, expected[i].second) << text << ", rank " << i;
                ASSERT_DOUBLE_EQ(found.hits[i].score, -expected[i].first);
            }
            options.count = true;
            ASSERT_EQ(store.engine->search(text, options).total, expected.size());
        }
    }
}

TEST(hybrid_search, without_words_the_ranking_is_that_of_the_vectors) {
    std::mt19937_64 random(9);
    vectored_store store(50, random);
    search_options options;
    options.vector = {1, 0, 2, 0, -1};
    options.k = 100;
    const std::vector<bool> all(50, true);
    const search_result found = store.engine->search("", options);
    EXPECT_EQ(documents_of(found),
              nearest(store.vectors, {1, 0, 2, 0, -1}, quern::vector_metric::cosine, all));
    EXPECT_FALSE(found.empty_query);
    for (const search_hit& hit : found.hits) EXPECT_LE(std::abs(hit.score), 1 + 1e-9);
    options.filter = "n = 2";
    options.facets = "n";
    const search_result some = store.engine->search("*", options);
    EXPECT_EQ(some.hits.size(), 7U);
    ASSERT_EQ(some.facets.size(), 1U);
    EXPECT_EQ(some.facets[0].documents, 7U);
    options.sort = "-n";
    EXPECT_EQ(store.engine->search("mill", options).hits.size(), 7U);
}

TEST(hybrid_search, topics_have_vectors_of_their_own) {
    std::mt19937_64 random(10);
    vectored_store store(80, random);
    write_file(store.folder / "topics.jsonl",
               "{\"id\":\"b\",\"vector\":[0,1,0,0,1]}\n{\"id\":\"a\",\"vector\":[1,0,0,0,-1]}\n");
    std::vector<search_topic> topics = {{"a", "mill"}, {"b", "stone"}};
    const context ctx = context::cpu(2);
    read_topic_vectors(topics, store.folder / "topics.jsonl", ctx);
    ASSERT_THAT(topics[0].vector, ElementsAre(1, 0, 0, 0, -1));
    search_options options;
    options.snippets = false;
    const auto together = store.engine->search(topics, options, ctx);
    for (std::size_t i = 0; i < topics.size(); ++i) {
        search_options one = options;
        one.vector = topics[i].vector;
        EXPECT_EQ(documents_of(together[i]), documents_of(store.engine->search(topics[i].query, one)));
    }
    topics.push_back({"c", "mill"});
    EXPECT_THROW(read_topic_vectors(topics, store.folder / "topics.jsonl", ctx), invalid_input);
}

std::string refused(const temporary_folder& folder, const std::string& name, const std::string& vectors) {
    write_file(folder / name, vectors);
    build_options options;
    options.inputs = {folder / "corpus.jsonl"};
    options.store = folder / "store";
    options.skip = all_build_stages;
    options.force = true;
    options.vectors.file = folder / name;
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    try {
        build(options, ctx);
    } catch (const error& e) {
        return e.what();
    }
    return "";
}

TEST(hybrid_search, faults_of_vectors_name_the_documents) {
    const temporary_folder folder;
    write_file(folder / "corpus.jsonl",
               "{\"id\":\"a\",\"text\":\"mill\"}\n{\"id\":\"b\",\"text\":\"stone\"}\n{\"id\":\"c\",\"text\":"
               "\"sea\"}\n");
    const std::string a = "{\"id\":\"a\",\"vector\":[1,2]}\n", b = "{\"id\":\"b\",\"embedding\":[0.5,-1]}\n",
                      c = "{\"_id\":\"c\",\"values\":[0,0]}\n";
    EXPECT_EQ(refused(folder, "v.jsonl", a + "\n" + b + c), "");
    EXPECT_EQ(refused(folder, "v.jsonl", c + a + b + "{\"id\":\"x\",\"vector\":[1,1]}\n"), "");
    EXPECT_THAT(refused(folder, "v.jsonl", a), HasSubstr("no vector for 2 of 3 documents: 'b', 'c'"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + b + c + a), HasSubstr("two vectors for the id 'a'"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + "{\"id\":\"b\",\"vector\":[1,2,3]}\n" + c),
                HasSubstr("v.jsonl:2: the vector of 'b' has 3 numbers; those before it have 2"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + "{\"id\":\"b\",\"vector\":[1,NaN]}\n" + c),
                HasSubstr("v.jsonl:2: not JSON"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + "{\"id\":\"b\",\"vector\":[1,1e99]}\n" + c),
                HasSubstr("v.jsonl:2: the vector of 'b' has a value beyond float32"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + "{\"id\":\"b\",\"vector\":[1,null]}\n" + c),
                HasSubstr("a value that is not a number"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + "{\"vector\":[1,1]}\n" + c),
                HasSubstr("v.jsonl:2: it has no id"));
    EXPECT_THAT(refused(folder, "v.jsonl", a + "{\"id\":\"b\"}\n"), HasSubstr("v.jsonl:2: no vector"));
    EXPECT_THAT(refused(folder, "v.txt", "1.5 2\n3 4\n"),
                HasSubstr("2 vectors in order, but the store has 3 documents"));
    EXPECT_EQ(refused(folder, "v.txt", "1 2\n3 4\n5 6\n"), "");
    EXPECT_THAT(refused(folder, "v.txt", "1 2\n3 nan\n5 6\n"),
                HasSubstr("component 1 of the vector of 'b' is not a finite float32"));
}

TEST(hybrid_search, what_does_not_fit_is_refused) {
    std::mt19937_64 random(11);
    vectored_store store(20, random);
    const auto why = [&](const std::function<void(search_options&)>& change) -> std::string {
        search_options options;
        options.vector = {1, 2, 3, 4, 5};
        change(options);
        try {
            (void)store.engine->search("mill", options);
        } catch (const usage_error& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(why([](search_options&) {}), "");
    EXPECT_THAT(why([](search_options& o) { o.vector.pop_back(); }),
                HasSubstr("a query vector of 4 numbers; the vectors of"));
    EXPECT_THAT(why([](search_options& o) { o.vector[2] = NAN; }), HasSubstr("not finite"));
    EXPECT_THAT(why([](search_options& o) { o.similarity = quern::vector_metric::hamming; }),
                HasSubstr("hamming"));
    EXPECT_THAT(why([](search_options& o) { o.explain = true; }), HasSubstr("no explanation"));
    EXPECT_THAT(why([](search_options& o) { o.like = 1; }), HasSubstr("cannot be combined"));

    build_options options;
    options.inputs = {store.folder / "corpus.jsonl"};
    options.store = store.folder / "store";
    options.update = true;
    context ctx = context::cpu(1);
    ctx.scratch = store.folder.path();
    EXPECT_THROW(build(options, ctx), usage_error) << "the store keeps vectors";
    options.update = false;
    options.sync = true;
    EXPECT_THROW(build(options, ctx), usage_error);
    options.sync = false;
    options.force = true;
    options.skip = all_build_stages;
    build(options, ctx);
    const search_engine without = search_engine::open(options.store, ctx);
    search_options wanted;
    wanted.vector = {1, 2, 3, 4, 5};
    EXPECT_THROW((void)without.search("mill", wanted), usage_error);
    // Vectors may also come with the search, here from memory.
    std::vector<float> rows;
    for (const numbers& row : store.vectors) rows.insert(rows.end(), row.begin(), row.end());
    given_vectors given;
    given.rows = view_of(rows, dimensions);
    const search_engine with = search_engine::open(options.store, ctx, given);
    EXPECT_EQ(documents_of(with.search("mill", wanted)), documents_of(store.engine->search("mill", wanted)));
}

}  // namespace
}  // namespace quern::hybrid_search_test
