// SPDX-License-Identifier: Apache-2.0
// Searching a store: phrases in quotes, histories, every model, compared with the reference, which counts in the
// documents' texts as the store returns them. Then the parsing of queries, and the contents of explanations.
#include "quern/tasks/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>

#include "device/place.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/text/analyzer.hpp"
#include "reference/phrase_reference.hpp"
#include "reference/search_reference.hpp"
#include "tasks/search/parsed_query.hpp"
#include "tasks/store/opened_store.hpp"
#include "temporary_folder.hpp"

namespace quern::search_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::temporary_folder;
using testing::write_file;

constexpr ranking_model all_models[] = {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet,
                                        ranking_model::two_stage};

/// A part of a query: loose words, or a phrase.
struct part {
    std::vector<std::string> words;
    bool quoted = false;
};
using query = std::vector<part>;

std::string text_of(const query& requested) {
    std::string text;
    for (const part& p : requested) {
        if (p.quoted) text += '"';
        for (std::size_t i = 0; i < p.words.size(); ++i) text.append(i == 0 ? "" : " ").append(p.words[i]);
        text += p.quoted ? "\" " : " ";
    }
    return text;
}

/// A store's documents as word ids, and the slow result of a query.
class read_back {
  public:
    explicit read_back(const fs::path& path) {
        const opened_store store(path);
        text::analyzer analyzer(store.info().text);
        text::token_list tokens;
        for (std::uint32_t d = 0; d < store.info().documents; ++d) {
            const auto add = [&](std::string_view text, std::vector<std::uint32_t>& to) {
                analyzer.analyze(text, tokens);
                for (const auto& t : tokens.tokens)
                    to.push_back(
                        ids_.try_emplace(std::string(tokens.word(t)), static_cast<std::uint32_t>(ids_.size()))
                            .first->second);
            };
            add(store.title(d), titles_.emplace_back());
            documents_.push_back(titles_.back());
            add(store.text(d), documents_.back());
            lengths_.push_back(static_cast<std::uint32_t>(documents_.back().size()));
            total_ += lengths_.back();
        }
    }
    const reference::documents_of_words& documents() const { return documents_; }
    std::string word(std::uint32_t id) const {
        return std::ranges::find(ids_, id, [](const auto& entry) { return entry.second; })->first;
    }

    std::vector<scored_document> result(const query& requested, const search_options& options) const {
        std::map<std::vector<std::uint32_t>, reference::query_word> terms;
        std::vector<reference::query_history> histories;
        std::set<std::uint32_t> allowed;
        for (std::uint32_t d = 0; d < documents_.size(); ++d) allowed.insert(d);
        std::vector<std::uint32_t> before;  // the preceding words, as far as they can be a history
        std::map<std::vector<std::uint32_t>, std::uint32_t> ngrams;
        for (const part& p : requested) {
            const bool phrase = p.quoted && p.words.size() > 1;
            if (phrase) {
                before.clear();
                add_term(terms, ids_of(p.words));
            }
            if (p.quoted) {
                const auto holders = documents_with(ids_of(p.words));
                std::erase_if(allowed, [&](std::uint32_t d) { return !holders.contains(d); });
            }
            if (phrase) continue;
            for (const std::string& word : p.words) {
                const std::uint32_t id = ids_of({word}).front();
                before.push_back(id);
                if (id == no_word) {
                    before.clear();
                    continue;
                }
                auto& term = add_term(terms, {id});
                if (options.ngrams == order_model::history) {
                    if (add_history(before, options.order, histories)) ++term.continued;
                    continue;
                }
                for (std::size_t n = 2; n <= std::min<std::size_t>(options.order, before.size()); ++n)
                    ++ngrams[{before.end() - static_cast<std::ptrdiff_t>(n), before.end()}];
            }
        }
        std::vector<reference::query_word> words;
        for (const auto& [_, term] : terms) words.push_back(term);
        for (const auto& [ngram, count] : ngrams) {
            const double weight = ngram.size() == 2 ? pair_weight : longer_weight;
            words.push_back({documents_with(ngram),
                             count,
                             {},
                             0,
                             static_cast<std::uint32_t>(std::nearbyint(weight * 65536))});
        }
        return reference::search(lengths_, total_, words, options.ranking, options.k, histories, &allowed);
    }

