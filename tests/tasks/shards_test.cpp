// SPDX-License-Identifier: Apache-2.0
// Sharded stores: every model and kind of query finds what one store of all documents finds, with the same scores, for any
// number of shards; what needs one store, and shards that are not those described, are refused.
#include "quern/tasks/shards.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "temporary_folder.hpp"

namespace quern::shards_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::made_numbers;
using testing::write_file;

/// Spelt alike, some with accents.
constexpr std::string_view near_words[] = {"mill",       "grain",     "mull",  "m\u00fcll", "mills",
                                           "milling",    "grains",    "grian", "mall",      "millers",
                                           "gr\u00e4in", "caf\u00e9", "cafe",  "graining",  "m\u00efll"};

/// Documents whose words are of Zipf-like frequency; every document has a rare word, so that shards lack words of others.
std::string made_corpus(std::size_t documents, std::uint64_t seed) {
    made_numbers next(seed);
    const auto near_word = [&] { return near_words[next(1 + next(std::size(near_words)))]; };
    std::string corpus;
    for (std::size_t d = 0; d < documents; ++d) {
        std::string text = fmt::format("rare{}", d % 23);
        const std::uint64_t words = 1 + next(40);
        for (std::uint64_t w = 0; w < words; ++w) text += fmt::format(" w{}", next(1 + next(30)));
        for (std::uint64_t w = next(3); w > 0; --w) text += fmt::format(" {}", near_word());
        corpus += fmt::format(
            R"({{"id":"d{}","title":"w{} title {}","text":"{}","price":{},"share":{},"day":"2024-05-{:02}",)",
            d, next(20), next(4) == 0 ? near_word() : "", text, next(50), static_cast<double>(next(8)) / 8,
            1 + next(9));
        corpus += fmt::format(R"("sold":{},"kind":"k{}",)", next(2) == 0, next(5));
        if (next(4) != 0) corpus += fmt::format(R"("place":"p{}",)", next(4));
        corpus += fmt::format(R"("tag":["t{}","t{}"]}})", next(3), next(3));
        corpus += '\n';
    }
    return corpus;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
        end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at + 1));
    }
    return lines;
}

std::string shown(const search_result& result) {
    std::string text =
        fmt::format("empty {} unknown {} total {} syntax {} {}\n", result.empty_query,
                    fmt::join(result.unknown_words, ","), result.total ? std::to_string(*result.total) : "-",
                    static_cast<int>(result.syntax), result.syntax_note);
    for (const suggested_words& of : result.suggestions) {
        text += of.unknown + ":";
        for (const auto& word : of.words)
            text += fmt::format(" {} {} {}", word.word, word.distance, word.documents);
        text += '\n';
    }
    for (const found_variants& of : result.variants) {
        text += "variants of " + of.word + ":";
        for (const auto& word : of.words)
            text += fmt::format(" {} {} {}", word.word, word.distance, word.documents);
        text += '\n';
    }
    text += fmt::format("words {}\nfacets {}\n", fmt::join(result.variant_words, ","),
                        facets_json(result.facets));
    for (const search_hit& hit : result.hits)
        text += fmt::format("{} {} {} {:a} {} [{}] {} {} {}\n", hit.rank, hit.document, hit.id, hit.score,
                            hit.title, hit.snippet, hit.words, hit.fields, explanation_json(hit));
    return text;
}

