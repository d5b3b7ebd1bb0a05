// SPDX-License-Identifier: Apache-2.0
// Accents ignored in a search: the same documents and scores as in a store that was built without accents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "temporary_folder.hpp"
#include "text/folding.hpp"

namespace quern::folding_search_test {
namespace {

using ::testing::ElementsAre;
using testing::temporary_folder;
using testing::write_file;

search_engine store_of(const temporary_folder& folder, const std::string& name, const std::string& lines,
                       const text_options& text) {
    write_file(folder / "corpus.jsonl", lines);
    build_options options;
    options.inputs = {folder / "corpus.jsonl"};
    options.store = folder / name;
    options.text = text;
    options.skip = all_build_stages;
    context ctx = context::cpu(1);
    ctx.scratch = folder.path();
    build(options, ctx);
    return search_engine::open(folder / name, ctx);
}

class random_texts {
  public:
    explicit random_texts(std::uint64_t seed) : random_(seed) {}
    std::size_t below(std::size_t end) { return random_() % end; }
    std::string word() {
        static const std::vector<std::string> words{
            "cafe",  "café", "cafê",  "cafés", "ete",        "été",       "étés",      "ole",
            "olé",   "øle",  "plain", "Ærø",   "aero",       "straße",    "strasse",   "naïve",
            "naive", "ca",   "èté",   "é",     "métropoles", "metropole", "Søndergade"};
        return words[std::min(below(words.size()), below(words.size()))];
    }
    /// A word, perhaps with a typo, and with or without its accents.
    std::string typed() {
        std::string made = word();
        if (below(3) == 0) made = text::without_accents(made);
        switch (below(9)) {
            case 0:
                return made + (below(2) == 0 ? "e" : "é");
            case 1:
                return "x" + made;
            case 2:
                if (static_cast<unsigned char>(made.back()) < 128 && made.size() > 3) made.pop_back();
                return made;
            default:
                return made;
        }
    }
    std::string words(std::size_t max, std::size_t min = 0) {
        std::string text;
        for (std::size_t left = min + below(max - min + 1); left > 0; --left)
            text.append(text.empty() ? "" : " ").append(word());
        return text;
    }
    std::string query() {
        std::string text;
        for (std::size_t left = 1 + below(3); left > 0; --left) {
            if (!text.empty()) text += below(6) == 0 ? " OR " : " ";
            const bool joined = text.ends_with("OR ");
            if (!joined && below(5) == 0) text += "+";
            if (!joined && !text.ends_with('+') && left > 1 && below(6) == 0) {
                text += word() + " -" + word() + " " + word();
                continue;
            }
            if (below(5) == 0) text += below(2) == 0 ? "title:" : "text:";
            switch (below(6)) {
                case 0:
                    text += '"' + words(3, 1) + '"';
                    break;
                case 1:
                    text += '"' + words(3, 2) + "\"~" + std::to_string(below(4));
                    break;
                case 2:
                    text += word() + "*";
                    break;
                case 3:
                    text += word() + "-" + word();
                    break;
                default:
                    text += typed();
                    if (below(6) == 0) text += below(2) == 0 ? "~1" : "~2";
            }
        }
        return text;
    }

  private:
    std::mt19937_64 random_;
};

TEST(folding_search, equals_a_search_in_a_folded_store) {
    random_texts random(8);
    std::size_t found = 0, read = 0, by_variants = 0;
    for (const std::size_t size : {1, 12, 150}) {
        const temporary_folder folder;
        std::string lines;
        for (std::size_t d = 0; d < size; ++d)
            lines += "{\"id\":\"" + std::to_string(d) + R"(","title":")" + random.words(2) + R"(","text":")" +
                     random.words(random.below(9) == 0 ? 40 : 7) + "\"}\n";
        const search_engine plain = store_of(folder, "plain", lines, {});
        const search_engine folded = store_of(folder, "folded", lines, {.fold = folding::accents});
        for (std::size_t round = 0; round < 500; ++round) {
            const std::string query = random.query();
            search_options options;
            options.syntax = query_syntax::operators;
            options.ranking.title_weight = round % 2 == 0 ? 0.25 : 0;
            options.ranking.model = static_cast<ranking_model>(round / 2 % 4);
            options.typos = static_cast<typo_tolerance>(round / 8 % 4);
            options.prefix_last = round % 5 < 2;
            if (round % 7 == 0) {
                options.ranking.model = ranking_model::bm25;
                options.field_weights = "title=3";
            }
            options.total = true;
            options.k = round % 3 == 0 ? size + 1 : 3;
            const auto ranking = [&](const search_engine& engine) {
                std::vector<std::pair<std::uint32_t, double>> made;
                const search_result result = engine.search(query, options);
                EXPECT_GE(result.total, result.hits.size());
                by_variants += result.variants.size();
                made.emplace_back(static_cast<std::uint32_t>(*result.total), 0);
                for (const search_hit& hit : result.hits) made.emplace_back(hit.document, hit.score);
                return made;
            };
            try {
                const auto expected = ranking(folded);
                options.fold = folding::accents;
                ASSERT_EQ(ranking(plain), expected) << query;
                ASSERT_EQ(ranking(folded), expected) << query;
                found += expected.size() > 1;
                ++read;
            } catch (const query_error& e) {  // both or none
                EXPECT_THROW(plain.search(query, options), query_error) << query;
            }
        }
    }
    EXPECT_GT(read, 1000U);
    EXPECT_GT(found, read / 3);
    EXPECT_GT(by_variants, 300U);
}

TEST(folding_search, edits_are_those_of_words_without_accents) {
    const temporary_folder folder;
    const search_engine engine = store_of(folder, "s",
                                          "{\"id\":\"1\",\"text\":\"métropole\"}\n"
                                          "{\"id\":\"2\",\"text\":\"Ærø\"}\n",
                                          {});
    search_options options = interactive_search();
    EXPECT_EQ(engine.search("metrapale", options).hits.size(), 0U) << "three edits with the accent";
    options.fold = folding::accents;
    EXPECT_EQ(engine.search("metrapale", options).hits.size(), 1U);
    EXPECT_EQ(engine.search("aeru", options).hits.size(), 1U);
    options.prefix_last = true;
    EXPECT_EQ(engine.search("metrapo", options).hits.size(), 1U);
}

TEST(folding_search, marks_the_words_of_the_text) {
    const temporary_folder folder;
    const search_engine engine = store_of(
        folder, "s", "{\"id\":\"1\",\"text\":\"Un café à Ærø\"}\n{\"id\":\"2\",\"text\":\"cafe\"}\n", {});
    search_options options = interactive_search();
    EXPECT_EQ(engine.search("cafe", options).hits.size(), 1U);
    options.fold = folding::accents;
    const search_result result = engine.search("cafe aero", options);
    EXPECT_EQ(result.hits.size(), 2U);
    EXPECT_THAT(result.variant_words, ElementsAre("cafe", "café", "ærø"));
    EXPECT_TRUE(result.unknown_words.empty());
    EXPECT_EQ(result.hits[0].snippet, "Un café à Ærø");
    const search_engine folded =
        store_of(folder, "f", "{\"id\":\"1\",\"text\":\"Un café à Ærø\"}\n", {.fold = folding::accents});
    EXPECT_EQ(folded.matches("Un café à Ærø", "cafe aero"), (std::vector<text_match>{{3, 8}, {12, 17}}));
    EXPECT_EQ(folded.store().text.fold, folding::accents);
    EXPECT_EQ(folded.complete("CAFÉ", {}, context()).words.at(0).word, "cafe");
}

}  // namespace
}  // namespace quern::folding_search_test
