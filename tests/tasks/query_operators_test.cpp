// SPDX-License-Identifier: Apache-2.0
// Queries with operators: the parser and its errors; then the documents, scores and counts of random queries, compared with
// the reference, which looks at each document's words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "reference/query_reference.hpp"
#include "tasks/search/query_syntax.hpp"
#include "temporary_folder.hpp"

namespace quern::query_operators_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::temporary_folder;
using testing::write_file;

// ---- The grammar ----

/// The tree in prefix form.
std::string shown(const syntax_node& node) {
    using kind = syntax_node::kind;
    std::string text = node.occurs == occurrence::required   ? "+"
                       : node.occurs == occurrence::excluded ? "-"
                                                             : "";
    if (node.members.empty()) {
        if (node.field != query_field::any) text += node.field == query_field::title ? "title:" : "text:";
        const std::string_view mark = node.what == kind::phrase ? "'" : "";
        text.append(mark).append(node.text).append(mark);
        if (node.what == kind::prefix) text += '*';
        const auto number = node.slop + node.edits;
        return number == 0 ? text : text + "~" + std::to_string(number);
    }
    text += node.what == kind::all ? "all(" : node.what == kind::any ? "any(" : "(";
    for (std::size_t i = 0; i < node.members.size(); ++i)
        text.append(i == 0 ? "" : " ").append(shown(node.members[i]));
    return text + ")";
}

std::string parsed(std::string_view query) {
    return shown(parse_operators(query));
}
/// What `auto` makes of it: the tree, or words, with the note.
std::string automatic(std::string_view query) {
    const automatic_syntax read = read_automatically(query);
    return read.tree ? shown(*read.tree) : read.note.empty() ? "words" : "words: " + read.note;
}

TEST(query_syntax, kept_fields_are_a_hint) {
    const std::vector<std::string> indexed = {"lang"}, kept = {"lang", "meta.price", "title"};
    const auto note = [&](std::string_view query) { return read_automatically(query, indexed, kept).note; };
    EXPECT_EQ(note("mill meta.price:10"), "meta.price is a kept field: use a filter, 'meta.price = 10'");
    EXPECT_EQ(note("+mill (meta.price:>10)"), "meta.price is a kept field: use a filter, 'meta.price >10'");
    EXPECT_EQ(note("meta.price:"), "meta.price is a kept field: use a filter, 'meta.price = ...'");
    for (const std::string_view query :
         {"mill meta.price:[10 TO 20]", "meta.price:\"10\"", "meta.price:=", "meta.price::10"})
        EXPECT_EQ(note(query), "meta.price is a kept field: use a filter, 'meta.price = ...'") << query;
    EXPECT_TRUE(read_automatically("+mill meta.price:10", indexed, kept).tree);
    for (const std::string_view query : {"lang:de", "title:mill", "price:10", "meta.price 10"})
        EXPECT_EQ(note(query), "") << query;
    try {
        parse_operators("mill meta.price:10", indexed, kept);
        ADD_FAILURE() << "was read";
    } catch (const query_error& e) {
        EXPECT_EQ(e.position(), 5u);
        EXPECT_THAT(e.what(), HasSubstr("use a filter, 'meta.price = 10'"));
    }
}

TEST(query_syntax, trees) {
    EXPECT_EQ(parsed("grain stones"), "(grain stones)");
    EXPECT_EQ(parsed("+grain -\"old mill\" stone"), "(+grain -'old mill' stone)");
    EXPECT_EQ(parsed("\"old mill\"~12 mi*"), "('old mill'~12 mi*)");
    EXPECT_EQ(parsed("a AND b OR c AND NOT d e"), "(any(all(a b) all(c -d)) e)");
    EXPECT_EQ(parsed("NOT a b"), "(-a b)");
    EXPECT_EQ(parsed("+(a (b c)) x"), "(+(a (b c)) x)");
    EXPECT_EQ(parsed("title:grain text:\"old mill\" body:(a b*)"),
              "(title:grain text:'old mill' (text:a text:b*))");
    EXPECT_EQ(parsed("“old mill” \"a \\\"b\\\" c\""), "('old mill' 'a \"b\" c')");
    EXPECT_EQ(parsed(R"(\+a b\* \"c \(d\) title\:e)"), R"((+a b* "c (d) title:e))");
    EXPECT_EQ(parsed("f(x) 12\" std::deque C++ a+b a-b what?"), "(f(x) 12\" std::deque C++ a+b a-b what?)");
    EXPECT_EQ(parsed("android and or ANDROID"), "(android and or ANDROID)");
    EXPECT_EQ(parsed("\"AND\" \"a\"\"b\""), "('AND' 'a' 'b')");
    EXPECT_EQ(parsed(""), "") << "a list without members";
    EXPECT_EQ(parse_operators("  stone").members[0].position, 2u);
}

