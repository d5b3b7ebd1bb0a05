// SPDX-License-Identifier: Apache-2.0
// Words with typos, unfinished words and completions: random queries compared with the reference, then examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "reference/typo_reference.hpp"
#include "temporary_folder.hpp"

namespace quern::typos_test {
namespace {

using reference::typed_word;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::temporary_folder;
using testing::write_file;
using sign = typed_word::sign;
using field = typed_word::field;
using ranking = std::vector<std::pair<std::uint32_t, double>>;

class random_words {
  public:
    explicit random_words(std::uint64_t seed) : random_(seed) {
        // Words from a few roots by a few edits, so that most have near ones, and of every length.
        const std::vector<std::string> roots{"ab",      "abc",      "abca",      "bacab",
                                             "abcabca", "abcabcab", "cabbacabba"};
        for (const std::string& root : roots)
            for (int i = 0; i < 7; ++i) words_.push_back(changed(root, below(4)));
    }
    std::size_t below(std::size_t end) { return random_() % end; }
    std::string word() { return words_[std::min(below(words_.size()), below(words_.size()))]; }
    std::string changed(std::string word, std::size_t edits) {
        for (; edits > 0; --edits) {
            const std::size_t at = below(word.size() + 1);
            const char letter = static_cast<char>('a' + below(3));
            switch (below(4)) {
                case 0:
                    word.insert(at, 1, letter);
                    break;
                case 1:
                    if (word.size() > 2 && at < word.size()) word.erase(at, 1);
                    break;
                case 2:
                    if (at < word.size()) word[at] = letter;
                    break;
                default:
                    if (at + 1 < word.size()) std::swap(word[at], word[at + 1]);
            }
        }
        return word;
    }
    std::vector<std::string> words(std::size_t max) {
        std::vector<std::string> made(below(max + 1));
        for (std::string& w : made) w = word();
        return made;
    }
    std::vector<typed_word> query() {
        std::vector<typed_word> made(1 + below(3));
        bool only_excluded = true;
        for (typed_word& of : made) {
            of.word = changed(word(), below(3));
            const auto kind = below(8);
            of.has = kind == 0 ? sign::plus : kind == 1 ? sign::minus : sign::none;
            const auto in = below(10);
            of.in = in == 0 ? field::title : in == 1 ? field::text : field::any;
            if (below(4) == 0) of.edits = 1 + static_cast<unsigned>(below(2));
            only_excluded = only_excluded && of.has == sign::minus;
        }
        if (only_excluded) made.front().has = sign::none;
        return made;
    }

  private:
    std::mt19937_64 random_;
    std::vector<std::string> words_;
};

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

std::string text_of(const std::vector<typed_word>& query) {
    std::string text;
    for (const typed_word& of : query) {
        text += text.empty() ? "" : " ";
        text += of.has == sign::plus ? "+" : of.has == sign::minus ? "-" : "";
        text += of.in == field::title ? "title:" : of.in == field::text ? "text:" : "";
        text += of.word;
        if (of.edits != 0) text += "~" + std::to_string(of.edits);
    }
    return text;
}

search_engine store_of(const temporary_folder& folder, const std::string& lines,
                       const text_options& text = {}) {
    write_file(folder / "corpus.jsonl", lines);
    build_options options;
    options.inputs = {folder / "corpus.jsonl"};
    options.store = folder / "store";
    options.text = text;
    options.skip = all_build_stages;
    if (lines.find("\"n\"") != std::string::npos) options.fields.kept = {"n"};
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    build(options, ctx);
    return search_engine::open(folder / "store", ctx);
}

ranking ranking_of(const search_result& result) {
    ranking made;
    for (const search_hit& hit : result.hits) made.emplace_back(hit.document, hit.score);
    return made;
}

TEST(typos, random_queries_match_the_reference) {
    constexpr ranking_model models[] = {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet,
                                        ranking_model::two_stage};
    random_words random(5);
    std::size_t found = 0, by_variants = 0;
    for (const std::size_t size : {1, 9, 40, 250}) {
        const temporary_folder folder;
        std::vector<reference::worded_document> documents(size);
        std::string lines;
        for (std::size_t d = 0; d < size; ++d) {
            documents[d] = {random.words(2), random.words(random.below(8) == 0 ? 40 : 5)};
            lines += "{\"id\":\"" + std::to_string(d) + R"(","n":)" + std::to_string(d % 7) +
                     R"(,"title":")" + joined(documents[d].title) + R"(","text":")" +
                     joined(documents[d].text) + "\"}\n";
        }
        const search_engine engine = store_of(folder, lines);
        for (std::size_t round = 0; round < (size == 250 ? 250U : 400U); ++round) {
            std::vector<typed_word> query = random.query();
            search_options options;
            options.syntax = query_syntax::operators;
            options.typos = static_cast<typo_tolerance>(round % 4);
            options.ranking.model = models[round / 4 % 4];
            options.ranking.title_weight = round % 3 == 0 ? 0.25 : 0;
            options.k = size + 1;
            options.total = true;
            typed_word& last = query.back();
            options.prefix_last = round % 5 < 2;
            last.unfinished = options.prefix_last && last.edits == 0 && last.has != sign::minus;
            std::set<std::uint32_t> passing;
            const bool filtered = round % 6 == 0;
            if (filtered) options.filter = "n < 4";
            for (std::uint32_t d = 0; d < size; ++d)
                if (!filtered || d % 7 < 4) passing.insert(d);

            const reference::typo_search slow(documents, options.ranking,
                                              static_cast<reference::typo_mode>(options.typos));
            ranking expected;
            for (const scored_document& of : slow.search(query, passing))
                expected.emplace_back(of.document, of.score());
            const std::string text = text_of(query);
            const search_result all = engine.search(text, options);
            ASSERT_EQ(ranking_of(all), expected) << text << ", round " << round;
            ASSERT_EQ(all.total, expected.size()) << text;
            options.count = true;
            ASSERT_EQ(engine.search(text, options).total, expected.size()) << text;
            options.count = options.total = false;
            options.k = 2;
            options.explain = true;
            const search_result best = engine.search(text, options);
            expected.resize(std::min<std::size_t>(2, expected.size()));
            ASSERT_EQ(ranking_of(best), expected) << text;
            for (const search_hit& hit : best.hits) {
                double sum = 0;
                for (const explained_term& of : hit.explanation) sum += of.score;
                ASSERT_EQ(sum, hit.score) << text;
            }
            found += expected.size();
            by_variants += best.variants.size();
        }
    }
    EXPECT_GT(found, 500U);
    EXPECT_GT(by_variants, 300U);
}

