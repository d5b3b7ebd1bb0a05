// SPDX-License-Identifier: Apache-2.0
// Stores of lists of words. Of weights: rankings equal those of a loop over all documents, whatever the weights, threads and
// memory. Of an index (CIFF): lengths are those of its records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "io/retrieval/ciff_writer.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "temporary_folder.hpp"

namespace quern::listed_words_test {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

using vector_of_words = std::map<std::string, double>;

context context_with(unsigned threads, std::uint64_t memory = 0) {
    context ctx;
    ctx.threads = threads;
    ctx.memory_bytes = memory;
    return ctx;
}

std::string text_of(double weight) {
    std::array<char, 40> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), weight).ptr};
}

std::string corpus_of(const std::vector<vector_of_words>& documents) {
    std::string corpus;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        corpus += "{\"id\":\"d" + std::to_string(d) + "\",\"contents\":\"ignored\",\"vector\":{";
        bool first = true;
        for (const auto& [word, weight] : documents[d]) {
            corpus += (first ? "\"" : ",\"") + word + "\":" + text_of(weight);
            first = false;
        }
        corpus += "}}\n";
    }
    return corpus;
}

std::filesystem::path store_of(const temporary_folder& folder, const std::string& name,
                               const std::string& corpus, const context& ctx) {
    write_file(folder / (name + ".jsonl"), corpus);
    build_options options;
    options.inputs = {folder / (name + ".jsonl")};
    options.store = folder / name;
    build(options, ctx);
    return options.store;
}

std::string query_of(const vector_of_words& words) {
    std::string query;
    for (const auto& [word, weight] : words) query += word + "^" + text_of(weight) + "\t";
    return query;
}

/// The unit of weights, the slow way: the largest power of two of which all are multiples, but not below 2^-24 of the next
/// power of two above the largest.
int unit_exponent(const std::vector<vector_of_words>& documents) {
    float largest = 0;
    for (const auto& document : documents)
        for (const auto& [_, weight] : document) largest = std::max(largest, static_cast<float>(weight));
    const int lowest = std::ilogb(largest) + 1 - 24;
    for (int exponent = 20; exponent > lowest; --exponent) {
        bool divides = true;
        for (const auto& document : documents)
            for (const auto& [_, weight] : document) {
                const double units = std::ldexp(static_cast<double>(static_cast<float>(weight)), -exponent);
                divides = divides && units == std::floor(units);
            }
        if (divides) return exponent;
    }
    return lowest;
}

struct ranked {
    std::string id;
    double score;
    friend bool operator==(const ranked&, const ranked&) = default;
};

/// Every product in units of 2^-32, nearest with ties to even, at least one.
std::vector<ranked> reference(const std::vector<vector_of_words>& documents, int exponent,
                              const vector_of_words& query, std::size_t k) {
    std::vector<std::pair<std::int64_t, std::size_t>> sums;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        std::int64_t sum = 0;
        for (const auto& [word, weight] : query) {
            const auto at = documents[d].find(word);
            if (at == documents[d].end() || static_cast<float>(at->second) == 0 || weight == 0) continue;
            const double units = std::max(
                1.0,
                std::nearbyint(std::ldexp(static_cast<double>(static_cast<float>(at->second)), -exponent)));
            const double product = std::ldexp(weight, exponent) * units;
            sum += std::max<std::int64_t>(1, std::llrint(product * 0x1p32));
        }
        if (sum != 0) sums.emplace_back(-sum, d);
    }
    std::ranges::sort(sums);
    std::vector<ranked> best;
    for (std::size_t i = 0; i < std::min(k, sums.size()); ++i)
        best.push_back({"d" + std::to_string(sums[i].second), static_cast<double>(-sums[i].first) * 0x1p-32});
    return best;
}

std::vector<ranked> found(const search_engine& engine, const std::string& query, std::size_t k) {
    search_options options;
    options.k = k;
    std::vector<ranked> hits;
    for (const search_hit& hit : engine.search(query, options).hits)
        hits.push_back({std::string(hit.id), hit.score});
    return hits;
}

/// Weights of one of these kinds.
double made_weight(std::mt19937_64& random, int kind) {
    const double share = static_cast<double>(random() % 1'000'000 + 1) / 1'000'000;
    switch (kind) {
        case 0:
            return static_cast<double>(random() % 255 + 1);  // uniCOIL, DeepImpact
        case 1:
            return 3.5 * share;  // SPLADE, doubles in text
        case 2:
            return std::ldexp(static_cast<double>(random() % 1024 + 1), -9);  // of half precision
        case 3:
            return std::exp2(40 * share - 30);  // of very different sizes
        default:
            return 131'071;
    }
}