    static constexpr double pair_weight = 0.3, longer_weight = 0.07;

  private:
    static constexpr std::uint32_t no_word = ~std::uint32_t{0};

    std::vector<std::uint32_t> ids_of(const std::vector<std::string>& words) const {
        std::vector<std::uint32_t> ids;
        for (const std::string& word : words) ids.push_back(ids_.contains(word) ? ids_.at(word) : no_word);
        return ids;
    }
    reference::word_documents documents_with(const std::vector<std::uint32_t>& words) const {
        reference::word_documents documents;
        for (const auto& posting : reference::find_phrase(documents_, words))
            documents[posting.document] = posting.frequency;
        return documents;
    }
    reference::query_word& add_term(std::map<std::vector<std::uint32_t>, reference::query_word>& terms,
                                    const std::vector<std::uint32_t>& words) const {
        auto [at, added] = terms.try_emplace(words);
        auto& term = at->second;
        if (added) {
            term.count = 0;
            term.documents = documents_with(words);
            for (const auto& posting : reference::find_phrase(titles_, words))
                term.titles[posting.document] = 1;
        }
        ++term.count;
        return term;
    }
    bool add_history(const std::vector<std::uint32_t>& words, unsigned order,
                     std::vector<reference::query_history>& histories) const {
        for (std::size_t n = std::min<std::size_t>(order, words.size()); n > 1; --n) {
            const std::vector<std::uint32_t> ngram(words.end() - static_cast<std::ptrdiff_t>(n), words.end());
            auto holders = documents_with(ngram);
            if (holders.empty()) continue;
            auto& history = histories.emplace_back();
            for (const auto& posting : reference::find_phrase(documents_, {ngram.begin(), ngram.end() - 1}))
                if (posting.followed != 0)
                    history.documents[posting.document] = {posting.followed, holders[posting.document]};
            return true;
        }
        return false;
    }

    std::map<std::string, std::uint32_t> ids_;
    reference::documents_of_words documents_, titles_;
    std::vector<std::uint32_t> lengths_;
    std::uint64_t total_ = 0;
};

/// The program's result equals the reference's, bit for bit, and its explanations add up.
void expect_result(const search_engine& engine, const read_back& slow, const query& requested,
                   const search_options& options) {
    const auto expected = slow.result(requested, options);
    const auto result = engine.search(text_of(requested), options);
    std::vector<scored_document> found;
    for (const search_hit& hit : result.hits) {
        found.push_back({hit.document, static_cast<std::int64_t>(hit.score * 0x1p32)});
        if (!options.explain) continue;
        double sum = 0;
        for (const explained_term& of : hit.explanation) {
            EXPECT_EQ(of.score, of.part + of.background + of.length + of.title);
            sum += of.score;
        }
        ASSERT_EQ(sum, hit.score) << text_of(requested);
    }
    ASSERT_EQ(found, expected) << text_of(requested) << "model " << static_cast<int>(options.ranking.model)
                               << ", order " << options.order;
}

/// Words that are or are not adjacent somewhere, split into quoted and other parts.
query random_query(const read_back& slow, std::mt19937_64& random, bool quotes = true) {
    query requested;
    for (std::uint64_t parts = 1 + random() % 3; parts > 0; --parts) {
        const auto& words = slow.documents()[random() % slow.documents().size()];
        part& p = requested.emplace_back();
        p.quoted = random() % 2 == 0 && quotes;
        std::size_t at = words.empty() ? 0 : random() % words.size();
        for (std::uint64_t n = 1 + random() % 4; n > 0 && at < words.size(); --n)
            p.words.push_back(slow.word(words[at++]));
        if (random() % 4 == 0)
            p.words.push_back(random() % 8 == 0 ? "nowhere"
                                                : slow.word(static_cast<std::uint32_t>(random() % 5)));
        if (p.words.empty()) p.words.emplace_back("nowhere");
    }
    return requested;
}