/// The position and the reason of the error.
std::string refused(std::string_view query) {
    try {
        return parsed(query);
    } catch (const query_error& e) {
        const std::string what = e.what();
        return std::to_string(e.position()) + what.substr(what.find(':'));
    }
}

TEST(query_syntax, errors_name_the_place) {
    EXPECT_THAT(refused("a \"old mill"), HasSubstr("2: this quote is not closed"));
    EXPECT_THAT(refused("a (b"), HasSubstr("2: this parenthesis is not closed"));
    EXPECT_THAT(refused("a b)"), HasSubstr("3: this parenthesis closes none"));
    EXPECT_THAT(refused("a ()"), HasSubstr("2: there is nothing in the parentheses"));
    EXPECT_THAT(refused("ä + b"), HasSubstr("2: a sign must be directly before"));
    EXPECT_THAT(refused("a -"), HasSubstr("2: a sign must be directly before"));
    EXPECT_THAT(refused("a --b"), HasSubstr("3: only one sign"));
    EXPECT_THAT(refused("AND b"), HasSubstr("0: AND needs a word before it"));
    EXPECT_THAT(refused("a OR"), HasSubstr("2: OR needs a word after it"));
    EXPECT_THAT(refused("a AND OR b"), HasSubstr("6: OR needs a word before it"));
    EXPECT_THAT(refused("a OR NOT b"), HasSubstr("5: NOT cannot follow OR"));
    EXPECT_THAT(refused("+a OR b"), HasSubstr("3: AND and OR cannot follow a part with a sign"));
    EXPECT_THAT(refused("a AND +b"), HasSubstr("6: a sign cannot follow AND"));
    EXPECT_THAT(refused("NOT NOT a"), HasSubstr("4: NOT cannot be here"));
    EXPECT_THAT(refused("-a"), HasSubstr("0: only excluded words"));
    EXPECT_THAT(refused("b (-a)"), HasSubstr("3: only excluded words"));
    EXPECT_THAT(refused("author:x"), HasSubstr("0: there is no field 'author' (expected title or text)"));
    EXPECT_THAT(refused("http://x"), HasSubstr("0: there is no field 'http'"));
    EXPECT_THAT(refused("title: x"), HasSubstr("0: a field must be directly before"));
    EXPECT_THAT(refused("title:text:x"), HasSubstr("6: a field cannot be within a field"));
    EXPECT_THAT(refused("a mi*ll"), HasSubstr("4: a * can only end a word"));
    EXPECT_THAT(refused("* a"), HasSubstr("0: a * can only end a word"));
    EXPECT_THAT(refused("mill~3"), HasSubstr("4: the ~ after a word needs the number of edits, 1 or 2"));
    EXPECT_THAT(refused("mill^2.5 a"), HasSubstr("4: words cannot have weights"));
    EXPECT_THAT(refused("a && b"), HasSubstr("2: write AND"));
    EXPECT_THAT(refused("\"a b\"~x"), HasSubstr("5: the ~ after a phrase needs a number"));
    EXPECT_THAT(refused("\"a b\"~99999999999999999999"), HasSubstr("5: the distance is too large"));
    EXPECT_THAT(refused("a\\"), HasSubstr("1: a character must follow the backslash"));
    EXPECT_THAT(refused(std::string(101, '(') + "a" + std::string(101, ')')),
                HasSubstr("101: too many parentheses"));
    EXPECT_EQ(refused(std::string(100, '(') + "a" + std::string(100, ')')).size(), 1 + 100 * 2 + 2u);
}