TEST(weights, rankings_equal_those_of_a_loop) {
    std::mt19937_64 random(7);
    for (int kind = 0; kind < 5; ++kind) {
        const temporary_folder folder;
        std::vector<vector_of_words> documents(kind == 4 ? 40 : 1500);
        for (auto& document : documents)
            for (std::size_t i = random() % 40; i != 0; --i)
                document["w" + std::to_string((random() % 60) * (random() % 60) / 20)] =
                    made_weight(random, kind);
        const auto path = store_of(folder, "store", corpus_of(documents), context_with(2));
        const int exponent = unit_exponent(documents);
        EXPECT_EQ(read_store_info(path).weight_exponent, exponent);
        verify_store(path, context_with(2));
        const auto engine = search_engine::open(path, context_with(1));
        for (int q = 0; q < 60; ++q) {
            vector_of_words query;
            for (std::size_t i = random() % 12 + 1; i != 0; --i)
                query["w" + std::to_string(random() % 180)] =
                    kind == 4 ? 1 : made_weight(random, kind == 3 ? 1 : kind) / (kind == 0 ? 255 : 1);
            for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{5000}})
                EXPECT_EQ(found(engine, query_of(query), k), reference(documents, exponent, query, k))
                    << kind;
        }
    }
}

TEST(weights, the_same_store_for_any_threads_and_memory) {
    std::mt19937_64 random(3);
    std::vector<vector_of_words> documents(3000);
    for (auto& document : documents)
        for (int i = 0; i < 30; ++i) document["w" + std::to_string(random() % 900)] = made_weight(random, 1);
    const temporary_folder folder;
    const std::string corpus = corpus_of(documents);
    const auto one = store_of(folder, "one", corpus, context_with(1));
    const auto two = store_of(folder, "two", corpus, context_with(4, std::uint64_t{24} << 20));
    for (const store_section& section : read_store_info(one).sections)
        EXPECT_EQ(read_file(one / (section.name + ".section")), read_file(two / (section.name + ".section")))
            << section.name;
    EXPECT_EQ(read_file(one / "store.json"), read_file(two / "store.json"));
}

TEST(weights, a_plain_query_and_repeated_words_have_weights_of_one) {
    const std::vector<vector_of_words> documents = {{{"##ing", 2}, {"mill", 3}}, {{"mill", 4}, {"a^2", 8}}};
    const temporary_folder folder;
    const auto engine = search_engine::open(store_of(folder, "store", corpus_of(documents), context_with(1)),
                                            context_with(1));
    EXPECT_EQ(found(engine, "mill ##ing mill", 10), (std::vector<ranked>{{"d0", 8}, {"d1", 8}}));
    EXPECT_EQ(found(engine, "mill^2 mill^0.5", 10), (std::vector<ranked>{{"d1", 10}, {"d0", 7.5}}));
    EXPECT_EQ(found(engine, "a^2^1", 10), (std::vector<ranked>{{"d1", 8}}));
    EXPECT_EQ(found(engine, "+mill -\"##ing\"", 10), std::vector<ranked>{});  // nothing but words
    EXPECT_THROW(found(engine, "mill^1e300", 10), usage_error);
    EXPECT_THROW(found(engine, "mill^-1", 10), usage_error);
    search_options options;
    options.ranking.model = ranking_model::dirichlet;
    EXPECT_THROW(engine.search("mill", options), usage_error);
    options.ranking.model = ranking_model::impact;
    EXPECT_EQ(engine.search("mill", options).hits.size(), 2U);
}