class shards_test : public testing::corpus_fixture {
  protected:
    fs::path built(const std::string& corpus, const std::string& name,
                   const std::function<void(build_options&)>& change = {}) {
        build_options options;
        options.inputs = {written(corpus, name + ".jsonl")};
        options.store = folder_ / name;
        options.skip = all_build_stages;
        options.fields.kept = {"*"};
        options.force = true;
        if (change) change(options);
        build(options, context_with());
        return options.store;
    }
    /// Consecutive parts of the corpus, of uneven sizes, as a sharded store.
    fs::path sharded(const std::string& corpus, std::size_t shards) {
        const std::vector<std::string> lines = lines_of(corpus);
        shards_options options{
            .stores = {}, .store = folder_ / fmt::format("sharded_{}", shards), .force = true};
        std::size_t begin = 0;
        for (std::size_t s = 0; s < shards; ++s) {
            const std::size_t end =
                s + 1 == shards ? lines.size() : begin + (s + 1) * lines.size() * 2 / (shards * (shards + 1));
            std::string part;
            for (; begin < end; ++begin) part += lines[begin];
            options.stores.push_back(built(part, fmt::format("shard_{}_{}", shards, s)));
        }
        write_shards(options, context_with());
        return options.store;
    }
};

constexpr ranking_model models[] = {
    ranking_model::bm25,   ranking_model::ql,        ranking_model::dirichlet, ranking_model::two_stage,
    ranking_model::lucene, ranking_model::robertson, ranking_model::atire,     ranking_model::bm25_plus,
    ranking_model::bm25l,  ranking_model::pl2,       ranking_model::inl2};
constexpr std::string_view queries[] = {
    "w3",
    "w1 w2 w29 w2",
    "rare5 rare22 w0",
    "rare5 absent w4",
    "absent",
    "",
    "*",
    "\"w1 w2\" w7",
    "\"rare3 w0\"",
    "\"w9 absent\"",
    "+w3 -w1 rare7",
    "w2* -w25",
    "rare* w5",
    "title:w4 text:w4 w11",
    "\"w1 w2\"~3 OR rare4",
    "(w28 AND w3) OR NOT title:w1 w0",
    "titl rare5",
};

TEST_F(shards_test, every_model_and_query_finds_what_one_store_finds) {
    const std::string corpus = made_corpus(157, 7);
    const auto whole = search_engine::open(built(corpus, "whole"), context_with());
    for (const std::size_t shards : {1, 2, 3, 5}) {
        const auto parts = search_engine::open(sharded(corpus, shards), context_with());
        EXPECT_EQ(parts.shards(), shards);
        EXPECT_EQ(parts.documents(), whole.documents());
        EXPECT_EQ(parts.vocabulary(), whole.vocabulary());
        for (const ranking_model model : models) {
            for (const std::string_view query : queries) {
                for (const double title_weight : {0.0, 0.25}) {
                    search_options options;
                    options.ranking.model = model;
                    options.ranking.title_weight = title_weight;
                    options.syntax = query_syntax::automatic;
                    options.k = title_weight == 0 ? ~std::size_t{0} : 7;
                    options.offset = title_weight == 0 ? 0 : 2;
                    options.total = true;
                    options.explain = true;
                    options.suggestions = 3;
                    const unsigned threads = shards == 3 ? 3 : 1;
                    EXPECT_EQ(shown(parts.search(query, options, context_with(threads))),
                              shown(whole.search(query, options, context_with(1))))
                        << query << " by " << ranking_model_names[static_cast<std::size_t>(model)] << " in "
                        << shards;
                }
            }
        }
    }
}

TEST_F(shards_test, options_give_what_one_store_gives) {
    const std::string corpus = made_corpus(120, 11);
    const auto whole = search_engine::open(built(corpus, "whole"), context_with());
    std::vector<std::pair<std::string, search_options>> cases;
    const auto add = [&](std::string name) -> search_options& {
        cases.emplace_back(std::move(name), search_options());
        cases.back().second.k = 30;
        cases.back().second.explain = true;
        return cases.back().second;
    };
    add("filter").filter = "price < 20 AND tag = t1";
    add("count").filter = "price >= 25";
    cases.back().second.count = true;
    cases.back().second.explain = false;
    add("pairs").dependence = dependence_model::sdm;
    search_options& ngrams = add("ngrams");
    ngrams.ranking.model = ranking_model::ql;
    ngrams.order = 3;
    add("no snippets").snippets = false;
    add("the best").k = 1;
    for (const std::string_view order : {"price", "-day", "place,-price", "-sold,kind", "share"}) {
        add("sort " + std::string(order)).sort = order;
        add("the first by " + std::string(order)).sort = order;
        cases.back().second.k = 6;
        cases.back().second.offset = 2;
    }
    add("facets").facets = "price,share,day,sold,kind,place,tag";
    cases.back().second.total = true;
    add("facets of a filter").facets = "tag,price";
    cases.back().second.filter = "sold = true";
    cases.back().second.sort = "-place";
    cases.back().second.facet_values = 2;
    for (const std::size_t shards : {2, 5}) {
        const auto parts = search_engine::open(sharded(corpus, shards), context_with());
        for (const auto& [name, options] : cases)
            for (const std::string_view query : {"w1 w2 w3 w4", "rare4 w2 rare4 w1", "w0", ""})
                EXPECT_EQ(shown(parts.search(query, options, context_with(2))),
                          shown(whole.search(query, options, context_with(1))))
                    << name << ": " << query << " in " << shards;
    }
}