void expect_random_results(const fs::path& store, unsigned queries, std::uint64_t seed) {
    const auto engine = search_engine::open(store, context::cpu(1));
    const read_back slow(store);
    std::mt19937_64 random(seed);
    std::uint64_t found = 0;
    for (unsigned i = 0; i < queries; ++i) {
        const query requested = random_query(slow, random);
        search_options options;
        options.snippets = false;
        options.explain = i % 3 == 0;
        options.k = i % 2 == 0 ? 10 : 100'000;
        options.ranking.title_weight = i % 4 < 2 ? 0.25 : 0;
        options.ranking.model = all_models[i % 4];
        if (i % 4 != 0) options.order = 1 + i / 4 % 5;
        if (i % 8 == 1) options.ngrams = order_model::history;
        options.order_weights = "0.3 0.07";
        expect_result(engine, slow, requested, options);
        if (::testing::Test::HasFatalFailure()) return;
        found += engine.search(text_of(requested), options).hits.empty() ? 0 : 1;
    }
    EXPECT_GT(found, queries / 3);  // phrases that occur
}

class search_test : public ::testing::Test {
  protected:
    fs::path store_of(const std::string& corpus, const text_options& text = {}, bool ngrams = false) {
        write_file(folder_ / "corpus.jsonl", corpus);
        build_options options;
        options.inputs = {folder_ / "corpus.jsonl"};
        options.store = folder_ / "store";
        options.skip = all_build_stages;
        options.ngrams = ngrams;
        options.force = true;
        options.text = text;
        context ctx = context::cpu(2);
        ctx.scratch = folder_ / "scratch";
        build(options, ctx);
        return options.store;
    }
    search_engine engine_of(const std::string& corpus, const text_options& text = {}) {
        return search_engine::open(store_of(corpus, text), context::cpu(1));
    }
    static std::vector<std::string> ids(const search_engine& engine, std::string_view requested,
                                        const search_options& options = {}) {
        std::vector<std::string> found;
        for (const auto& hit : engine.search(requested, options).hits) found.emplace_back(hit.id);
        std::ranges::sort(found);
        return found;
    }

    temporary_folder folder_;
};

std::string generated_corpus(std::uint32_t documents, std::uint32_t vocabulary, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string lines;
    const auto words = [&](std::uint64_t count) {
        std::string text;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t r = random() % vocabulary;
            text += "w" + std::to_string(r * r * r / vocabulary / vocabulary) + (i % 7 == 6 ? ". " : " ");
        }
        return text;
    };
    for (std::uint32_t d = 0; d < documents; ++d)
        lines += "{\"id\":\"d" + std::to_string(d) + "\",\"title\":\"" + words(random() % 4) +
                 "\",\"text\":\"" + words(d % 50 == 0 ? 2000 : random() % 60) + "\"}\n";
    return lines;
}

TEST_F(search_test, answers_are_the_references) {
    expect_random_results(store_of(generated_corpus(300, 12, 1)), 120, 1);
    expect_random_results(store_of(generated_corpus(5000, 300, 2)), 60, 2);
}

TEST_F(search_test, answers_with_an_index_of_pairs_are_the_references) {
    expect_random_results(store_of(generated_corpus(300, 12, 1), {}, true), 120, 1);
    expect_random_results(store_of(generated_corpus(5000, 300, 2), {}, true), 60, 2);
}

TEST_F(search_test, ngrams_of_plain_words_are_the_references) {
    for (const bool ngrams : {false, true}) {
        const auto store = store_of(generated_corpus(700, 60, 6), {}, ngrams);
        const auto engine = search_engine::open(store, context::cpu(1));
        const read_back slow(store);
        std::mt19937_64 random(9);
        search_options options;
        options.snippets = false;
        options.ranking.model = ranking_model::ql;
        options.order_weights = "0.3 0.07";
        for (unsigned i = 0; i < 24; ++i) {
            const query requested = random_query(slow, random, false);
            options.order = 2 + i % 3;
            options.k = i % 2 == 0 ? 10 : 100'000;
            options.total = i % 3 == 0;
            // From the second time on by kept lists.
            for (int time = 0; time < 3; ++time) expect_result(engine, slow, requested, options);
        }
    }
}