class typos_store : public ::testing::Test {
  protected:
    search_engine made(const std::vector<std::string>& texts, const text_options& text = {}) {
        std::string lines;
        for (std::size_t i = 0; i < texts.size(); ++i)
            lines += "{\"id\":\"" + std::to_string(i + 1) + R"(","text":")" + texts[i] + "\"}\n";
        return store_of(folder_, lines, text);
    }
    static std::vector<std::string> ids(const search_result& result) {
        std::vector<std::string> all;
        for (const search_hit& hit : result.hits) all.emplace_back(hit.id);
        return all;
    }
    static std::vector<std::string> found(const search_engine& engine, std::string_view query,
                                          typo_tolerance typos, bool unfinished = false) {
        search_options options = interactive_search();
        options.typos = typos;
        options.prefix_last = unfinished;
        return ids(engine.search(query, options));
    }
    static std::vector<std::string> words(const completion_result& of) {
        std::vector<std::string> all;
        for (const completed_word& word : of.words)
            all.push_back(word.word + " " + std::to_string(word.documents) + " " +
                          std::to_string(word.distance));
        return all;
    }
    temporary_folder folder_;
};

TEST_F(typos_store, the_word_itself_comes_first) {
    std::string padding;
    for (int i = 0; i < 400; ++i) padding += " and";
    const search_engine engine =
        made({"mills mills mills mills", "mill" + padding, "mile", "milk mills", "wind"});
    for (const ranking_model model : {ranking_model::bm25, ranking_model::ql}) {
        search_options options = interactive_search();
        options.ranking.model = model;
        options.typos = typo_tolerance::two;
        EXPECT_EQ(ids(engine.search("mill", options)).front(), "2") << "though its part is the smallest";
        EXPECT_EQ(engine.search("mill", options).hits.size(), 4U);
    }
    EXPECT_THAT(found(engine, "mill", typo_tolerance::automatic), ElementsAre("2"));
    EXPECT_THAT(found(engine, "mill wind", typo_tolerance::two), ::testing::SizeIs(5));
    EXPECT_THAT(found(engine, "\"mill\"", typo_tolerance::two), ElementsAre("2"))
        << "quotes mean what they say";
    EXPECT_THAT(found(engine, "wnd", typo_tolerance::two), IsEmpty()) << "too short";
    EXPECT_THAT(found(engine, "wnd~1", typo_tolerance::never), ElementsAre("2", "5"));
    EXPECT_THAT(found(engine, "wniid", typo_tolerance::automatic), IsEmpty());
    EXPECT_THAT(found(engine, "wniid~2", typo_tolerance::automatic), ElementsAre("5"));
}