TEST(query_syntax, errors_show_the_place) {
    const auto shows = [](std::string_view query, std::size_t byte, std::string_view excerpt,
                          std::size_t column) {
        const query_error e(query, byte, "wrong");
        EXPECT_EQ(e.excerpt(), excerpt);
        EXPECT_EQ(e.caret(), std::string(column, ' ') + "^");
    };
    shows("a \"b", 2, "a \"b", 2);
    shows("\xC3\xA4\t(b", 3, "\xC3\xA4 (b", 2);
    shows(std::string(200, 'x') + "(" + std::string(200, 'y'), 200,
          "... " + std::string(48, 'x') + "(" + std::string(47, 'y') + " ...", 52);
    EXPECT_STREQ(query_error("a (", 2, "wrong").what(), "the query is not understood at character 3: wrong");
}

TEST(query_syntax, text_that_people_type_is_words) {
    for (const std::string_view query : {"grain stones",
                                         "C++",
                                         "what is \"this",
                                         "-5 degrees",
                                         "a:b",
                                         "12:30",
                                         "http://example.org/a+b",
                                         "std::deque",
                                         "quern --topics file",
                                         "tea - coffee",
                                         "+49 30 1234",
                                         "smile :)",
                                         "f(x) = (a",
                                         "TO BE OR NOT TO BE",
                                         "\"general relativity\" black holes",
                                         "(a b)",
                                         "12\" vinyl",
                                         "SELECT * FROM t",
                                         "a ~ b",
                                         "what? *",
                                         "title: mill",
                                         "e-mail",
                                         "",
                                         "&& ||",
                                         "a^2",
                                         "\\",
                                         "a AND",
                                         "AND a"})
        EXPECT_THAT(automatic(query), ::testing::AnyOf("words", HasSubstr("words: "))) << query;
    EXPECT_EQ(automatic("C++"), "words");
    EXPECT_EQ(automatic("what is \"this"), "words");
    EXPECT_EQ(automatic("-5 degrees"), "words");
    EXPECT_THAT(automatic("portland OR"),
                HasSubstr("words: the query is not understood at character 10: OR needs"));
    EXPECT_THAT(automatic("-foo"), HasSubstr("only excluded words"));
}

TEST(query_syntax, automatic_finds_operators) {
    EXPECT_EQ(automatic("mill -wind"), "(mill -wind)");
    EXPECT_EQ(automatic("mill -5 +wind"), "(mill -5 +wind)") << "a sign before a digit is text";
    EXPECT_EQ(read_automatically("mill -5 +wind").tree->members[1].occurs, occurrence::optional);
    EXPECT_EQ(automatic("mill AND wind"), "(all(mill wind))");
    EXPECT_EQ(parsed("+mill~1 (stone~2)"), "(+mill~1 (stone~2))");
    EXPECT_EQ(automatic("mill~1"), "(mill~1)");
    EXPECT_EQ(automatic("mill~3 ~1"), "words");
    EXPECT_EQ(automatic("\"old mill\"~3"), "('old mill'~3)");
    EXPECT_EQ(automatic("mi* a:b"), "(mi* a:b)");
    EXPECT_EQ(automatic("title:mill http://x"), "(title:mill http://x)");
    EXPECT_EQ(automatic("+Zürich :) \"x"), "(+Zürich :) \"x)");
}

TEST(query_syntax, many_open_quotes_take_no_time) {
    std::string query = "+a ";
    for (int i = 0; i < 200'000; ++i) query += ".\"b";
    EXPECT_TRUE(read_automatically(query).tree);
}

// ---- Random queries ----

using reference::operator_query;
using kind = operator_query::kind;
using sign = operator_query::sign;
using field = operator_query::field;

const std::vector<std::string> vocabulary = {"mill", "mills", "milk", "stone", "store", "grain",
                                             "and",  "or",    "not",  "flour", "mi",    "st"};

std::string joined(const std::vector<std::string>& words, std::string_view by = " ") {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : by).append(word);
    return text;
}

class random_queries {
  public:
    explicit random_queries(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t end) { return random_() % end; }
    std::string word() {
        if (below(40) == 0) return "zebra";
        return vocabulary[std::min(below(vocabulary.size()), below(vocabulary.size()))];
    }
    std::vector<std::string> words(std::size_t min, std::size_t max) {
        std::vector<std::string> made(min + below(max - min + 1));
        for (std::string& w : made) w = word();
        return made;
    }