TEST_F(search_test, answers_on_real_text_are_the_references) {
    const char* data = std::getenv("QUERN_DATA");
    const fs::path corpus = fs::path(data == nullptr ? "" : data) / "wikischools.jsonl.zst";
    if (!fs::exists(corpus)) GTEST_SKIP() << "QUERN_DATA has no wikischools.jsonl.zst";
    build_options options;
    options.inputs = {corpus};
    options.store = folder_ / "store";
    options.skip = all_build_stages;
    context ctx = context::cpu();
    ctx.scratch = folder_ / "scratch";
    build(options, ctx);
    expect_random_results(options.store, 16, 3);
}

const char* const garden =
    "{\"id\":\"a\",\"title\":\"Green apple\",\"text\":\"The red apple falls. A red, apple tree.\"}\n"
    "{\"id\":\"b\",\"title\":\"Trees\",\"text\":\"Apple red apple; the tree is red\"}\n"
    "{\"id\":\"c\",\"title\":\"Red\",\"text\":\"apple of the tree\"}\n"
    "{\"id\":\"d\",\"title\":\"Other\",\"text\":\"apple tree, red tree\"}\n";

TEST_F(search_test, quoted_text_must_occur) {
    const auto engine = engine_of(garden);
    EXPECT_THAT(ids(engine, "red apple"), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(ids(engine, "\"red apple\""), ElementsAre("a", "b", "c"));  // c: from its title into its text
    EXPECT_THAT(ids(engine, "\"Red, APPLE\" other"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(ids(engine, "\"red apple\" \"apple tree\""), ElementsAre("a"));
    EXPECT_THAT(ids(engine, "\"apple\" falls"), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(ids(engine, "apple \"falls\""), ElementsAre("a"));
    EXPECT_THAT(ids(engine, "\"red apple"), ElementsAre("a", "b", "c", "d"));    // no closing quote: text
    EXPECT_THAT(ids(engine, "apple \"...\""), ElementsAre("a", "b", "c", "d"));  // no word between quotes
    search_options plain;
    plain.phrases = false;
    EXPECT_THAT(ids(engine, "\"red apple\" \"apple tree\"", plain), ElementsAre("a", "b", "c", "d"));
}

TEST_F(search_test, says_which_quoted_text_is_nowhere) {
    const auto engine = engine_of(garden);
    const auto result = engine.search("apple \"tree apple\" \"blue tree\" \"nut\" nut", {});
    EXPECT_THAT(result.hits, IsEmpty());
    EXPECT_THAT(result.unknown_words, ElementsAre("\"tree apple\"", "blue", "nut"));
    EXPECT_FALSE(result.empty_query);
    EXPECT_TRUE(engine.search("\"\" \"..\"", {}).empty_query);
}

TEST_F(search_test, stop_words_fall_out_of_phrases_as_out_of_documents) {
    text_options text;
    text.stop_words = "en";
    text.stem = stemmer::porter;
    const auto engine = engine_of(garden, text);
    EXPECT_THAT(ids(engine, "\"reds of the trees\""), ElementsAre("d"));
    EXPECT_THAT(ids(engine, "\"apple tree\""), ElementsAre("a", "b", "c", "d"));  // b: the tree
    EXPECT_THAT(ids(engine, "\"the of\" tree"), ElementsAre("a", "b", "c", "d"));
}

TEST_F(search_test, words_in_the_stores_form_are_not_read_again) {
    text_options text;
    text.stem = stemmer::porter;
    const auto engine = engine_of(garden, text);
    const auto words = engine.words_of("trees, databases \"Tree database\"");
    ASSERT_THAT(words, ElementsAre("databas", "tree"));  // Porter reduces "databas" to "databa"
    const std::string passage = "A database of Trees";
    EXPECT_THAT(engine.matches(passage, words), ElementsAre(text_match{2, 10}, text_match{14, 19}));
    EXPECT_EQ(engine.matches(passage, words), engine.matches(passage, "databases tree"));
    EXPECT_THAT(engine.matches(passage, std::span(words).first(1)), ElementsAre(text_match{2, 10}));
    EXPECT_THAT(engine.matches(passage, std::vector<std::string>{}), IsEmpty());
}

TEST_F(search_test, ids_and_titles_are_those_of_the_documents) {
    const auto engine = engine_of(garden);
    for (std::uint32_t number = 0; number < engine.documents(); ++number) {
        const stored_document document = engine.document(number);
        EXPECT_EQ(engine.id(number), document.id);
        EXPECT_EQ(engine.title(number), document.title);
    }
    const auto beyond = static_cast<std::uint32_t>(engine.documents());
    EXPECT_THROW((void)engine.id(beyond), usage_error);
    EXPECT_THROW((void)engine.title(beyond), usage_error);
}

TEST_F(search_test, near_ids_are_titles_first) {
    const auto engine = engine_of(R"({"id": "special_Relativity", "title": "One", "text": "x"}
{"id": "2", "title": "Special relativity", "text": "x"}
{"id": "3", "title": "", "text": "x"}
)");
    EXPECT_EQ(engine.near_id("Special relativity"), "2");
    EXPECT_EQ(engine.near_id("SPECIAL relativity"), "special_Relativity");
    EXPECT_EQ(engine.near_id("one"), "special_Relativity");
    EXPECT_EQ(engine.near_id("two"), std::nullopt);
}

TEST_F(search_test, snippets_are_chosen_by_the_rarer_words) {
    std::string filler;
    for (int i = 0; i < 100; ++i) filler += " and so on";
    std::string corpus = R"({"id": "a", "text": "the use of the word of the day)" + filler +
                         R"( relativity)" + filler + "\"}\n";
    for (const char* id : {"b", "c", "d", "e"})
        corpus += std::string(R"({"id": ")") + id + R"(", "text": "the use of it"})" + "\n";
    const auto engine = engine_of(corpus);
    search_options options;
    options.k = 1;
    const auto passage = [&](std::string_view words) {
        return engine.search(words, options).hits.at(0).snippet;
    };
    EXPECT_THAT(passage("the relativity of use"), HasSubstr("relativity"));
    EXPECT_THAT(passage("\"the day\" of the"), HasSubstr("the day"));
    EXPECT_THAT(engine.discriminative_words_of("the use of relativity"), ElementsAre("relativity"));
    EXPECT_THAT(engine.discriminative_words_of("the \"day of\""), ElementsAre("day"));
    EXPECT_THAT(engine.discriminative_words_of("the use"), ElementsAre("the", "use"));
    EXPECT_THAT(engine.discriminative_words_of("the unheard"), ElementsAre("the", "unheard"));
}

TEST_F(search_test, a_phrase_in_a_title_counts_as_a_word_in_a_title) {
    const auto engine = engine_of(garden);
    search_options options;
    options.ranking.title_weight = 1;
    options.explain = true;
    for (const auto& hit : engine.search("\"green apple\"", options).hits) {
        ASSERT_EQ(hit.explanation.size(), 1U);
        EXPECT_EQ(hit.explanation[0].term, "\"green apple\"");
        EXPECT_GT(hit.explanation[0].title, 0);
        EXPECT_EQ(hit.explanation[0].in_document, 1U);
    }
    for (const auto& hit : engine.search("\"red apple\"", options).hits)
        EXPECT_EQ(hit.explanation[0].title, 0) << hit.id;
}

TEST_F(search_test, explains_what_it_counted) {
    const auto engine = engine_of(garden);
    search_options options;
    options.explain = true;
    options.order = 2;
    options.ngrams = order_model::history;
    options.ranking.model = ranking_model::ql;
    const auto hits = engine.search("red apple apple", options).hits;
    const auto hit = std::ranges::find(hits, "b", &search_hit::id);
    ASSERT_NE(hit, hits.end());
    EXPECT_EQ(hit->words, 8U);
    std::vector<std::string> terms;
    for (const auto& of : hit->explanation) terms.push_back(of.term);
    ASSERT_THAT(terms, ElementsAre("apple", "red", "apple | red"));
    const auto& [apple, red, after] = std::tie(hit->explanation[0], hit->explanation[1], hit->explanation[2]);
    EXPECT_EQ(apple.count, 1U);  // the other one follows red
    EXPECT_EQ(apple.in_document, 2U);
    EXPECT_EQ(apple.documents, 4U);
    EXPECT_EQ(apple.in_collection, 7U);
    EXPECT_EQ(red.in_document, 2U);
    EXPECT_EQ(after.in_document, 1U);
    EXPECT_EQ(after.history_in_document, 1U);  // no word follows the last red
    EXPECT_EQ(after.documents, 3U);
    EXPECT_EQ(after.in_collection, 4U);
    EXPECT_EQ(after.history_in_collection, 5U);
    const double likelihood = 0.5 * 1 / 1 + 0.5 * 4 / 5;
    EXPECT_NEAR(after.score, std::log(likelihood), 1e-9);
}

TEST_F(search_test, explains_ngrams) {
    const auto engine = engine_of(garden);
    search_options options;
    options.explain = true;
    options.order = 2;
    options.ranking.model = ranking_model::ql;
    const auto hits = engine.search("red apple apple", options).hits;
    const auto hit = std::ranges::find(hits, "b", &search_hit::id);
    ASSERT_NE(hit, hits.end());
    std::vector<std::string> terms;
    for (const auto& of : hit->explanation) terms.push_back(of.term);
    ASSERT_THAT(terms, ElementsAre("apple", "red", "\"red apple\""));  // no document has apple apple
    const auto& pair = hit->explanation[2];
    EXPECT_EQ(pair.in_document, 1U);
    EXPECT_EQ(pair.documents, 3U);
    EXPECT_EQ(pair.in_collection, 4U);
    EXPECT_NEAR(pair.weight, 0.1, 1e-5);
    // All documents together have 28 words.
    EXPECT_NEAR(pair.score, pair.weight * std::log(0.5 * 1 / 8 + 0.5 * 4 / 28), 1e-8);
}

TEST_F(search_test, snippets_of_long_documents_come_from_wherever_the_words_stand) {
    std::string text;
    while (text.size() < 5 << 20) text += "Nothing but the miller's wheel turns. ";  // without a line end
    const std::string end = "At last a quern grinds the grain";
    const auto engine =
        engine_of("{\"id\":\"a\",\"text\":\"" + text + end + "\"}\n{\"id\":\"b\",\"text\":\"x\"}\n");
    const auto result = engine.search("quern grain", {});
    ASSERT_EQ(result.hits.size(), 1U);
    EXPECT_TRUE(result.hits[0].snippet.ends_with(end)) << result.hits[0].snippet;
    EXPECT_TRUE(result.hits[0].snippet.starts_with("… "));
    const auto many = engine.search("wheel", {});
    ASSERT_EQ(many.hits.size(), 1U);
    EXPECT_TRUE(many.hits[0].snippet.starts_with("… miller's wheel turns. Nothing")) << many.hits[0].snippet;
}

TEST_F(search_test, options_that_do_not_fit_are_refused) {
    const auto engine = engine_of(garden);
    search_options options;
    options.order = 2;
    EXPECT_THROW(engine.search("apple", options), usage_error);
    for (const ranking_model model : {ranking_model::dirichlet, ranking_model::ql}) {
        options.ranking.model = model;
        EXPECT_NO_THROW(engine.search("apple", options));
    }
    for (const char* const weights : {"", "0", "0.1 2", "-1", "a", "nan"}) {
        options.order_weights = weights;
        EXPECT_THROW(engine.search("apple", options), usage_error) << weights;
    }
    options.order_weights = "1";
    options.ngrams = order_model::history;
    EXPECT_NO_THROW(engine.search("apple", options));
    options.ranking.model = ranking_model::dirichlet;
    EXPECT_THROW(engine.search("apple", options), usage_error);
    options.ranking.model = ranking_model::ql;
    for (const unsigned order : {0U, max_query_order + 1}) {
        options.order = order;
        EXPECT_THROW(engine.search("apple", options), usage_error);
    }
}

TEST_F(search_test, threads_give_the_same_answers_to_topics) {
    const auto store = store_of(generated_corpus(500, 40, 4));
    const read_back slow(store);
    std::mt19937_64 random(5);
    std::vector<search_topic> topics;
    for (int i = 0; i < 40; ++i) topics.push_back({std::to_string(i), text_of(random_query(slow, random))});
    search_options options;
    options.ranking.model = ranking_model::ql;
    options.order = 3;
    const auto engine = search_engine::open(store, context::cpu(1));
    const auto expected = engine.search(topics, options, context::cpu(1));
    const auto found = engine.search(topics, options, context::cpu(5));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].hits.size(), expected[i].hits.size());
        for (std::size_t h = 0; h < found[i].hits.size(); ++h) {
            EXPECT_EQ(found[i].hits[h].document, expected[i].hits[h].document);
            EXPECT_EQ(found[i].hits[h].score, expected[i].hits[h].score);
            EXPECT_EQ(found[i].hits[h].snippet, expected[i].hits[h].snippet);
        }
    }
}

TEST_F(search_test, a_gpu_gives_the_same_answers_to_topics) {
    const context gpu = context::cuda();
    try {
        choose_device(gpu, "this test");
    } catch (const device_error& none) {
        GTEST_SKIP() << none.what();
    }
    const auto store = store_of(generated_corpus(2'000, 60, 4));
    const read_back slow(store);
    std::mt19937_64 random(7);
    std::vector<search_topic>
        topics;  // some with phrases, which the CPU ranks; several batches if k is large
    for (int i = 0; i < 1'500; ++i)
        topics.push_back({std::to_string(i), text_of(random_query(slow, random))});
    const auto engine = search_engine::open(store, gpu);
    for (const ranking_model model : {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet}) {
        search_options options;
        options.ranking = {.model = model, .title_weight = 0.25};
        options.k = 50;
        options.order = model == ranking_model::ql ? 2 : 1;
        const auto expected = engine.search(topics, options, context::cpu(4));
        std::size_t next = 0;
        engine.search_each(
            topics, options, gpu, [](const search_topic& topic, const search_result&) { return topic.id; },
            [&](const search_topic& topic, const search_result& result, std::string_view text) {
                ASSERT_EQ(text, topics[next].id);
                ASSERT_EQ(&topic, &topics[next]);
                ASSERT_EQ(result.hits.size(), expected[next].hits.size());
                for (std::size_t h = 0; h < result.hits.size(); ++h) {
                    EXPECT_EQ(result.hits[h].document, expected[next].hits[h].document);
                    EXPECT_EQ(result.hits[h].score, expected[next].hits[h].score);
                    EXPECT_EQ(result.hits[h].snippet, expected[next].hits[h].snippet);
                }
                ++next;
            });
        EXPECT_EQ(next, topics.size());
    }
}

// Starting a GPU takes longer than few topics over few documents.
TEST_F(search_test, few_topics_stay_on_the_cpu) {
    const auto engine = search_engine::open(store_of(generated_corpus(100, 20, 4)), context::cpu(1));
    context ctx;
    std::string said;
    ctx.on_log = [&](log_level, std::string_view message) { said = message; };
    EXPECT_FALSE(engine.choose_device(10, {}, ctx).cuda);
    // Without CUDA there is no choice to report.
    EXPECT_EQ(said,
              has_cuda ? "device cpu: 10 topics over 100 documents take less time than starting a GPU" : "");
    EXPECT_EQ(engine.choose_device(1 << 30, {}, context::cpu()).reason, "requested");
}

TEST_F(search_test, topics_come_one_after_the_other_with_the_text_of_their_answers) {
    const auto store = store_of(generated_corpus(100, 20, 4));
    const read_back slow(store);
    std::mt19937_64 random(6);
    std::vector<search_topic> topics;  // several batches, the last one partial
    for (int i = 0; i < 333; ++i) topics.push_back({std::to_string(i), text_of(random_query(slow, random))});
    const auto engine = search_engine::open(store, context::cpu(1));
    const auto text = [](const search_topic& topic, const search_result& result) {
        return topic.id + ":" + std::to_string(result.hits.size());
    };
    for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{100'000}}) {
        search_options options;
        options.k = k;
        options.snippets = false;
        const auto expected = engine.search(topics, options, context::cpu(1));
        for (const auto& [threads, memory] :
             {std::pair(1U, 0U), std::pair(5U, 0U), std::pair(4U, 1U << 20)}) {
            context ctx = context::cpu(threads);
            ctx.memory_bytes = memory;
            std::size_t next = 0;
            const auto take = [&](const search_topic& topic, const search_result& result,
                                  std::string_view its) {
                ASSERT_EQ(&topic, &topics[next]);
                ASSERT_EQ(result.hits.size(), expected[next].hits.size());
                for (std::size_t h = 0; h < result.hits.size(); ++h) {
                    EXPECT_EQ(result.hits[h].document, expected[next].hits[h].document);
                    EXPECT_EQ(result.hits[h].score, expected[next].hits[h].score);
                }
                EXPECT_EQ(its, text(topic, result));
                ++next;
            };
            engine.search_each(topics, options, ctx, text, take);
            EXPECT_EQ(next, topics.size());
        }
    }
    const auto nothing = [](const search_topic&, const search_result&, std::string_view its) {
        EXPECT_EQ(its, "");
    };
    engine.search_each(topics, {}, context::cpu(3), {}, nothing);
    engine.search_each({}, {}, context::cpu(3), {}, nothing);
}

TEST_F(search_test, topics_end_with_the_first_that_goes_wrong) {
    const auto store = store_of(generated_corpus(50, 10, 4));
    const auto engine = search_engine::open(store, context::cpu(1));
    const std::vector<search_topic> topics(200, {"1", "apple"});
    const auto fails = [](const search_topic&, const search_result&) -> std::string {
        throw usage_error("text");
    };
    const auto refuses = [](const search_topic&, const search_result&, std::string_view) {
        throw usage_error("taken");
    };
    for (const unsigned threads : {1U, 4U}) {
        EXPECT_THROW(engine.search_each(topics, {}, context::cpu(threads), fails, refuses), usage_error);
        EXPECT_THROW(engine.search_each(topics, {}, context::cpu(threads), {}, refuses), usage_error);
        const std::atomic<int> stop = SIGINT;
        context stopped = context::cpu(threads);
        stopped.stop_signal = &stop;
        EXPECT_THROW(engine.search_each(topics, {}, stopped, {}, refuses), interrupted);
    }
}

TEST(query_pieces_test, are_cut_at_quotes) {
    const auto pieces = [](std::string_view text) {
        std::vector<std::string> made;
        for (const query_piece& piece : split_at_quotes(text))
            made.push_back((piece.quoted ? "q:" : "") + std::string(piece.text));
        return made;
    };
    EXPECT_THAT(pieces(""), IsEmpty());
    EXPECT_THAT(pieces("a b"), ElementsAre("a b"));
    EXPECT_THAT(pieces("a \"b c\" d"), ElementsAre("a ", "q:b c", " d"));
    EXPECT_THAT(pieces("\"b c\""), ElementsAre("q:b c"));
    EXPECT_THAT(pieces("\"b\"\"c\""), ElementsAre("q:b", "q:c"));
    EXPECT_THAT(pieces("\"\"a\"\""), ElementsAre("a\"\""));
    EXPECT_THAT(pieces("a \"b c"), ElementsAre("a \"b c"));
    EXPECT_THAT(pieces("\"b\" a \"c"), ElementsAre("q:b", " a \"c"));
    EXPECT_THAT(pieces("12\" vinyl 7\" single"), ElementsAre("12\" vinyl 7\" single"));
    EXPECT_THAT(pieces("\"7\" single\" 12"), ElementsAre("q:7", " single\" 12"));
    EXPECT_THAT(pieces("a \u201Cb c\u201D d"), ElementsAre("a ", "q:b c", " d"));
    EXPECT_THAT(pieces("\u201Eb\u201C"), ElementsAre("q:b"));
    EXPECT_THAT(pieces("\u641C\"\u7D22\""), ElementsAre("\u641C", "q:\u7D22"));
    EXPECT_THAT(pieces("5\" disk"), ElementsAre("5\" disk"));
    EXPECT_THAT(pieces("צה\"ל ודו\"ח"),
                ElementsAre("צה\"ל ודו\"ח"));  // in Hebrew a quote may be inside a word
    EXPECT_THAT(pieces("\"צה\"ל חזק\" a"), ElementsAre("q:צה\"ל חזק", " a"));
}

}  // namespace
}  // namespace quern::search_test