TEST_F(shards_test, words_spelt_alike_are_those_of_one_store) {
    const std::string corpus = made_corpus(110, 13);
    const auto whole = search_engine::open(built(corpus, "whole"), context_with());
    std::vector<search_options> cases;
    for (const typo_tolerance typos :
         {typo_tolerance::never, typo_tolerance::automatic, typo_tolerance::one, typo_tolerance::two}) {
        for (const bool prefix_last : {false, true}) {
            for (const folding fold : {folding::none, folding::accents}) {
                search_options& options = cases.emplace_back();
                options.typos = typos;
                options.prefix_last = prefix_last;
                options.fold = fold;
                options.syntax = query_syntax::automatic;
                options.explain = options.total = true;
                options.suggestions = 2;
                options.k = 40;
            }
        }
    }
    for (const std::size_t shards : {1, 2, 5}) {
        const auto parts = search_engine::open(sharded(corpus, shards), context_with());
        unsigned turn = 0;
        for (search_options options : cases) {
            for (const std::string_view query :
                 {"mill", "mill w3", "mil", "grani w1", "gra", "mill~2 -grain", "title:mil~1 w2",
                  "mul* grain", "+m\u00fcll caf\u00e9", "\"mill grain\" mull", "absent~1 graning", "cafe",
                  "xyzt mi"}) {
                options.ranking.model = models[turn++ % std::size(models)];
                options.ranking.title_weight = turn % 3 == 0 ? 0.25 : 0;
                EXPECT_EQ(shown(parts.search(query, options, context_with(1 + turn % 3))),
                          shown(whole.search(query, options, context_with(1))))
                    << query << " in " << shards << ", typos " << static_cast<int>(options.typos) << ", last "
                    << options.prefix_last << ", fold " << static_cast<int>(options.fold);
            }
        }
    }
}