    operator_query leaf(field in) {
        operator_query made;
        made.in = in;
        const bool with_field = in == field::any && below(5) == 0;
        if (with_field) made.in = below(2) == 0 ? field::title : field::text;
        const auto which = below(10);
        if (which < 6) {
            made.what = kind::word;
            made.words = words(1, which == 0 ? 3 : 1);
        } else if (which < 9) {
            made.what = kind::phrase;
            made.words = words(1, 3);
            if (below(2) == 0) made.slop = static_cast<std::int64_t>(below(5));
        } else {
            made.what = kind::prefix;
            made.words = {word().substr(0, 1 + below(3))};
        }
        return made;
    }
    operator_query item(unsigned depth, field in) {
        if (depth > 0 && below(4) == 0)
            return list(depth - 1, in == field::any && below(6) == 0 ? field::title : in);
        return leaf(in);
    }
    operator_query clause(unsigned depth, field in) {
        const auto which = below(8);
        if (which < 2) {
            operator_query made = item(depth, in);
            made.has = which == 0 ? sign::plus : sign::minus;
            return made;
        }
        if (which < 6) return item(depth, in);
        return alternative(depth, in);
    }
    operator_query alternative(unsigned depth, field in) {
        operator_query made;
        made.what = kind::any;
        for (std::size_t i = 1 + below(3); i > 0; --i) made.members.push_back(conjunction(depth, in));
        return made.members.size() == 1 ? made.members.front() : made;
    }
    operator_query conjunction(unsigned depth, field in) {
        operator_query made;
        made.what = kind::all;
        for (std::size_t i = 1 + below(3); i > 0; --i) {
            made.members.push_back(item(depth, in));
            if (made.members.size() > 1 && below(4) == 0) made.members.back().has = sign::minus;
        }
        return made.members.size() == 1 ? made.members.front() : made;
    }
    operator_query list(unsigned depth, field in) {
        operator_query made;
        made.in = in;
        bool only_excluded = true;
        while (only_excluded) {
            made.members.push_back(clause(depth, in));
            only_excluded = made.members.back().has == sign::minus;
        }
        while (below(3) != 0) made.members.push_back(clause(depth, in));
        return made;
    }

    /// As a user types it. `outer`: the field of the parentheses around it.
    std::string text_of(const operator_query& query, field outer, bool negation_by_word = false) {
        std::string text = query.has == sign::plus                                           ? "+"
                           : query.has == sign::minus && (negation_by_word || below(3) == 0) ? "NOT "
                           : query.has == sign::minus                                        ? "-"
                                                                                             : "";
        if (query.in != outer)
            text += query.in == field::title ? "title:" : below(2) == 0 ? "text:" : "body:";
        if (query.what == kind::word) return text + joined(query.words, "-");
        if (query.what == kind::prefix) return text + query.words.front() + "*";
        if (query.what == kind::phrase) {
            text += '"' + joined(query.words) + '"';
            return query.slop == 0 ? text : text + "~" + std::to_string(query.slop);
        }
        return text + "(" + inner_text(query) + ")";
    }
    std::string inner_text(const operator_query& query) {
        std::string text;
        for (std::size_t i = 0; i < query.members.size(); ++i) {
            const operator_query& member = query.members[i];
            if (i != 0) text += query.what == kind::all ? " AND " : query.what == kind::any ? " OR " : "  ";
            const bool bare = (member.what == kind::any && query.what == kind::list) ||
                              (member.what == kind::all && query.what != kind::all);
            text += bare ? inner_text(member) : text_of(member, query.in, query.what == kind::all);
        }
        return text;
    }

  private:
    std::mt19937_64 random_;
};

/// The groups of AND and OR have the field around them.
void spread_fields(operator_query& query, field outer) {
    if (query.what == kind::all || query.what == kind::any) query.in = outer;
    for (operator_query& member : query.members) spread_fields(member, query.in);
}

struct worded_store {
    temporary_folder folder;
    std::vector<reference::worded_document> documents;
    std::optional<search_engine> engine;

    worded_store(std::size_t size, random_queries& random) {
        std::string lines;
        for (std::size_t d = 0; d < size; ++d) {
            auto& made = documents.emplace_back();
            made.title = random.words(0, 3);
            made.text = random.words(0, random.below(8) == 0 ? 60 : 12);
            lines += "{\"id\":\"" + std::to_string(d) + R"(","title":")" + joined(made.title) +
                     R"(","text":")" + joined(made.text) + "\"}\n";
        }
        write_file(folder / "corpus.jsonl", lines);
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = folder / "store";
        options.skip = all_build_stages;
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        engine.emplace(search_engine::open(folder / "store", ctx));
    }
};