TEST(weights, lines_that_are_no_vectors_are_rejected) {
    const temporary_folder folder;
    const auto refused = [&](const std::string& line) {
        try {
            store_of(folder, "store", "{\"id\":\"a\",\"vector\":{\"x\":1}}\n" + line + "\n", context_with(1));
        } catch (const invalid_input& why) {
            return std::string(why.what());
        }
        return std::string("built");
    };
    EXPECT_THAT(refused(R"({"id":"b","vector":{"y":-1}})"), HasSubstr("the weight of 'y' is -1"));
    EXPECT_THAT(refused(R"({"id":"b","vector":{"y":200000}})"), HasSubstr("expected 0 to below 131072"));
    EXPECT_THAT(refused(R"({"id":"b","vector":{"y":"1"}})"), HasSubstr("the weight of 'y' is not a number"));
    EXPECT_THAT(refused(R"({"id":"b","vector":{"":1}})"), HasSubstr("a word is empty"));
    EXPECT_THAT(refused(R"({"id":"b","vector":{"y":1,"y":2}})"), HasSubstr("the word 'y' occurs twice"));
    EXPECT_THAT(refused(R"({"id":"b","text":"words"})"), HasSubstr("no weights"));
    EXPECT_THAT(refused(R"({"id":"b","indices":["y"],"values":[1,2]})"),
                HasSubstr("1 indices, but 2 values"));
}

// ---- Indexes ----

struct made_posting {
    std::vector<std::uint32_t> documents, frequencies;
};

std::string index_of(const std::map<std::string, made_posting>& lists,
                     const std::vector<std::uint32_t>& lengths) {
    std::string out;
    io::ciff_writer writer([&out](std::string_view bytes) { out += bytes; });
    std::uint64_t words = 0;
    for (const std::uint32_t length : lengths) words += length;
    writer.header(
        {.lists = lists.size(), .documents = lengths.size(), .words = words, .description = "a test"});
    for (const auto& [word, list] : lists) {
        io::ciff_writer::list_size size;
        size.add(list.documents, list.frequencies);
        writer.begin_list(word, list.documents.size(), size);
        writer.add(list.documents, list.frequencies);
    }
    for (std::uint32_t d = 0; d < lengths.size(); ++d)
        writer.document(d, "d" + std::to_string(d), lengths[d]);
    writer.finish();
    return out;
}

TEST(indexes, lengths_are_those_of_the_records) {
    const temporary_folder folder;
    write_file(folder / "part.ciff",
               index_of({{"mill", {{0, 2}, {1, 1}}}, {"stone", {{2}, {3}}}}, {100, 7, 10}));
    build_options options;
    options.inputs = {folder / "part.ciff"};
    options.store = folder / "store";
    build(options, context_with(2));
    verify_store(options.store, context_with(2));
    const auto engine = search_engine::open(options.store, context_with(1));
    EXPECT_EQ(engine.store().words, 117U);
    search_options by_default;
    const auto hits = engine.search("mill", by_default).hits;
    ASSERT_EQ(hits.size(), 2U);
    EXPECT_EQ(hits[0].id, "d2");
    EXPECT_EQ(hits[0].words, 10U);
    EXPECT_EQ(hits[1].words, 100U);
    const double idf = std::log(1 + (3 - 2 + 0.5) / (2 + 0.5));
    for (const auto& hit : hits)
        EXPECT_NEAR(hit.score, idf / (1 + 0.9 * (1 - 0.4 + 0.4 * static_cast<double>(hit.words) / 39)), 1e-9);
    EXPECT_EQ(engine.document(2).text, "mill\t1\nstone\t3\n\t10");
}

TEST(indexes, little_memory_gives_the_same_store) {
    std::mt19937_64 random(5);
    std::map<std::string, made_posting> lists;
    std::vector<std::uint32_t> lengths(20'000);
    for (int w = 0; w < 300; ++w) {
        made_posting list;
        const auto gap = [&random] { return static_cast<std::uint32_t>(random() % 40); };
        for (std::uint32_t d = gap(); d < lengths.size(); d += 1 + gap()) {
            list.documents.push_back(d);
            list.frequencies.push_back(static_cast<std::uint32_t>(random() % 5 + 1));
            lengths[d] += list.frequencies.back();
        }
        lists["w" + std::to_string(w)] = list;
    }
    const temporary_folder folder;
    write_file(folder / "index.ciff", index_of(lists, lengths));
    const auto made = [&](const std::string& name, const context& ctx) {
        build_options options;
        options.inputs = {folder / "index.ciff"};
        options.store = folder / name;
        build(options, ctx);
        return options.store;
    };
    const auto one = made("one", context_with(1)),
               two = made("two", context_with(3, std::uint64_t{16} << 20));
    for (const store_section& section : read_store_info(one).sections)
        EXPECT_EQ(read_file(one / (section.name + ".section")), read_file(two / (section.name + ".section")))
            << section.name;
}

}  // namespace
}  // namespace quern::listed_words_test