TEST_F(shards_test, completions_and_counts_are_those_of_one_store) {
    const std::string corpus = made_corpus(90, 17);
    const fs::path of_whole = built(corpus, "whole");
    const auto whole = search_engine::open(of_whole, context_with());
    const auto counts = ngram_counter::open(of_whole, context_with());
    const auto text_of = [](const completion_result& result) {
        std::string text = fmt::format("{}|{}|{}", result.before, result.beginning, result.total);
        for (const completed_word& of : result.words)
            text += fmt::format(" {} {} {} {}", of.word, of.documents, of.occurrences, of.distance);
        return text;
    };
    const auto summary_text = [](const collection_summary& of) {
        std::string text =
            fmt::format("{} {} {} {}", of.shortest, of.median, of.longest, of.linked_documents.size());
        for (const auto& length : of.document_lengths)
            text += fmt::format(" {}:{}", length.from, length.documents);
        for (const auto& word : of.frequent_words)
            text += fmt::format(" {} {} {}", word.word, word.documents, word.occurrences);
        return text;
    };
    const auto count_text = [&](const ngram_counter& counter, std::string_view words) {
        const ngram_occurrences found = counter.count(words, context_with(2));
        std::string text = fmt::format("{} {} {} {}", fmt::join(found.words, " "),
                                       fmt::join(found.unknown_words, " "), found.count, found.followed);
        for (const ngram_document& of : found.documents)
            text += fmt::format(" {} {} {} {}", of.document, counter.id(of.document), of.count, of.followed);
        return text;
    };
    for (const std::size_t shards : {1, 3, 5}) {
        const fs::path of_parts = sharded(corpus, shards);
        const auto parts = search_engine::open(of_parts, context_with());
        for (const std::string_view typed :
             {"m", "w1 mi", "rar", "grnai", "mlil", "xyzt", "", "mill ", "w"}) {
            for (const typo_tolerance typos :
                 {typo_tolerance::never, typo_tolerance::automatic, typo_tolerance::one})
                for (const std::size_t k : {1, 3, 100})
                    EXPECT_EQ(text_of(parts.complete(typed, {k, typos}, context_with())),
                              text_of(whole.complete(typed, {k, typos}, context_with())))
                        << typed;
        }
        for (const std::size_t words : {0, 1, 7, 1000, 2000})
            EXPECT_EQ(summary_text(parts.summary(words, 3, context_with())),
                      summary_text(whole.summary(words, 3, context_with())));
        EXPECT_EQ(parts.duplicated(0, 5, 5, context_with()).total, 0U);
        const auto in_parts = ngram_counter::open(of_parts, context_with());
        EXPECT_EQ(in_parts.documents(), counts.documents());
        for (const std::string_view words : {"w0", "w0 w1", "rare3 w0", "rare3", "w1 absent", "mill"})
            EXPECT_EQ(count_text(in_parts, words), count_text(counts, words));
    }
}

TEST_F(shards_test, facets_of_very_many_values_count_against_the_memory) {
    std::string corpus;
    for (int i = 0; i < 6000; ++i)
        corpus +=
            fmt::format("{{\"id\":\"{}\",\"text\":\"w\",\"name\":\"name of {}\",\"price\":{}}}\n", i, i, i);
    const fs::path parts = sharded(corpus, 3), whole = built(corpus, "whole");
    search_options options;
    options.facets = "price,name";
    for (const fs::path& store : {parts, whole}) {
        context ctx = context_with();
        ctx.memory_bytes = 8 << 20;
        const auto facets = search_engine::open(store, ctx).search("w", options, ctx).facets;
        EXPECT_EQ(facets[0].distinct, 6000U);
        EXPECT_EQ(facets[1].distinct, 6000U);
        ctx.memory_bytes = 1 << 20;
        const auto engine = search_engine::open(store, ctx);
        try {
            engine.search("w", options, ctx);
            ADD_FAILURE() << "6,000 values in 256 KiB";
        } catch (const out_of_memory& e) {
            EXPECT_THAT(e.what(), ::testing::HasSubstr("a facet of the field price with so many values"));
        }
    }
}

TEST_F(shards_test, topics_are_those_of_one_store_for_any_threads) {
    const std::string corpus = made_corpus(90, 3);
    const auto whole = search_engine::open(built(corpus, "whole"), context_with());
    const auto parts = search_engine::open(sharded(corpus, 3), context_with());
    std::vector<search_topic> topics;
    for (int i = 0; i < 40; ++i)
        topics.push_back({std::to_string(i), fmt::format("{}w{} w{} {}rare{}", i % 5 == 0 ? "+" : "", i % 30,
                                                         i % 7, i % 3 == 0 ? "-" : "", i % 23)});
    search_options options;
    options.k = 15;
    options.syntax = query_syntax::automatic;
    options.total = true;
    const auto run = [&](const search_engine& engine, unsigned threads) {
        std::string text;
        for (const search_result& result : engine.search(topics, options, context_with(threads)))
            text += shown(result);
        return text;
    };
    for (const bool rows : {true, false}) {  // without, the lists of words are kept
        options.snippets = options.fields = rows;
        for (const ranking_model model : models) {
            options.ranking.model = model;
            const std::string expected = run(whole, 1);
            EXPECT_EQ(run(parts, 1), expected);
            EXPECT_EQ(run(parts, 4), expected);
        }
    }
}