std::vector<std::pair<std::uint32_t, double>> ranking_of(const search_result& result) {
    std::vector<std::pair<std::uint32_t, double>> ranking;
    for (const search_hit& hit : result.hits) ranking.emplace_back(hit.document, hit.score);
    return ranking;
}

TEST(query_operators, random_queries_match_the_reference) {
    constexpr ranking_model models[] = {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet,
                                        ranking_model::two_stage};
    random_queries random(11);
    std::size_t found = 0, empty = 0;
    for (const std::size_t size : {1, 7, 60, 300}) {
        worded_store store(size, random);
        const std::size_t rounds = size == 300 ? 400 : 700;
        for (std::size_t round = 0; round < rounds; ++round) {
            operator_query query = random.list(2, field::any);
            spread_fields(query, field::any);
            const std::string text = random.inner_text(query);
            search_options options;
            options.syntax = query_syntax::operators;
            options.ranking.model = models[round % 4];
            options.ranking.title_weight = round % 3 == 0 ? 0.25 : 0;
            options.k = size + 1;
            options.total = true;
            const auto expected = reference::search(store.documents, query, options.ranking, options.k);
            std::vector<std::pair<std::uint32_t, double>> ranking;
            for (const scored_document& of : expected) ranking.emplace_back(of.document, of.score());
            const search_result all = store.engine->search(text, options);
            ASSERT_EQ(ranking_of(all), ranking) << text;
            ASSERT_EQ(all.total, ranking.size()) << text;
            ASSERT_EQ(all.syntax, query_syntax::operators);
            options.k = 3;
            options.total = false;
            options.explain = true;
            const search_result best = store.engine->search(text, options);
            ranking.resize(std::min<std::size_t>(3, ranking.size()));
            ASSERT_EQ(ranking_of(best), ranking) << text;
            ASSERT_FALSE(best.total);
            for (const search_hit& hit : best.hits) {
                double sum = 0;
                for (const explained_term& of : hit.explanation) sum += of.score;
                ASSERT_EQ(sum, hit.score) << text;
            }
            options.count = true;
            const search_result counted = store.engine->search(text, options);
            ASSERT_EQ(counted.total, expected.size()) << text;
            ASSERT_TRUE(counted.hits.empty());
            (expected.empty() ? empty : found) += 1;
        }
    }
    EXPECT_GT(found, 3 * empty / 2);
    EXPECT_GT(empty, 100u);
}