TEST_F(typos_store, variants_are_named) {
    const search_engine engine = made({"battle of hastings", "bottle", "battle", "cattle"});
    const search_result result = engine.search("batle hastings", interactive_search());
    ASSERT_EQ(result.variants.size(), 1U);
    EXPECT_EQ(result.variants[0].word, "batle");
    ASSERT_EQ(result.variants[0].words.size(), 1U);
    EXPECT_EQ(result.variants[0].words[0].word, "battle");
    EXPECT_EQ(result.variants[0].words[0].documents, 2U);
    EXPECT_THAT(result.unknown_words, ElementsAre("batle"));
    EXPECT_THAT(result.variant_words, ElementsAre("battle"));
    EXPECT_THAT(ids(result), ElementsAre("1", "3"));
    const auto tiers = engine.search("battel~2", interactive_search()).variants.at(0).words;
    ASSERT_EQ(tiers.size(), 3U);
    EXPECT_EQ(tiers[0].distance, 1U) << "neighbours exchanged are one edit";
}

TEST_F(typos_store, unfinished_words) {
    text_options text;
    text.stem = stemmer::porter;
    text.stop_words = "en";
    const search_engine engine =
        made({"the theory of relations", "thermal running", "relation", "run"}, text);
    EXPECT_THAT(found(engine, "the", typo_tolerance::never, true), ::testing::UnorderedElementsAre("1", "2"));
    EXPECT_THAT(found(engine, "the ", typo_tolerance::never, true), IsEmpty()) << "finished: a stop word";
    EXPECT_THAT(found(engine, "relations", typo_tolerance::never, true),
                ::testing::UnorderedElementsAre("1", "3"))
        << "the stem of the word, though no stem begins so";
    EXPECT_THAT(found(engine, "thermal r", typo_tolerance::never, true).front(), "2");
    EXPECT_THAT(found(engine, "+thermal +r", typo_tolerance::never, true), ElementsAre("2"));
    EXPECT_THAT(found(engine, "thermal \"run\"", typo_tolerance::never, true), ElementsAre("2", "4"))
        << "what is in quotes is finished, and required";
    EXPECT_THAT(found(engine, "tehr", typo_tolerance::automatic, true), ElementsAre("2"))
        << "no word begins so: beginnings with typos";
}

TEST_F(typos_store, completions) {
    const search_engine engine =
        made({"mill miller mills", "mill million", "mills éclair", "wind éclat", "Mill mild"});
    const context ctx;
    const completion_result all = engine.complete("old MIL", {}, ctx);
    EXPECT_EQ(all.before, "old ");
    EXPECT_EQ(all.beginning, "mil");
    EXPECT_EQ(all.total, 5U);
    EXPECT_THAT(words(all), ElementsAre("mill 3 0", "mills 2 0", "mild 1 0", "miller 1 0", "million 1 0"));
    EXPECT_THAT(words(engine.complete("mil", {.k = 2}, ctx)), ElementsAre("mill 3 0", "mills 2 0"));
    EXPECT_THAT(words(engine.complete("éc", {}, ctx)), ElementsAre("éclair 1 0", "éclat 1 0"));
    EXPECT_THAT(words(engine.complete("mlil", {}, ctx)),
                ElementsAre("mill 3 1", "mills 2 1", "mild 1 1", "miller 1 1", "million 1 1"));
    EXPECT_THAT(words(engine.complete("mlil", {.typos = typo_tolerance::never}, ctx)), IsEmpty());
    for (const std::string_view none : {"", "mill ", "mill,", "?"}) {
        EXPECT_THAT(words(engine.complete(none, {}, ctx)), IsEmpty()) << none;
        EXPECT_EQ(engine.complete(none, {}, ctx).before, none);
    }
    EXPECT_THROW(engine.complete("m", {.k = 0}, ctx), usage_error);
}

TEST_F(typos_store, the_grammar_of_typos) {
    const search_engine engine = made({"mill", "mall"});
    search_options options = interactive_search();
    const auto run = [&](std::string_view query, query_syntax syntax) {
        options.syntax = syntax;
        return engine.search(query, options);
    };
    EXPECT_EQ(run("mill~1", query_syntax::automatic).syntax, query_syntax::operators);
    EXPECT_EQ(run("mill~", query_syntax::automatic).syntax, query_syntax::words);
    EXPECT_EQ(run("mill~3", query_syntax::automatic).syntax, query_syntax::words);
    for (const std::string_view wrong : {"mill~", "mill~3", "mill~0", "mill~1.5", "e-mail~1", "mill~10"}) {
        try {
            run(wrong, query_syntax::operators);
            ADD_FAILURE() << wrong;
        } catch (const query_error& e) {
            EXPECT_THAT(e.what(), HasSubstr("~")) << wrong;
        }
    }
    EXPECT_THAT(ids(run("-mill~1 mall", query_syntax::operators)), IsEmpty());
    EXPECT_THAT(ids(run("(mill~1)", query_syntax::operators)), ElementsAre("1", "2"));
    EXPECT_EQ(run("mill\\~1", query_syntax::operators).syntax, query_syntax::operators);
}

}  // namespace
}  // namespace quern::typos_test