TEST_F(shards_test, documents_are_numbered_through_the_shards) {
    const std::string corpus = made_corpus(40, 5);
    const auto whole = search_engine::open(built(corpus, "whole"), context_with());
    const auto parts = search_engine::open(sharded(corpus, 3), context_with());
    for (std::uint32_t d = 0; d < whole.documents(); ++d) {
        EXPECT_EQ(parts.id(d), whole.id(d));
        EXPECT_EQ(parts.title(d), whole.title(d));
        EXPECT_EQ(parts.document(d).text, whole.document(d).text);
        EXPECT_EQ(parts.find(whole.id(d)), d);
    }
    EXPECT_EQ(parts.find("absent"), std::nullopt);
    EXPECT_EQ(parts.near_id("D7"), whole.near_id("D7"));
    EXPECT_THROW((void)parts.id(40), usage_error);
    EXPECT_EQ(parts.words_of("ra* w1", query_syntax::operators),
              whole.words_of("ra* w1", query_syntax::operators));
    EXPECT_EQ(parts.discriminative_words_of("w0 title rare1"),
              whole.discriminative_words_of("w0 title rare1"));
}

std::string reason(const std::function<void()>& refused) {
    try {
        refused();
    } catch (const usage_error& e) {
        return e.what();
    }
    return "not refused";
}

TEST_F(shards_test, what_needs_one_store_is_refused_by_name) {
    const auto parts = search_engine::open(sharded(made_corpus(20, 5), 2), context_with());
    const auto refusal = [&](const std::function<void(search_options&)>& change) {
        search_options options;
        change(options);
        return reason([&] { (void)parts.search("w1", options); });
    };
    EXPECT_THAT(refusal([](auto& o) { o.prior = 0.1; }),
                HasSubstr("link ranks (prior), which needs one store"));
    EXPECT_THAT(refusal([](auto& o) { o.expand = 2; }), HasSubstr("a thesaurus (expand)"));
    EXPECT_THAT(refusal([](auto& o) { o.like = 1; }), HasSubstr("vectors of documents (like)"));
    EXPECT_THAT(refusal([](auto& o) { o.vector = {1.0F}; }), HasSubstr("hybrid search"));
    EXPECT_THAT(refusal([](auto& o) { o.feedback = feedback_method::rm3; }), HasSubstr("feedback"));
    EXPECT_THAT(refusal([](auto& o) { o.field_weights = "title=3"; }), HasSubstr("weights of fields"));
    EXPECT_THAT(reason([&] { (void)read_store_info(folder_ / "sharded_2"); }),
                HasSubstr("is a sharded store"));
    EXPECT_FALSE(parts.has_link_ranks() || parts.has_thesaurus() || parts.has_document_vectors());
}