TEST(query_operators, random_queries_with_weights_of_fields_match_the_reference) {
    struct weights {
        const char *fields, *b;
        reference::field_values title, text;
    };
    const weights all_weights[] = {{"title=3,text=1", "", {3, 0.4}, {1, 0.4}},
                                   {"", "title=0,body=1", {1, 0}, {1, 1}},
                                   {"text=0.25", "title=0.75", {1, 0.75}, {0.25, 0.4}}};
    random_queries random(12);
    std::size_t found = 0;
    for (const std::size_t size : {1, 7, 300}) {
        worded_store store(size, random);
        for (std::size_t round = 0; round < 400; ++round) {
            operator_query query = random.list(2, field::any);
            spread_fields(query, field::any);
            const std::string text = random.inner_text(query);
            const weights& by = all_weights[round % 3];
            search_options options;
            options.syntax = query_syntax::operators;
            options.field_weights = by.fields;
            options.field_b = by.b;
            options.ranking.k1 = round % 2 == 0 ? 0.9 : 2;
            options.ranking.title_weight = round % 5 == 0 ? 0.25 : 0;
            options.k = size + 1;
            options.total = true;
            options.explain = true;
            const auto expected = reference::search_fields(store.documents, query, options.ranking.k1,
                                                           by.title, by.text, options.k);
            std::vector<std::pair<std::uint32_t, double>> ranking;
            for (const scored_document& of : expected) ranking.emplace_back(of.document, of.score());
            const search_result all = store.engine->search(text, options);
            ASSERT_EQ(ranking_of(all), ranking) << text;
            ASSERT_EQ(all.total, ranking.size()) << text;
            for (const search_hit& hit : all.hits) {
                double sum = 0;
                for (const explained_term& of : hit.explanation) sum += of.score;
                ASSERT_EQ(sum, hit.score) << text;
            }
            found += ranking.size();
        }
    }
    EXPECT_GT(found, 10'000U);
}

// ---- What the random queries do not have ----

class small_store : public ::testing::Test {
  protected:
    static search_engine made(const temporary_folder& folder, const std::string& lines,
                              const text_options& text = {}, bool dedup = false) {
        write_file(folder / "corpus.jsonl", lines);
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = folder / "store";
        options.text = text;
        options.skip = all_build_stages;
        if (dedup) options.skip.erase(build_stage::duplicates);
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        return search_engine::open(folder / "store", ctx);
    }
    static std::vector<std::string> ids(const search_engine& engine, std::string_view query,
                                        query_syntax syntax = query_syntax::operators) {
        search_options options = interactive_search();
        options.syntax = syntax;
        options.total = true;
        const search_result result = engine.search(query, options);
        EXPECT_EQ(result.total, result.hits.size());
        std::vector<std::string> found;
        for (const search_hit& hit : result.hits) found.emplace_back(hit.id);
        std::ranges::sort(found);
        return found;
    }
    temporary_folder folder_;
};

constexpr std::string_view mills =
    "{\"id\":\"1\",\"title\":\"The Mill\",\"text\":\"running water, C++ and e-mail\"}\n"
    "{\"id\":\"2\",\"title\":\"Stones\",\"text\":\"the mill runs on water\"}\n"
    "{\"id\":\"3\",\"title\":\"\",\"text\":\"wind e and mail AND 京都 東京都\"}\n";

TEST_F(small_store, words_are_split_as_documents_are) {
    const search_engine engine = made(folder_, std::string(mills));
    EXPECT_THAT(ids(engine, "+e-mail"), ElementsAre("1"))
        << "with a sign words that belong together are a phrase";
    EXPECT_THAT(ids(engine, "e-mail"), ElementsAre("1", "3"));
    EXPECT_THAT(ids(engine, "water -e-mail"), ElementsAre("2"));
    EXPECT_THAT(ids(engine, "\"AND\""), ElementsAre("1", "3"));
    EXPECT_THAT(ids(engine, "+東京都"), ElementsAre("3"));
    EXPECT_THAT(ids(engine, "MI*"), ElementsAre("1", "2")) << "case is folded";
}

TEST_F(small_store, automatic_and_plain_syntax) {
    const search_engine engine = made(folder_, std::string(mills));
    EXPECT_THAT(ids(engine, "water -wind", query_syntax::automatic), ElementsAre("1", "2"));
    EXPECT_THAT(ids(engine, "water -wind", query_syntax::words), ElementsAre("1", "2", "3"));
    EXPECT_THAT(ids(engine, "C++ -5 \"wind", query_syntax::automatic), ElementsAre("1", "3"));
    search_options options = interactive_search();
    const search_result read = engine.search("water OR", options);
    EXPECT_EQ(read.syntax, query_syntax::words);
    EXPECT_THAT(read.syntax_note, HasSubstr("character 7"));
    EXPECT_EQ(engine.search("water +mill", options).syntax, query_syntax::operators);
    EXPECT_EQ(engine.search("water mill", options).syntax_note, "");
    options.syntax = query_syntax::operators;
    EXPECT_THROW(engine.search("water OR", options), query_error);
    EXPECT_THROW(engine.search("e-m*", options), query_error) << "two words before the star";
    options.phrases = false;
    EXPECT_THROW(engine.search("water", options), usage_error);
}

TEST_F(small_store, plain_queries_have_the_same_hits_by_every_syntax) {
    const search_engine engine = made(folder_, std::string(mills));
    for (const std::string_view query :
         {"water mill", "\"the mill\" water", "the \"wind\" e", "zebra water"}) {
        search_options options = interactive_search();
        options.syntax = query_syntax::words;
        const auto expected = ranking_of(engine.search(query, options));
        for (const query_syntax syntax : {query_syntax::automatic, query_syntax::operators}) {
            options.syntax = syntax;
            EXPECT_EQ(ranking_of(engine.search(query, options)), expected) << query;
        }
    }
}

TEST_F(small_store, prefixes_are_not_stemmed_and_stop_words_vanish) {
    text_options text;
    text.stem = stemmer::porter;
    text.stop_words = "en";
    const search_engine engine = made(folder_, std::string(mills), text);
    EXPECT_THAT(ids(engine, "+running"), ElementsAre("1", "2"));
    EXPECT_THAT(ids(engine, "runn*"), IsEmpty()) << "the store has stems: run";
    EXPECT_THAT(ids(engine, "Ru*"), ElementsAre("1", "2"));
    EXPECT_THAT(ids(engine, "+the +mill"), ElementsAre("1", "2"));
    EXPECT_THAT(ids(engine, "the AND wind"), ElementsAre("3"));
    EXPECT_THAT(ids(engine, "wind -the"), ElementsAre("3"));
    EXPECT_THAT(ids(engine, "+the -mill"), IsEmpty());
    search_options options = interactive_search();
    options.syntax = query_syntax::operators;
    EXPECT_TRUE(engine.search("+the -mill", options).empty_query);
}

TEST_F(small_store, unknown_parts_are_named) {
    const search_engine engine = made(folder_, std::string(mills));
    search_options options = interactive_search();
    options.syntax = query_syntax::operators;
    const search_result result =
        engine.search("zeb* title:water \"water mill\"~1 title:zebra -title:lion mill +quagga", options);
    EXPECT_THAT(result.unknown_words,
                ElementsAre("\"water mill\"~1", "quagga", "title:water", "zeb*", "zebra"));
    EXPECT_THAT(result.hits, IsEmpty());
}

TEST_F(small_store, words_to_mark) {
    const search_engine engine = made(folder_, std::string(mills));
    EXPECT_THAT(engine.words_of("+mill w* -\"e mail\" title:Stones", query_syntax::automatic),
                ElementsAre("mill", "stones", "water", "wind"));
    EXPECT_THAT(engine.words_of("mill AND w*"), ElementsAre("and", "mill", "w"));
    EXPECT_THAT(engine.words_of("+mill water~3", query_syntax::operators), ElementsAre("3", "mill", "water"))
        << "read so by auto";
    search_options options = interactive_search();
    options.syntax = query_syntax::operators;
    EXPECT_EQ(engine.search("text:mill wat*", options).hits.at(0).snippet, "the mill runs on water");
}

TEST_F(small_store, excluded_duplicates_count_by_their_titles) {
    std::string body;
    for (int i = 0; i < 60; ++i) body += "word" + std::to_string(i) + " ";
    const search_engine engine = made(folder_,
                                      "{\"id\":\"1\",\"title\":\"Mill\",\"text\":\"" + body +
                                          "\"}\n{\"id\":\"2\",\"title\":\"Old Stone\",\"text\":\"" + body +
                                          "\"}\n{\"id\":\"3\",\"title\":\"Sea\",\"text\":\"salt\"}\n",
                                      {}, true);
    ASSERT_EQ(engine.documents(), 2u);
    EXPECT_THAT(ids(engine, "stone"), ElementsAre("1"));
    EXPECT_THAT(ids(engine, "+stone"), ElementsAre("1"));
    EXPECT_THAT(ids(engine, "sto* OR sea"), ElementsAre("1", "3"));
    EXPECT_THAT(ids(engine, "title:stone title:\"old stone\""), ElementsAre("1"));
    EXPECT_THAT(ids(engine, "text:stone sea"), ElementsAre("3"));
    EXPECT_THAT(ids(engine, "sea word1 -stone"), ElementsAre("3"));
}

TEST_F(small_store, topics_may_have_operators) {
    const search_engine engine = made(folder_, std::string(mills));
    const std::vector<search_topic> topics = {{"a", "+water -wind"}, {"b", "wind"}};
    search_options options;
    options.syntax = query_syntax::operators;
    options.total = true;
    const auto results = engine.search(topics, options, context::cpu(2));
    EXPECT_EQ(results.at(0).total, 2u);
    EXPECT_EQ(results.at(1).hits.at(0).id, "3");
    options.syntax = query_syntax::words;
    EXPECT_EQ(engine.search(topics, options, context::cpu(2)).at(0).total, 3u);
}

}  // namespace
}  // namespace quern::query_operators_test
