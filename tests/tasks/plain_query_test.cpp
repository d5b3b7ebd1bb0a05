// SPDX-License-Identifier: Apache-2.0
// Queries of plain words are ranked by lists kept from earlier queries. Explanations need the plan of a query, so that the
// same search with them takes the other path: both must find the same.
#include "tasks/search/plain_query.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "temporary_folder.hpp"

namespace quern::plain_query_test {
namespace {

using testing::temporary_folder;
using testing::write_file;

TEST(plain_queries, differ_by_their_characters) {
    const auto automatic = [](std::string_view query) {
        return plain_kind_of(query, query_syntax::automatic);
    };
    EXPECT_EQ(automatic("grain stones 12"), plain_kind::words);
    EXPECT_EQ(automatic("+grain +stones 12"), plain_kind::signs);
    EXPECT_EQ(automatic("+grain -stones"), plain_kind::signs);
    EXPECT_EQ(automatic("\"grain stones\""), plain_kind::phrase);
    for (const std::string_view query :
         {"+12", "+ grain", "grain +", "a+b", "++a", "grain OR b", "a-b", "--a", "a*", "\"a* b\"",
          "\"a b\"~2", "+\"a b\"", "caf\u00e9", "a\tb", "title:a", "(a)"})
        EXPECT_EQ(automatic(query), plain_kind::other) << query;
    const auto words = [](std::string_view query) { return plain_kind_of(query, query_syntax::words); };
    EXPECT_EQ(words("+Caf\u00e9 OR b*"), plain_kind::words);
    EXPECT_EQ(words("\u201Cold mill\u201D"), plain_kind::other);
    EXPECT_EQ(words("the \"old mill"), plain_kind::other);
}

std::string line(const std::string& id, const std::string& title, const std::string& text) {
    static int number = 0;
    return "{\"id\":\"" + id + R"(","title":")" + title + R"(","text":")" + text + R"(","number":)" +
           std::to_string(number++ % 1000) + "}\n";
}

class plain_engine {
  public:
    explicit plain_engine(text_options text = {}) {
        std::mt19937_64 random(7);
        std::string corpus;
        for (std::size_t d = 0; d < 1500; ++d) {
            std::string title, body;
            for (std::size_t i = 0; i < 1 + random() % 2; ++i) title += word(random) + " ";
            for (std::size_t i = 0; i < 5 + random() % 40; ++i) body += word(random) + " ";
            corpus += line("d" + std::to_string(d), title, body);
            // Near-duplicates, with titles of their own.
            if (d % 50 == 0) corpus += line("c" + std::to_string(d), "copy" + std::to_string(d), body);
        }
        write_file(folder_ / "corpus.jsonl", corpus);
        context ctx = context::cpu(1);
        ctx.scratch = folder_.path();
        build_options options;
        options.inputs = {folder_ / "corpus.jsonl"};
        options.store = folder_ / "store";
        options.text = std::move(text);
        options.fields.kept = {"number"};
        build(options, ctx);
        engine_.emplace(search_engine::open(folder_ / "store", ctx));
    }

    /// Of a vocabulary with words from very frequent to very rare.
    static std::string word(std::mt19937_64& random) {
        const auto rank =
            random() % 2 == 0 ? random() % 4 : random() % (std::uint64_t{1} << (2 + random() % 10));
        return "w" + std::to_string(rank);
    }

    void expect_same(const std::string& query, search_options options) const {
        options.snippets = options.fields = options.duplicates = false;
        search_options explained = options;
        explained.explain = true;
        std::optional<search_result> found;
        try {
            found.emplace(engine_->search(query, options));
        } catch (const query_error&) {
            EXPECT_THROW(engine_->search(query, explained), query_error) << query;
            return;
        }
        const search_result& plain = *found;
        const search_result planned = engine_->search(query, explained);
        ASSERT_EQ(plain.hits.size(), planned.hits.size()) << query;
        for (std::size_t i = 0; i < plain.hits.size(); ++i) {
            ASSERT_EQ(plain.hits[i].document, planned.hits[i].document) << query << ", rank " << i;
            ASSERT_EQ(plain.hits[i].score, planned.hits[i].score) << query << ", rank " << i;
            ASSERT_EQ(plain.hits[i].rank, planned.hits[i].rank);
            ASSERT_EQ(plain.hits[i].id, planned.hits[i].id);
        }
        ASSERT_EQ(plain.total, planned.total) << query;
        ASSERT_EQ(plain.unknown_words, planned.unknown_words) << query;
        ASSERT_EQ(plain.empty_query, planned.empty_query) << query;
        ASSERT_EQ(plain.syntax, planned.syntax) << query;
        ASSERT_EQ(plain.suggestions.size(), planned.suggestions.size()) << query;
    }

  private:
    temporary_folder folder_;
    std::optional<search_engine> engine_;
};

std::string random_phrase(std::mt19937_64& random) {
    std::string phrase = "\"";
    for (std::size_t i = 1 + random() % 3; i > 0; --i) {
        phrase += random() % 12 == 0 ? "unknown" : plain_engine::word(random);
        phrase += i == 1 ? "" : random() % 9 == 0 ? "  " : " ";
    }
    return phrase + '"';
}

std::string random_query(std::mt19937_64& random) {
    if (random() % 3 == 0) return random_phrase(random);
    std::string query;
    for (std::size_t i = random() % 6; i > 0; --i) {
        query += random() % 3 == 0 ? "+" : random() % 5 == 0 ? "-" : "";
        query += random() % 12 == 0 ? "unknown" + std::to_string(random() % 2) : plain_engine::word(random);
        query += random() % 4 == 0 ? "  " : " ";
    }
    return query;
}

void expect_same_results(const plain_engine& engine) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 1200; ++i) {
        search_options options;
        options.k = std::array<std::size_t, 5>{1, 3, 10, 100, 5000}[random() % 5];
        options.offset = random() % 4 == 0 ? random() % 12 : 0;
        options.ranking.model = random() % 4 == 0 ? ranking_model::ql : ranking_model::bm25;
        options.ranking.title_weight = random() % 3 == 0 ? interactive_title_weight : 0;
        options.syntax = static_cast<query_syntax>(random() % 3);
        options.phrases = options.syntax == query_syntax::operators || random() % 2 == 0;
        options.total = random() % 3 == 0;
        options.suggestions = random() % 3 == 0 ? 2 : 0;
        // The same filters again and again: their lists are kept.
        constexpr std::array<const char*, 6> filters = {"",
                                                        "number < 1",
                                                        "number BETWEEN 100 AND 300",
                                                        "number >= 100",
                                                        "number IN (3, 70, 71, 900)",
                                                        "number < 0"};
        options.filter = filters[random() % filters.size()];
        engine.expect_same(random_query(random), options);
        options.count = true;
        engine.expect_same(random_query(random), options);
    }
}

TEST(plain_queries, have_the_results_of_a_plan) {
    expect_same_results(plain_engine());
}

TEST(plain_queries, have_the_results_of_a_plan_with_other_words) {
    text_options letters;
    letters.tokens = token_rule::letters;  // drops the digits: all words but a few are one
    expect_same_results(plain_engine(letters));
    text_options dropped;
    dropped.min_length = 3;
    expect_same_results(plain_engine(dropped));
}

}  // namespace
}  // namespace quern::plain_query_test
