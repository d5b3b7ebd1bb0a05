// SPDX-License-Identifier: Apache-2.0
// Weights of fields (BM25F) in stores: near-duplicates' titles, similar words, errors. Queries with operators are in
// query_operators_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "reference/field_search_reference.hpp"
#include "temporary_folder.hpp"

namespace quern::field_weights_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::temporary_folder;
using testing::write_file;
using ranking = std::vector<std::pair<std::uint32_t, double>>;
using words = std::vector<std::string>;

search_engine store_of(const temporary_folder& folder, const std::string& lines, bool dedup) {
    write_file(folder / "corpus.jsonl", lines);
    build_options options;
    options.inputs = {folder / "corpus.jsonl"};
    options.store = folder / "store";
    options.skip = all_build_stages;
    if (dedup) options.skip.erase(build_stage::duplicates);
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    build(options, ctx);
    return search_engine::open(folder / "store", ctx);
}

std::string joined(const words& of) {
    std::string text;
    for (const std::string& word : of) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

ranking ranking_of(const search_result& result) {
    ranking made;
    for (const search_hit& hit : result.hits) made.emplace_back(hit.document, hit.score);
    return made;
}

words errors_of(const search_engine& engine, search_options options) {
    try {
        (void)engine.search("mill", options);
    } catch (const usage_error& e) {
        return {e.what()};
    }
    return {};
}

struct titled_document {
    words title, text;
    std::set<std::string> other_titles;  // words of near-duplicates' titles
};

TEST(field_weights, titles_of_near_duplicates_count_once_in_the_title) {
    const words vocabulary = {"mill", "mills", "stone", "store", "grain", "flour", "wind"};
    std::mt19937_64 random(3);
    const temporary_folder folder;
    std::vector<titled_document> documents;
    std::string lines;
    const auto some = [&](std::size_t most) {
        words made(random() % (most + 1));
        for (std::string& word : made) word = vocabulary[random() % vocabulary.size()];
        return made;
    };
    const auto write = [&](const std::string& id, const words& title, const words& text) {
        lines +=
            "{\"id\":\"" + id + R"(","title":")" + joined(title) + R"(","text":")" + joined(text) + "\"}\n";
    };
    for (std::size_t d = 0; d < 60; ++d) {
        titled_document made{some(3), some(4), {}};
        // A long text of its own, which near-duplicates share.
        for (int i = 0; i < 40; ++i) made.text.push_back("own" + std::to_string(random()));
        write(std::to_string(d), made.title, made.text);
        for (std::size_t copy = 0; copy < random() % 3; ++copy) {
            words title = some(2);
            if (random() % 2 == 0) title.push_back("only" + std::to_string(d));
            write(std::to_string(d) + "-" + std::to_string(copy), title, made.text);
            for (const std::string& word : title)
                if (std::ranges::count(made.title, word) == 0) made.other_titles.insert(word);
        }
        documents.push_back(std::move(made));
    }
    const search_engine engine = store_of(folder, lines, true);
    ASSERT_EQ(engine.documents(), documents.size());
    ASSERT_GT(engine.duplicates(), 20U);

    std::vector<std::uint32_t> titles, texts;
    for (const auto& of : documents) {
        titles.push_back(static_cast<std::uint32_t>(of.title.size()));
        texts.push_back(static_cast<std::uint32_t>(of.text.size()));
    }
    const auto word_of = [&](const auto& counts) {
        reference::fielded_word made;
        for (std::uint32_t d = 0; d < documents.size(); ++d) {
            const auto& of = documents[d];
            const auto title =
                std::ranges::count_if(of.title, counts) + std::ranges::count_if(of.other_titles, counts);
            const auto text = std::ranges::count_if(of.text, counts);
            if (title != 0) made.title[d] = static_cast<std::uint32_t>(title);
            if (text != 0) made.text[d] = static_cast<std::uint32_t>(text);
        }
        return made;
    };
    search_options options;
    options.field_weights = "title=5";
    options.field_b = "text=1";
    options.syntax = query_syntax::operators;
    options.k = 100;
    options.total = true;
    for (const words& query :
         {words{"mill"}, {"mill", "stone"}, {"mi*", "grain"}, {"only7", "wind"}, {"only*"}}) {
        std::vector<reference::fielded_word> requested;
        for (const std::string& part : query) {
            const std::string beginning = part.back() == '*' ? part.substr(0, part.size() - 1) : "";
            requested.push_back(word_of([&](const std::string& word) {
                return beginning.empty() ? word == part : word.starts_with(beginning);
            }));
        }
        ranking expected;
        for (const auto& of : reference::search_fields(titles, texts, requested, 0.9, {5, 0.4}, {1, 1}, 100))
            expected.emplace_back(of.document, of.score());
        const search_result found = engine.search(joined(query), options);
        ASSERT_EQ(ranking_of(found), expected) << joined(query);
        ASSERT_EQ(found.total, expected.size()) << joined(query);
    }
}

TEST(field_weights, words_themselves_come_before_words_with_typos) {
    const temporary_folder folder;
    const search_engine engine =
        store_of(folder,
                 "{\"id\":\"a\",\"title\":\"\",\"text\":\"watermill and more of it, much more\"}\n"
                 "{\"id\":\"b\",\"title\":\"watermils\",\"text\":\"watermils watermils\"}\n",
                 false);
    search_options options;
    options.field_weights = "title=1000";
    options.typos = typo_tolerance::two;
    const search_result found = engine.search("watermill", options);
    ASSERT_EQ(found.hits.size(), 2U);
    EXPECT_EQ(found.hits[0].id, "a");
}

TEST(field_weights, what_does_not_fit_is_refused) {
    const temporary_folder folder;
    const search_engine engine =
        store_of(folder, "{\"id\":\"a\",\"title\":\"mill\",\"text\":\"stone\"}\n", false);
    const auto refused = [&](const char* weights, const char* b = "") {
        search_options options;
        options.field_weights = weights;
        options.field_b = b;
        return errors_of(engine, options);
    };
    EXPECT_TRUE(refused("title=3").empty());
    EXPECT_TRUE(refused(" title = 3 , body = 0.5 ", "title=0").empty());
    EXPECT_THAT(refused("titel=3"),
                ElementsAre(HasSubstr("field_weights: unknown field 'titel' (expected title or text)")));
    EXPECT_THAT(refused("title"), ElementsAre(HasSubstr("expected title=X,text=X")));
    EXPECT_THAT(refused("title=1,title=2"), ElementsAre(HasSubstr("the field title is given twice")));
    EXPECT_THAT(refused("text=1,body=2"), ElementsAre(HasSubstr("the field text is given twice")));
    for (const char* const weights : {"title=0", "title=-1", "title=2000000"})
        EXPECT_THAT(refused(weights), ElementsAre(HasSubstr("of the field title (expected a number from")));
    EXPECT_THAT(refused("title=x"), ElementsAre(HasSubstr("x")));
    EXPECT_THAT(refused("", "text=1.5"),
                ElementsAre(HasSubstr(
                    "field_b: invalid value '1.5' of the field text (expected a number from 0 to 1)")));
    search_options options;
    options.field_weights = "title=2";
    options.ranking.model = ranking_model::ql;
    EXPECT_THAT(errors_of(engine, options), ElementsAre(HasSubstr("weights of fields need the model bm25")));
}

}  // namespace
}  // namespace quern::field_weights_test