TEST_F(shards_test, shards_that_do_not_go_together_are_refused) {
    const fs::path one = built("{\"id\":\"a\",\"text\":\"x y\",\"price\":1}\n", "one");
    const auto together = [&](const fs::path& other) {
        return reason([&] {
            write_shards({.stores = {one, other}, .store = folder_ / "both", .force = true}, context_with());
        });
    };
    EXPECT_THAT(together(built("{\"id\":\"a\",\"text\":\"z\",\"price\":2}\n", "same_id")),
                HasSubstr("the id \"a\""));
    EXPECT_THAT(together(built("{\"id\":\"b\",\"text\":\"z\",\"price\":\"2\"}\n", "text")),
                HasSubstr("the field price is integer in the first, text in the second"));
    EXPECT_THAT(together(built("{\"id\":\"b\",\"text\":\"z\"}\n", "none")),
                HasSubstr("in no document in the second"));
    EXPECT_THAT(together(built("{\"id\":\"b\",\"text\":\"z\",\"price\":2}\n", "stems",
                               [](build_options& o) { o.text.stem = stemmer::porter; })),
                HasSubstr("--stem is none in the first, porter in the second"));
    EXPECT_THAT(together(one), HasSubstr("is given twice"));
    EXPECT_THAT(together(folder_ / "absent"), HasSubstr("no such store"));
    const std::string copies =
        "the quick brown fox jumps over the lazy dog and runs into the deep green wood";
    EXPECT_THAT(
        together(built("{\"id\":\"b\",\"text\":\"" + copies + "\",\"price\":2}\n{\"id\":\"c\",\"text\":\"" +
                           copies + "\",\"price\":2}\n",
                       "copies", [](build_options& o) { o.skip.erase(build_stage::duplicates); })),
        HasSubstr("excluded 1 near-duplicate"));
    EXPECT_FALSE(fs::exists(folder_ / "both"));
    EXPECT_THAT(together(built("{\"id\":\"b\",\"text\":\"z\",\"price\":2}\n", "other")), "not refused");
    EXPECT_THAT(reason([&] {
                    write_shards({.stores = {folder_ / "both"}, .store = folder_ / "of_both"},
                                 context_with());
                }),
                HasSubstr("is a sharded store (expected stores"));
    EXPECT_THAT(reason([&] { write_shards({.stores = {one}, .store = folder_ / "both"}, context_with()); }),
                HasSubstr("exists; --force replaces it"));
    EXPECT_THAT(reason([&] { write_shards({.stores = {one}, .store = one, .force = true}, context_with()); }),
                HasSubstr("is not a sharded store, and is not replaced"));
}

TEST_F(shards_test, missing_changed_and_damaged_shards_are_refused) {
    const std::string corpus = made_corpus(30, 9);
    const fs::path store = sharded(corpus, 2), second = folder_ / "shard_2_1";
    EXPECT_GT(verify_shards(store, context_with()), 0U);
    const auto opened = [&] { return reason([&] { (void)search_engine::open(store, context_with()); }); };
    fs::rename(second, folder_ / "away");
    EXPECT_THAT(opened(), HasSubstr("shard_2_1 is missing"));
    built(made_corpus(5, 1), "shard_2_1");
    EXPECT_THAT(opened(), HasSubstr("shard_2_1 was changed"));
    EXPECT_THAT(opened(), HasSubstr("--sharded -o"));
    EXPECT_THAT(reason([&] { verify_shards(store, context_with()); }), HasSubstr("was changed"));
    fs::remove_all(second);
    fs::rename(folder_ / "away", second);
    EXPECT_EQ(opened(), "not refused");

    const std::string described = testing::read_file(store / "shards.json");
    std::string damaged = described;
    damaged[damaged.find("\"words\": ") + 9] ^= 1;
    write_file(store / "shards.json", damaged);
    EXPECT_THROW((void)search_engine::open(store, context_with()), damaged_store);
    write_file(store / "shards.json", "{}");
    EXPECT_THROW((void)search_engine::open(store, context_with()), damaged_store);
    write_file(store / "shards.json", described);
    write_file(second / "postings.section", "");
    EXPECT_THROW((void)search_engine::open(store, context_with()), damaged_store);
    EXPECT_THROW(verify_shards(store, context_with()), damaged_store);
}

TEST_F(shards_test, a_tree_of_shards_can_be_moved) {
    const fs::path tree = folder_ / "tree";
    fs::create_directory(tree);
    const fs::path here = fs::current_path();
    fs::rename(built(made_corpus(10, 2), "moved"), tree / "part");
    fs::current_path(tree);  // named by a relative path
    write_shards({.stores = {"part"}, .store = "all"}, context_with());
    fs::current_path(here);
    fs::rename(tree, folder_ / "elsewhere");
    EXPECT_EQ(search_engine::open(folder_ / "elsewhere" / "all", context_with()).documents(), 10U);
}

}  // namespace
}  // namespace quern::shards_test
