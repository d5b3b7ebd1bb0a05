// SPDX-License-Identifier: Apache-2.0
// Fields of records that are searched (build_options::indexed_fields): their words are words of the document, and each is a
// field for operators and weights. Rankings are those of slow references over the words of every field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "reference/field_search_reference.hpp"
#include "reference/query_reference.hpp"
#include "temporary_folder.hpp"

namespace quern::indexed_fields_test {
namespace {

using ::testing::HasSubstr;
using testing::temporary_folder;
using testing::write_file;
using words = std::vector<std::string>;
using ranking = std::vector<std::pair<std::uint32_t, double>>;

/// A document: the words of its title, its text, its abstract (a string) and its tags (a list of strings).
struct fielded_document {
    words title, text, abstract;
    std::vector<words> tags;

    words of(const std::string& field) const {
        if (field == "title") return title;
        if (field == "text") return text;
        if (field == "abstract") return abstract;
        words all;
        for (const words& tag : tags) all.insert(all.end(), tag.begin(), tag.end());
        return all;
    }
};
const words all_fields = {"title", "text", "abstract", "tags"};

std::string joined(const words& of) {
    std::string text;
    for (const std::string& word : of) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

std::string line_of(std::size_t id, const fielded_document& d) {
    std::string line = R"({"id":")" + std::to_string(id) + R"(","title":")" + joined(d.title) +
                       R"(","text":")" + joined(d.text) + R"(","price":3,"meta":{"abstract":")" +
                       joined(d.abstract) + "\"}";
    if (d.tags.empty()) return line + "}\n";
    line += ",\"tags\":[";
    for (std::size_t i = 0; i < d.tags.size(); ++i)
        line += (i == 0 ? "\"" : ",\"") + joined(d.tags[i]) + "\"";
    return line + "]}\n";
}

class indexed_fields : public ::testing::Test {
  protected:
    indexed_fields() {
        const words vocabulary = {"mill", "mills", "stone", "grain", "flour", "wind"};
        std::mt19937_64 random(11);
        const auto some = [&](std::size_t most) {
            words made(random() % (most + 1));
            for (std::string& word : made) word = vocabulary[random() % vocabulary.size()];
            return made;
        };
        for (std::size_t d = 0; d < 80; ++d) {
            fielded_document made{some(2), some(5), some(4), {}};
            for (std::size_t i = random() % 3; i > 0; --i) made.tags.push_back(some(2));
            documents_.push_back(std::move(made));
        }
    }

    build_options options(const std::string& store) const {
        build_options made;
        made.inputs = {folder_ / "corpus.jsonl"};
        made.store = folder_ / store;
        made.skip = all_build_stages;
        made.fields.kept = {"price"};
        made.indexed_fields = {"meta.abstract", "tags"};
        return made;
    }
    context own_context(unsigned threads = 2) const {
        context ctx = context::cpu(threads);
        ctx.scratch = folder_.path();
        return ctx;
    }
    void write(std::size_t begin, std::size_t end, const char* name = "corpus.jsonl") const {
        std::string lines;
        for (std::size_t d = begin; d < end; ++d) lines += line_of(d, documents_[d]);
        write_file(folder_ / name, lines);
    }
    search_engine built() const {
        write(0, documents_.size());
        build(options("store"), own_context());
        return search_engine::open(folder_ / "store", own_context());
    }

    const temporary_folder folder_;
    std::vector<fielded_document> documents_;
};

ranking ranking_of(const search_result& result) {
    ranking made;
    for (const search_hit& hit : result.hits) made.emplace_back(hit.document, hit.score);
    return made;
}

std::set<std::uint32_t> documents_of(const search_result& result) {
    std::set<std::uint32_t> found;
    for (const search_hit& hit : result.hits) found.insert(hit.document);
    return found;
}

search_options weighted() {
    search_options options;
    options.field_weights = "title=3,meta.abstract=2,tags=0.5";
    options.field_b = "tags=1";
    options.syntax = query_syntax::operators;
    options.k = 100;
    options.total = true;
    return options;
}

// ---- Random queries against the reference ----

/// A part of a query: one word, the beginning of words, or a phrase, in a field or ("") anywhere.
struct part {
    words of;
    std::string field;
    bool prefix = false;
    std::uint32_t slop = 0;
    char sign = ' ';

    bool is_phrase() const { return of.size() > 1; }
    std::string text() const {
        std::string made(sign == ' ' ? "" : std::string(1, sign));
        if (!field.empty()) made += field + ":";
        if (!is_phrase()) return made + of.front() + (prefix ? "*" : "");
        return made + '"' + joined(of) + '"' + (slop == 0 ? "" : "~" + std::to_string(slop));
    }
    std::uint32_t count(const words& in) const {
        if (is_phrase()) return reference::places_of(in, of, slop);
        return static_cast<std::uint32_t>(std::ranges::count_if(in, [&](const std::string& word) {
            return prefix ? word.starts_with(of.front()) : word == of.front();
        }));
    }
    std::uint32_t count_in(const fielded_document& d, const std::string& name) const {
        if (name != "tags") return count(d.of(name));
        std::uint32_t sum = 0;  // a phrase lies within one value
        for (const words& tag : d.tags) sum += count(tag);
        return sum;
    }
};

class random_fields {
  public:
    random_fields(std::size_t size, std::uint64_t seed) : random_(seed) {
        for (std::size_t d = 0; d < size; ++d) {
            fielded_document made{some(3), some(below(6) == 0 ? 40 : 6), some(5), {}};
            for (std::size_t i = below(4); i > 0; --i) made.tags.push_back(some(2));
            documents.push_back(std::move(made));
        }
        std::string lines;
        for (std::size_t d = 0; d < size; ++d) lines += line_of(d, documents[d]);
        write_file(folder_ / "corpus.jsonl", lines);
        build_options options;
        options.inputs = {folder_ / "corpus.jsonl"};
        options.store = folder_ / "store";
        options.skip = all_build_stages;
        options.indexed_fields = {"meta.abstract", "tags"};
        context ctx = context::cpu(1);
        ctx.scratch = folder_.path();
        build(options, ctx);
        engine.emplace(search_engine::open(folder_ / "store", ctx));
    }

    std::vector<part> query() {
        constexpr const char* names[] = {"", "", "", "title", "text", "abstract", "tags"};
        std::vector<part> made(1 + below(4));
        for (part& each : made) {
            each.field = names[below(7)];
            each.of = {word()};
            const std::size_t what = below(6);
            if (what == 0) {
                each.prefix = true;
                each.of.front() = each.of.front().substr(0, 2 + below(3));
            } else if (what < 3) {
                for (std::size_t more = 1 + below(2); more > 0; --more) each.of.push_back(word());
                each.slop = static_cast<std::uint32_t>(below(2) * below(4));
            }
            each.sign = &each == made.data() ? " +"[below(2)] : "  +-"[below(4)];
        }
        return made;
    }
    std::size_t below(std::size_t end) { return random_() % end; }

    std::vector<fielded_document> documents;
    std::optional<search_engine> engine;

  private:
    std::string word() {
        const words vocabulary = {"mill", "mills", "stone", "store", "grain", "flour", "wind"};
        return vocabulary[below(vocabulary.size())];
    }
    words some(std::size_t most) {
        words made(below(most + 1));
        for (std::string& each : made) each = word();
        return made;
    }

    std::mt19937_64 random_;
    temporary_folder folder_;
};

struct weights {
    const char *fields, *b;
    std::vector<reference::field_values> of;  // title, text, abstract, tags
};
const weights all_weights[] = {
    {"title=3,meta.abstract=2,tags=0.5", "tags=1", {{3, 0.4}, {1, 0.4}, {2, 0.4}, {0.5, 1}}},
    {"tags=40", "title=0,body=0.75,meta.abstract=0", {{1, 0}, {1, 0.75}, {1, 0}, {40, 0.4}}},
    {"text=0.01", "", {{1, 0.4}, {0.01, 0.4}, {1, 0.4}, {1, 0.4}}}};

ranking expected(const std::vector<fielded_document>& documents, const std::vector<part>& query, double k1,
                 const weights& by) {
    std::vector<std::uint32_t> titles, texts;
    std::vector<reference::other_field> others = {{by.of[2], {}}, {by.of[3], {}}};
    std::vector<reference::fielded_word> scored;
    std::vector<std::uint8_t> found(documents.size(), 1);
    for (const fielded_document& d : documents) {
        titles.push_back(static_cast<std::uint32_t>(d.title.size()));
        texts.push_back(static_cast<std::uint32_t>(d.text.size()));
        others[0].lengths.push_back(static_cast<std::uint32_t>(d.abstract.size()));
        others[1].lengths.push_back(static_cast<std::uint32_t>(d.of("tags").size()));
    }
    for (const part& each : query) {
        reference::fielded_word word;
        word.others.resize(2);
        for (std::uint32_t d = 0; d < documents.size(); ++d) {
            std::uint32_t in[4] = {}, sum = 0;
            for (std::size_t i = 0; i < 4; ++i)
                if (each.field.empty() || each.field == all_fields[i])
                    sum += in[i] = each.count_in(documents[d], all_fields[i]);
            if (each.field.empty()) {  // what crosses fields, or values, counts in the text
                words whole;
                for (const std::string& name : all_fields) {
                    const words of = documents[d].of(name);
                    whole.insert(whole.end(), of.begin(), of.end());
                }
                in[1] += each.count(whole) - sum;
                sum = each.count(whole);
            }
            if (in[0] != 0) word.title[d] = in[0];
            if (in[1] != 0) word.text[d] = in[1];
            for (std::size_t i = 2; i < 4; ++i)
                if (in[i] != 0) word.others[i - 2][d] = in[i];
            const bool required = each.sign == '+' || (each.sign == ' ' && each.is_phrase());
            if ((required && sum == 0) || (each.sign == '-' && sum != 0)) found[d] = 0;
        }
        if (each.sign != '-') scored.push_back(std::move(word));
    }
    ranking made;
    for (const auto& of : reference::search_fields(
             titles, texts, scored, k1, by.of[0], by.of[1], documents.size() + 1,
             [&](std::uint32_t d) { return found[d] != 0; }, {}, {}, others))
        made.emplace_back(of.document, of.score());
    return made;
}

TEST(indexed_fields_of_random_documents, rankings_are_those_of_the_reference) {
    std::size_t hits = 0, empty = 0;
    for (const std::size_t size : {1, 9, 200}) {
        random_fields made(size, 20 + size);
        for (std::size_t round = 0; round < 500; ++round) {
            const std::vector<part> query = made.query();
            std::string text;
            for (part each : query) {
                if (each.field == "abstract") each.field = "meta.abstract";
                text.append(text.empty() ? "" : " ").append(each.text());
            }
            const weights& by = all_weights[round % std::size(all_weights)];
            search_options options;
            options.syntax = query_syntax::operators;
            options.field_weights = by.fields;
            options.field_b = by.b;
            options.ranking.k1 = round % 2 == 0 ? 0.9 : 2;
            options.k = size + 1;
            options.total = options.explain = true;
            ranking best = expected(made.documents, query, options.ranking.k1, by);
            const search_result all = made.engine->search(text, options);
            ASSERT_EQ(ranking_of(all), best) << text;
            ASSERT_EQ(all.total, best.size()) << text;
            for (const search_hit& hit : all.hits) {
                double sum = 0;
                for (const explained_term& term : hit.explanation) sum += term.score;
                ASSERT_EQ(sum, hit.score) << text;
            }
            (best.empty() ? empty : hits) += 1;
            options.k = 3;
            best.resize(std::min<std::size_t>(3, best.size()));
            ASSERT_EQ(ranking_of(made.engine->search(text, options)), best) << text;
            options.count = true;
            options.explain = options.total = false;
            ASSERT_EQ(made.engine->search(text, options).total, all.total) << text;
            // Without weights other scores, but the same documents.
            search_options plain;
            plain.syntax = query_syntax::operators;
            plain.k = size + 1;
            ASSERT_EQ(documents_of(made.engine->search(text, plain)), documents_of(all)) << text;
        }
    }
    EXPECT_GT(hits, 700U);
    EXPECT_GT(empty, 50U);
}

// ---- The rest ----

TEST_F(indexed_fields, without_weights_their_words_are_words_of_the_document) {
    const search_engine engine = built();
    search_options options;
    options.k = 100;
    for (const char* const word : {"mill", "stone", "flour"}) {
        std::set<std::uint32_t> with_word;
        for (std::uint32_t d = 0; d < documents_.size(); ++d)
            for (const std::string& field : all_fields)
                if (std::ranges::count(documents_[d].of(field), word) != 0) with_word.insert(d);
        EXPECT_EQ(documents_of(engine.search(word, options)), with_word);
    }
    for (std::uint32_t d = 0; d < documents_.size(); ++d) {
        std::size_t all = 0;
        for (const std::string& field : all_fields) all += documents_[d].of(field).size();
        ASSERT_EQ(engine.document(d).words, all);
    }
}

TEST_F(indexed_fields, names_lead_into_objects_and_have_any_characters) {
    write_file(folder_ / "corpus.jsonl",
               std::string(R"({"id":"a","text":"x","m":{"n":{"o":"mill stone"}},"dc":"type:wind"})") + "\n" +
                   R"({"id":"b","text":"y","m.n":{"o":["mill","stone"]},"dc:type":"wind","a=b":"mill"})" +
                   "\n");
    for (const bool keeps_all : {false, true}) {
        build_options of = options("store");
        of.force = true;
        of.fields.kept.clear();
        if (keeps_all) of.fields.kept = {"*"};
        of.indexed_fields = {"m.n.o", "dc", "dc:type", "a=b"};
        build(of, own_context());
        const search_engine engine = search_engine::open(folder_ / "store", own_context());
        const auto ids = [&](const std::string& query) {
            search_options by;
            by.syntax = query_syntax::operators;
            by.field_weights = "m.n.o=2,a=b=0.5";
            words found;
            for (const search_hit& hit : engine.search(query, by).hits) found.emplace_back(hit.id);
            std::ranges::sort(found);
            return found;
        };
        EXPECT_EQ(ids("m.n.o:stone"), (words{"a", "b"}));
        EXPECT_EQ(ids("m.n.o:\"mill stone\""), words{"a"}) << "a phrase lies within one value";
        EXPECT_EQ(ids("\"mill stone\""), (words{"a", "b"}));
        EXPECT_EQ(ids("dc:wind"), words{"a"});
        EXPECT_EQ(ids("dc:type:wind"), words{"b"}) << "the longest name";
        EXPECT_EQ(ids("a=b:mill"), words{"b"});
    }
}

TEST_F(indexed_fields, words_themselves_come_before_words_with_typos) {
    write_file(folder_ / "corpus.jsonl",
               std::string(R"({"id":"a","text":"x","tags":["watermill"]})") + "\n" +
                   R"({"id":"b","text":"watermils watermils","tags":["watermils"]})" + "\n");
    build_options of = options("store");
    of.fields.kept.clear();
    of.indexed_fields = {"tags"};
    build(of, own_context());
    const search_engine engine = search_engine::open(folder_ / "store", own_context());
    search_options by;
    by.field_weights = "tags=0.001";
    by.typos = typo_tolerance::two;
    const search_result found = engine.search("watermill", by);
    ASSERT_EQ(found.hits.size(), 2U);
    EXPECT_EQ(found.hits[0].id, "a");
    by.syntax = query_syntax::operators;
    EXPECT_EQ(engine.search("tags:watermil~1", by).hits.size(), 2U);
}

TEST_F(indexed_fields, explanations_have_a_part_for_each_field) {
    documents_ = {{{"mill"}, {"stone"}, {"mill"}, {{"wind", "mill"}}},
                  {{"grain"}, {"mill"}, {}, {{"wind"}}},
                  {{}, {"grain"}, {"flour"}, {}}};
    const search_engine engine = built();
    search_options by = weighted();
    by.explain = true;
    const auto explained = [&](const search_engine& in, const std::string& query, std::uint32_t document) {
        for (const search_hit& hit : in.search(query, by).hits)
            if (hit.document == document) return hit.explanation;
        return std::vector<explained_term>();
    };
    const auto rows = explained(engine, "mill", 0);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].part, 0) << "the text lacks it";
    EXPECT_GT(rows[0].title, 0);
    EXPECT_EQ(rows[0].in_document, 3U);
    EXPECT_EQ(rows[0].score, rows[0].title);
    EXPECT_EQ(rows[1].term, "meta.abstract:mill");
    EXPECT_EQ(rows[2].term, "tags:mill");
    EXPECT_GT(rows[1].part, rows[2].part) << "the weights are 2 and 0.5";
    EXPECT_GT(rows[2].part, 0);
    EXPECT_EQ(rows[1].in_document, 1U);
    EXPECT_EQ(rows[1].documents, 1U);
    EXPECT_EQ(rows[2].title, 0);
    const auto in_text = explained(engine, "mill", 1);
    ASSERT_EQ(in_text.size(), 1U);
    EXPECT_EQ(in_text[0].part, in_text[0].score);
    const auto of_field = explained(engine, "tags:mill", 0);
    ASSERT_EQ(of_field.size(), 1U) << "a part of a field has the field in its name";
    EXPECT_EQ(of_field[0].term, "tags:mill");
    EXPECT_GT(of_field[0].part, 0);
    // The title's part is that of a store whose other fields lack the word.
    documents_[0].abstract = {"stone"};
    documents_[0].tags = {{"wind", "stone"}};
    write(0, documents_.size());
    build(options("other"), own_context());
    const search_engine titles = search_engine::open(folder_ / "other", own_context());
    EXPECT_EQ(explained(titles, "mill", 0).at(0).title, rows[0].title);
    by.field_weights = by.field_b = "";
    EXPECT_EQ(explained(engine, "mill", 0).size(), 1U);
}

TEST_F(indexed_fields, changes_give_the_store_of_a_new_build) {
    write(0, 50);
    build(options("store"), own_context());
    write(50, documents_.size(), "more.jsonl");
    build_options update = options("store");
    update.inputs = {folder_ / "more.jsonl"};
    update.indexed_fields.clear();
    update.update = true;
    build(update, own_context());
    write(0, documents_.size());
    build(options("fresh"), own_context(1));
    EXPECT_EQ(properties_of(read_store_info(folder_ / "store")),
              properties_of(read_store_info(folder_ / "fresh")));
    EXPECT_GT(verify_store(folder_ / "store", own_context()), 0U);

    write(5, documents_.size());
    build_options sync = options("store");
    sync.sync = true;
    build(sync, own_context());
    build_options fresh = options("fresh");
    fresh.force = true;
    build(fresh, own_context());
    EXPECT_EQ(properties_of(read_store_info(folder_ / "store")),
              properties_of(read_store_info(folder_ / "fresh")));
}

TEST_F(indexed_fields, what_does_not_fit_is_refused) {
    const search_engine engine = built();
    search_options by = weighted();
    by.field_weights = "abstract=2";
    try {
        (void)engine.search("mill", by);
        FAIL();
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(),
                    HasSubstr("field_weights: unknown field 'abstract' (expected title, meta.abstract, tags "
                              "or text)"));
    }
    by.field_weights.clear();
    by.field_b.clear();
    try {
        (void)engine.search("abstract:mill", by);
        FAIL();
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(),
                    HasSubstr("there is no field 'abstract' (expected title, meta.abstract, tags or text)"));
    }
    words many;
    for (int i = 0; i < 17; ++i) many.push_back("x" + std::to_string(i));
    for (const words& names : {words{"title"}, {"body"}, {""}, {"tags", "tags"}, many, {"head"}}) {
        build_options of = options("other");
        of.fields.title = "head";
        of.indexed_fields = names;
        EXPECT_THROW(build(of, own_context()), usage_error);
        EXPECT_FALSE(is_store(folder_ / "other"));
    }
    write_file(folder_ / "corpus.jsonl", "{\"id\":\"a\",\"vector\":{\"mill\":1.5},\"tags\":\"stone\"}\n");
    build_options of = options("other");
    of.fields.kept.clear();
    of.indexed_fields = {"tags"};
    try {
        build(of, own_context());
        FAIL();
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("lists of words have no further fields to search"));
    }
}

}  // namespace
}  // namespace quern::indexed_fields_test
