// SPDX-License-Identifier: Apache-2.0
// Filters, orders and facets by kept fields: the grammar and its errors; then random expressions over random documents,
// compared with a reference that looks at each document's values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/search/filter_expression.hpp"
#include "tasks/store/field_values.hpp"
#include "temporary_folder.hpp"

namespace quern::search_fields_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::made_numbers;
using testing::temporary_folder;
using testing::write_file;

TEST(field_values, texts_of_numbers_are_strings_only) {
    const auto are_texts_of_numbers = [](std::initializer_list<std::string_view> values) {
        value_kinds kinds;
        for (const std::string_view value : values) kinds.add(io::json_value(value));
        return kinds.are_texts_of_numbers();
    };
    EXPECT_TRUE(are_texts_of_numbers({R"("1")", R"("-2.5")"}));
    EXPECT_FALSE(are_texts_of_numbers({R"("1")", R"("x")"}));
    EXPECT_FALSE(are_texts_of_numbers({R"("1")", "2"}));
    EXPECT_FALSE(are_texts_of_numbers({"true", "12"}));
    EXPECT_FALSE(are_texts_of_numbers({}));
}

// ---- The grammar ----

/// The steps in postfix form.
std::string parsed(std::string_view filter) {
    using kind = filter_comparison::kind;
    const filter_expression read = parse_filter(filter);
    std::string text;
    for (const filter_step& step : read.steps) {
        if (!text.empty()) text += ' ';
        if (step.what != filter_step::kind::comparison) {
            text += step.what == filter_step::kind::both     ? "and"
                    : step.what == filter_step::kind::either ? "or"
                                                             : "not";
            continue;
        }
        const filter_comparison& of = read.comparisons[step.comparison];
        const std::map<kind, std::string> names = {
            {kind::equal, "="},         {kind::less, "<"},           {kind::less_equal, "<="},
            {kind::greater, ">"},       {kind::greater_equal, ">="}, {kind::one_of, "in"},
            {kind::between, "between"}, {kind::exists, "exists"},    {kind::starts_with, "starts"}};
        text += "[" + of.field.text + (of.negated ? " not-" : " ") + names.at(of.what);
        for (const filter_value& value : of.values) text += " " + value.text;
        text += "]";
    }
    return text;
}

TEST(filter_expression, trees) {
    EXPECT_EQ(parsed("a = b"), "[a = b]");
    EXPECT_EQ(parsed("a=1 AND b!=2 OR c<3 and not d>=4"),
              "[a = 1] [b not-= 2] and [c < 3] [d >= 4] not and or");
    EXPECT_EQ(parsed("NOT NOT (a = 1 OR b = 2) AND c > -5"), "[a = 1] [b = 2] or not not [c > -5] and");
    EXPECT_EQ(parsed("\"my field\" = 'it\\'s' or 'OR' = \"AND\""), "[my field = it's] [OR = AND] or");
    EXPECT_EQ(parsed("tag IN (a, \"b c\",d) AND tag not in(e)"), "[tag in a b c d] [tag not-in e] and");
    EXPECT_EQ(parsed("day BETWEEN 2024-01 AND 2024-05-01T12:30:00+02:00 AND x EXISTS"),
              "[day between 2024-01 2024-05-01T12:30:00+02:00] [x exists] and");
    EXPECT_EQ(parsed("EXISTS a OR b NOT EXISTS OR NOT EXISTS c OR u STARTS WITH http://x"),
              "[a exists] [b not-exists] or [c exists] not or [u starts http://x] or");
    EXPECT_EQ(parsed("((a = 1))"), "[a = 1]");
    EXPECT_EQ(parsed("a = 1 AND (b = 2 OR c = 3) AND d = 4"), "[a = 1] [b = 2] [c = 3] or and [d = 4] and");
}

/// The position and the reason of the error.
std::string refused(std::string_view filter) {
    try {
        return parsed(filter);
    } catch (const filter_error& e) {
        const std::string what = e.what();
        return std::to_string(e.position()) + what.substr(what.find(':'));
    }
}

TEST(filter_expression, errors_name_the_place) {
    EXPECT_THAT(refused(""), HasSubstr("0: expected the name of a field"));
    EXPECT_THAT(refused("a"), HasSubstr("1: expected =, !=, <, <=, >, >=, IN"));
    EXPECT_THAT(refused("a 1 to 20"), HasSubstr("2: write BETWEEN 1 AND 20"));
    EXPECT_THAT(refused("(a 1 TO )"), HasSubstr("3: write BETWEEN 1 AND ..."));
    EXPECT_THAT(refused("a 1 2"), HasSubstr("2: expected =, !=, <"));
    EXPECT_THAT(refused("a ="), HasSubstr("3: expected a value"));
    EXPECT_THAT(refused("a => 3"), HasSubstr("3: expected a value; write >= for at least"));
    EXPECT_THAT(refused("a =< 3"), HasSubstr("3: expected a value; write <= for at most"));
    EXPECT_THAT(refused("\xC3\xA4 == 1"), HasSubstr("2: write = for equal values"));
    EXPECT_THAT(refused("a <> 1"), HasSubstr("2: write !="));
    EXPECT_THAT(refused("! a"), HasSubstr("0: write NOT"));
    EXPECT_THAT(refused("a = 1 && b = 2"), HasSubstr("6: write AND"));
    EXPECT_THAT(refused("a = 1 || b = 2"), HasSubstr("6: write OR"));
    EXPECT_THAT(refused("a = b c"), HasSubstr("6: expected AND, OR or the end"));
    EXPECT_THAT(refused("a = 'b"), HasSubstr("4: this quote is not closed"));
    EXPECT_THAT(refused("a = 'b\\n'"), HasSubstr("6: a backslash must be before"));
    EXPECT_THAT(refused("(a = 1"), HasSubstr("0: this parenthesis is not closed"));
    EXPECT_THAT(refused("a = 1)"), HasSubstr("5: this parenthesis closes none"));
    EXPECT_THAT(refused("()"), HasSubstr("1: expected the name of a field"));
    EXPECT_THAT(refused("a = 1 AND"), HasSubstr("9: expected the name of a field"));
    EXPECT_THAT(refused("a = in"), HasSubstr("4: expected a value; a word such as IN needs quotes"));
    EXPECT_THAT(refused("a IN b"), HasSubstr("5: expected values in parentheses"));
    EXPECT_THAT(refused("a IN ()"), HasSubstr("6: expected a value"));
    EXPECT_THAT(refused("a IN (b c)"), HasSubstr("8: expected a comma or a parenthesis"));
    EXPECT_THAT(refused("a BETWEEN 1, 2"), HasSubstr("11: expected AND and the greatest value"));
    EXPECT_THAT(refused("a STARTS b"), HasSubstr("9: expected WITH"));
    EXPECT_THAT(refused("a NOT = 1"), HasSubstr("6: expected IN, BETWEEN, EXISTS"));
    EXPECT_THAT(refused("a ( b"), HasSubstr("2: expected =, !="));
    EXPECT_THAT(refused(std::string(101, '(') + "a = 1"), HasSubstr("100: too many parentheses"));
    EXPECT_EQ(refused(std::string(100, '(') + "a = 1" + std::string(100, ')')), "[a = 1]");
    EXPECT_THAT(refused(std::string(max_filter_bytes + 1, ' ')), HasSubstr("0: it is too long"));
    std::string many = "a = 1";
    for (int i = 0; i < 20'000; ++i) many += " AND NOT a = 1";
    EXPECT_EQ(parse_filter(many).comparisons.size(), 20'001u);
}

std::vector<std::string> names(std::string_view list) {
    std::vector<std::string> all;
    for (const named_field& of : parse_field_names(list, "sort", true))
        all.push_back((of.descending ? "-" : "") + of.name.text);
    return all;
}

TEST(field_names, are_separated_by_commas) {
    EXPECT_THAT(names("price"), ElementsAre("price"));
    EXPECT_THAT(names(" price , -my date,'a,b' ,-\"-c\""), ElementsAre("price", "-my date", "a,b", "--c"));
    for (const char* wrong : {"", ",", "a,", "a,,b", "-", "'a", "'a'b", "a,-a", "''"})
        EXPECT_THROW(names(wrong), usage_error) << wrong;
}

TEST(field_values, dates_stand_for_the_time_they_name) {
    const auto at = [](std::string_view text) { return microseconds_of_date(text).value(); };
    const auto expect = [&](std::string_view text, std::string_view first, std::string_view after) {
        const auto found = range_of_date(text);
        ASSERT_TRUE(found) << text;
        EXPECT_EQ(found->first, at(first)) << text;
        EXPECT_EQ(found->last + 1, at(after)) << text;
    };
    expect("2024", "2024-01-01", "2025-01-01");
    expect("2024-02", "2024-02-01", "2024-03-01");
    expect("2023-12", "2023-12-01", "2024-01-01");
    expect("2024-02-29", "2024-02-29", "2024-03-01");
    expect("2024-05-01T12:30", "2024-05-01T12:30:00", "2024-05-01T12:31:00");
    expect("2024-05-01 12:30+02:00", "2024-05-01T10:30:00Z", "2024-05-01T10:31:00Z");
    expect("2024-05-01T12:30:15Z", "2024-05-01T12:30:15Z", "2024-05-01T12:30:16Z");
    expect("2024-05-01T12:30:15.2", "2024-05-01T12:30:15.2", "2024-05-01T12:30:15.3");
    expect("2024-05-01T12:30:15.25-01:00", "2024-05-01T13:30:15.25Z", "2024-05-01T13:30:15.26Z");
    expect("2024-05-01T12:30:15.12345678", "2024-05-01T12:30:15.123456", "2024-05-01T12:30:15.123457");
    for (const char* wrong :
         {"", "24", "2024-", "2024-13", "2024-00", "2024-5", "2023-02-29", "2024-05-01T", "x2024"})
        EXPECT_FALSE(range_of_date(wrong)) << wrong;
    for (const char* text : {"2024-05-01", "1969-12-31", "0000-01-01", "2024-05-01T12:30:15Z",
                             "1969-12-31T23:59:59Z", "2024-05-01T00:00:00.000001Z"})
        EXPECT_EQ(text_of_date(at(text)), text);
}

// ---- Random documents and expressions ----

struct made_document {
    std::optional<std::string> lang;
    std::optional<std::int64_t> stock;
    std::optional<double> price;
    std::optional<bool> fresh;
    std::optional<std::string> day;
    std::optional<std::vector<std::string>> tags;

    std::optional<std::int64_t> time() const { return day ? microseconds_of_date(*day) : std::nullopt; }
};
constexpr std::uint32_t made_documents = 9'000;

/// With two decimals, as JSON and the filter write it.
std::string decimals(double number) {
    const std::string text = std::to_string(number);
    return text.substr(0, text.find('.') + 3);
}

struct made_corpus {
    std::vector<made_document> documents;
    std::string lines;

    explicit made_corpus(std::uint64_t seed) {
        made_numbers next(seed);
        for (std::uint32_t d = 0; d < made_documents; ++d) add(d, next);
    }

    void add(std::uint32_t d, made_numbers& next) {
        const std::vector<std::string> languages = {"de", "en", "fr", "e", "en-GB", "z\xC3\xBC", "a b"};
        const std::vector<std::string> days = {
            "2023-07-04",          "2024-05-01", "2024-05-01T12:30:00+02:00",
            "2024-05-31",          "2024-06-30", "2024-05-01T12:30:15.25Z",
            "1969-12-31T23:59:59Z"};
        made_document& of = documents.emplace_back();
        std::string fields, text;
        const auto field = [&](const std::string& name, const std::string& json) {
            fields += ",\"" + name + "\":" + json;
        };
        if (next(4) != 0) of.lang = languages[next(languages.size())];
        if (of.lang) field("lang", "\"" + *of.lang + "\"");
        // A value of few documents, near each other.
        if (next(5) != 0) of.stock = d / 9 == 500 ? 1'000 : static_cast<std::int64_t>(next(40)) - 20;
        if (of.stock) field("stock", std::to_string(*of.stock));
        if (next(3) != 0) of.price = static_cast<double>(next(4'000)) / 100;
        if (of.price) field("price", decimals(*of.price));
        if (next(2) != 0) of.fresh = next(3) == 0;
        if (of.fresh) field("fresh", *of.fresh ? "true" : "false");
        if (next(3) != 0) of.day = days[next(days.size())];
        if (of.day) field("day", "\"" + *of.day + "\"");
        if (next(3) != 0) {
            of.tags.emplace();
            std::string list;
            for (std::uint64_t left = next(4); left > 0; --left) {
                of.tags->push_back("t" + std::to_string(next(6)));
                list += (list.empty() ? "\"" : ",\"") + of.tags->back() + "\"";
            }
            field("tags", "[" + list + "]");
        }
        for (std::uint64_t left = 3 + next(20); left > 0; --left)
            text += "w" + std::to_string(std::min(next(30), next(30))) + " ";
        if (next(700) == 0) text += "rare ";
        lines += R"({"id":"d)" + std::to_string(d) + R"(","text":")" + text + "\"" + fields + "}\n";
    }
};

using predicate = std::function<bool(const made_document&)>;
struct made_filter {
    std::string text;
    predicate passes;
};

/// A comparison by sign with a value from `first` to `last`.
template <class Value>
predicate by_sign(const std::string& sign,
                  const std::function<std::optional<Value>(const made_document&)>& value_of, Value first,
                  Value last) {
    return [=](const made_document& of) {
        const auto value = value_of(of);
        const bool equal = value && *value >= first && *value <= last;
        if (sign == "=") return equal;
        if (sign == "!=") return !equal;
        if (!value) return false;
        if (sign == "<") return *value < first;
        if (sign == "<=") return *value <= last;
        return sign == ">" ? *value > last : *value >= first;
    };
}

/// Whether a tag, or the language, passes.
predicate any_text(bool of_tags, const std::function<bool(const std::string&)>& passes) {
    return [=](const made_document& of) {
        if (!of_tags) return of.lang && passes(*of.lang);
        return of.tags && std::ranges::any_of(*of.tags, passes);
    };
}

predicate negation(const predicate& of) {
    return [of](const made_document& document) { return !of(document); };
}

template <class Values>
const auto& one_of(made_numbers& next, const Values& values) {
    return values[next(values.size())];
}

made_filter number_comparison(made_numbers& next, const std::string& sign) {
    if (next(2) == 0) {
        const auto value = static_cast<std::int64_t>(next(44)) - 22;
        const bool half = next(4) == 0;
        const double typed = static_cast<double>(value) + (half ? 0.5 : 0);
        const auto stock = [](const made_document& of) {
            return of.stock ? std::optional(static_cast<double>(*of.stock)) : std::nullopt;
        };
        return {"stock " + sign + " " + (half ? decimals(typed) : std::to_string(value)),
                by_sign<double>(sign, stock, typed, typed)};
    }
    const double value = static_cast<double>(next(4'000)) / 100;
    return {"price" + sign + decimals(value),
            by_sign<double>(
                sign, [](const made_document& of) { return of.price; }, value, value)};
}

made_filter date_comparison(made_numbers& next, const std::string& sign) {
    const std::vector<std::string> days = {"2023",       "2024",       "2024-05", "2024-05-01T10:30",
                                           "2024-06-30", "2024-05-01", "1969",    "2024-05-01T12:30:15Z"};
    const std::string first = one_of(next, days), last = one_of(next, days);
    const date_range named = range_of_date(first).value(), other = range_of_date(last).value();
    const auto time = [](const made_document& of) { return of.time(); };
    if (next(2) == 0)
        return {"day " + sign + " " + first, by_sign<std::int64_t>(sign, time, named.first, named.last)};
    return {"day BETWEEN " + first + " AND " + last, [=](const made_document& of) {
                const auto value = of.time();
                return value && *value >= named.first && *value <= other.last;
            }};
}

made_filter text_comparison(made_numbers& next, const std::string& sign) {
    const bool tags = next(2) == 0, negated = next(2) == 0;
    const std::string name = tags ? "tags" : "lang";
    const std::vector<std::string> languages = {"de", "en", "f", "en-GB", "a b", "nowhere"};
    const auto value = [&] { return tags ? "t" + std::to_string(next(8)) : one_of(next, languages); };
    const std::string one = value(), two = value();
    const auto either = [&](const std::string& text, const predicate& passes) -> made_filter {
        return {name + (negated ? " NOT " : " ") + text, negated ? negation(passes) : passes};
    };
    switch (next(4)) {
        case 0:
            return either("IN ('" + one + "', \"" + two + "\")",
                          any_text(tags, [=](const std::string& t) { return t == one || t == two; }));
        case 1:
            return either(
                "STARTS WITH \"" + one.substr(0, 2) + "\"",
                any_text(tags, [=](const std::string& t) { return t.starts_with(one.substr(0, 2)); }));
        case 2:
            return either("BETWEEN '" + one + "' AND '" + two + "'",
                          any_text(tags, [=](const std::string& t) { return t >= one && t <= two; }));
        default:
            break;
    }
    const predicate equal = any_text(tags, [=](const std::string& t) { return t == one; });
    if (sign == "=" || sign == "!=")
        return {name + sign + "'" + one + "'", sign == "=" ? equal : negation(equal)};
    return {name + " " + sign + " '" + one + "'", any_text(tags, [=](const std::string& t) {
                if (sign == "<") return t < one;
                if (sign == "<=") return t <= one;
                return sign == ">" ? t > one : t >= one;
            })};
}

made_filter comparison(made_numbers& next) {
    const std::vector<std::string> signs = {"=", "!=", "<", "<=", ">", ">="};
    const std::string sign = one_of(next, signs);
    switch (next(7)) {
        case 0:
            return number_comparison(next, sign);
        case 1:
            return date_comparison(next, sign);
        case 2: {
            const bool value = next(2) == 0, equal = next(2) == 0;
            return {std::string("fresh ") + (equal ? "= " : "!= ") + (value ? "true" : "False"),
                    [=](const made_document& of) { return (of.fresh == value) == equal; }};
        }
        case 3: {
            const std::int64_t a = static_cast<std::int64_t>(next(40)) - 20, b = next(2) == 0 ? 1'000 : a + 1;
            return {"stock IN (" + std::to_string(a) + "," + std::to_string(b) + ", 99.5)",
                    [=](const made_document& of) { return of.stock == a || of.stock == b; }};
        }
        case 4: {
            const std::vector<std::pair<std::string, predicate>> all = {
                {"lang", [](const made_document& of) { return of.lang.has_value(); }},
                {"stock", [](const made_document& of) { return of.stock.has_value(); }},
                {"tags", [](const made_document& of) { return of.tags.has_value(); }}};
            const auto& [name, has] = one_of(next, all);
            const bool negated = next(2) == 0;
            const std::string text = next(2) == 0 ? (negated ? "NOT EXISTS " : "EXISTS ") + name
                                                  : name + (negated ? " NOT EXISTS" : " exists");
            return {text, negated ? negation(has) : has};
        }
        default:
            return text_comparison(next, sign);
    }
}

made_filter expression(made_numbers& next, unsigned depth) {
    if (depth == 0 || next(4) == 0) return comparison(next);
    const made_filter a = expression(next, depth - 1);
    if (next(4) == 0) return {"NOT (" + a.text + ")", negation(a.passes)};
    const made_filter b = expression(next, depth - 1);
    if (next(2) == 0)
        return {"(" + a.text + ") AND (" + b.text + ")",
                [=](const made_document& of) { return a.passes(of) && b.passes(of); }};
    return {"(" + a.text + " OR " + b.text + ")",
            [=](const made_document& of) { return a.passes(of) || b.passes(of); }};
}

std::filesystem::path built(const temporary_folder& folder, const std::string& corpus) {
    build_options options;
    options.inputs = {folder / "corpus.jsonl"};
    options.store = folder / "store";
    options.skip = all_build_stages;
    options.fields.kept = {"*"};
    write_file(options.inputs.front(), corpus);
    context ctx = context::cpu(2);
    ctx.scratch = folder / "scratch";
    build(options, ctx);
    return options.store;
}

struct opened {
    temporary_folder folder;
    made_corpus made{7};
    search_engine engine{search_engine::open(built(folder, made.lines), context::cpu(1))};
};
const opened& shared() {
    static const opened of;
    return of;
}

using found_documents = std::vector<std::pair<std::uint32_t, double>>;
found_documents first_of(const std::vector<search_hit>& hits, std::size_t k) {
    found_documents all;
    for (std::size_t i = 0; i < std::min(k, hits.size()); ++i)
        all.emplace_back(hits[i].document, hits[i].score);
    return all;
}

search_options plain_options() {
    search_options options;
    options.snippets = options.duplicates = options.fields = false;
    options.syntax = query_syntax::automatic;
    options.k = made_documents;
    return options;
}

const std::vector<std::string>& queries() {
    static const std::vector<std::string> all = {"w1",
                                                 "w3 w29",
                                                 "w0 w1 w2 w28",
                                                 "rare w2",
                                                 "+w1 +w2 w3",
                                                 "w1 AND w4",
                                                 "\"w1 w2\"",
                                                 "w2*",
                                                 "w5 -w1",
                                                 "w1 \"w2 w3\"",
                                                 "rare",
                                                 "nowhere",
                                                 "*",
                                                 "w1 AND (w2 OR w3) AND NOT w4",
                                                 "\"w1 w2\"~3 w9"};
    return all;
}

TEST(filtered_search, is_the_ranking_of_the_documents_that_pass) {
    const opened& of = shared();
    made_numbers next(11);
    for (int round = 0; round < 1500; ++round) {
        const made_filter filter = expression(next, static_cast<unsigned>(next(4)));
        const std::string& query = one_of(next, queries());
        search_options options = plain_options();
        options.ranking.model = static_cast<ranking_model>(next(4));
        if (options.ranking.model == ranking_model::ql && next(2) == 0) options.order = 2;
        SCOPED_TRACE(query + " | " + filter.text);
        std::vector<search_hit> expected = of.engine.search(query, options).hits;
        std::erase_if(expected,
                      [&](const search_hit& hit) { return !filter.passes(of.made.documents[hit.document]); });
        options.filter = filter.text;
        options.total = true;
        for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{made_documents}}) {
            options.k = k;
            const search_result result = of.engine.search(query, options);
            ASSERT_EQ(first_of(result.hits, k), first_of(expected, k));
            ASSERT_EQ(result.total, expected.size());
        }
        options.count = true;
        ASSERT_EQ(of.engine.search(query, options).total, expected.size());
    }
}

TEST(filtered_search, topics_have_the_same_filter_on_every_thread) {
    const opened& of = shared();
    search_options options = plain_options();
    options.filter = "lang = en AND NOT tags IN (t1, t2)";
    options.k = 20;
    std::vector<search_topic> topics;
    for (const std::string& query : queries()) topics.push_back({query, query});
    const auto results = of.engine.search(topics, options, context::cpu(2));
    for (std::size_t i = 0; i < topics.size(); ++i) {
        EXPECT_EQ(first_of(results[i].hits, 20),
                  first_of(of.engine.search(topics[i].query, options).hits, 20))
            << topics[i].query;
    }
}

TEST(filtered_search, without_words_every_document_is_found) {
    const opened& of = shared();
    search_options options = plain_options();
    EXPECT_TRUE(of.engine.search("", options).empty_query);
    EXPECT_EQ(of.engine.search("*", options).hits.size(), made_documents);
    EXPECT_EQ(of.engine.search(" * ", options).hits[5].document, 5u);
    options.filter = "stock = 1000";
    const search_result few = of.engine.search(" ", options);
    ASSERT_GE(few.hits.size(), 2u);
    EXPECT_FALSE(few.empty_query);
    for (const search_hit& hit : few.hits) {
        EXPECT_EQ(hit.document / 9, 500u);
        EXPECT_EQ(hit.score, 0);
    }
    options.k = 2;
    options.offset = 1;
    const search_result page = of.engine.search("", options);
    ASSERT_EQ(page.hits.size(), 1u);
    EXPECT_EQ(page.hits[0].document, few.hits[1].document);
    EXPECT_EQ(page.hits[0].rank, 2u);
    EXPECT_THAT(of.engine.search("w1x", options).hits, IsEmpty());
    EXPECT_TRUE(of.engine.search("!", options).empty_query) << "typed, but without a word";
}

/// Documents without a value come last in both directions.
template <class Value>
int compared(const std::optional<Value>& a, const std::optional<Value>& b, bool descending) {
    if (a.has_value() != b.has_value()) return a ? -1 : 1;
    if (!a || *a == *b) return 0;
    return (*a < *b) != descending ? -1 : 1;
}

TEST(sorted_search, orders_by_values_then_scores) {
    const opened& of = shared();
    made_numbers next(13);
    const std::vector<std::string> fields = {"lang", "stock", "price", "fresh", "day"};
    for (int round = 0; round < 80; ++round) {
        const std::string& query = one_of(next, queries());
        const bool down = next(2) == 0;
        const auto field = next(fields.size());
        const made_filter filter = comparison(next);
        search_options options = plain_options();
        if (next(2) == 0) options.filter = filter.text;
        std::vector<search_hit> expected = of.engine.search(query, options).hits;
        std::ranges::stable_sort(expected, [&](const search_hit& a, const search_hit& b) {
            const made_document &x = of.made.documents[a.document], &y = of.made.documents[b.document];
            const int first = field == 0   ? compared(x.lang, y.lang, down)
                              : field == 1 ? compared(x.stock, y.stock, down)
                              : field == 2 ? compared(x.price, y.price, down)
                              : field == 3 ? compared(x.fresh, y.fresh, down)
                                           : compared(x.time(), y.time(), down);
            return first != 0 ? first < 0 : compared(x.stock, y.stock, !down) < 0;
        });
        options.sort = (down ? "-" : "") + fields[field];
        if (field != 1) options.sort += down ? ", stock" : ", -stock";
        SCOPED_TRACE(query + " | " + options.filter + " | " + options.sort);
        for (const std::size_t k : {std::size_t{7}, std::size_t{made_documents}}) {
            options.k = k;
            ASSERT_EQ(first_of(of.engine.search(query, options).hits, k), first_of(expected, k));
        }
    }
}

template <class Counts>
std::vector<std::pair<std::uint64_t, std::string>> frequent_values(const Counts& counts, std::size_t size) {
    std::vector<std::pair<std::uint64_t, std::string>> all;
    for (const auto& [value, count] : counts) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
            all.emplace_back(count, value);
        else
            all.emplace_back(count, std::to_string(value));
    }
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.first > b.first; });
    all.resize(std::min(size, all.size()));
    return all;
}

TEST(facets, count_the_values_of_all_documents_found) {
    const opened& of = shared();
    made_numbers next(17);
    for (int round = 0; round < 80; ++round) {
        const std::string& query = one_of(next, queries());
        const made_filter filter = expression(next, 2);
        search_options options = plain_options();
        if (next(3) != 0) options.filter = filter.text;
        SCOPED_TRACE(query + " | " + options.filter);
        std::map<std::string, std::uint64_t> tags;
        std::map<std::int64_t, std::uint64_t> stock;
        std::uint64_t with_tags = 0, with_stock = 0, fresh = 0, with_day = 0;
        const auto hits = of.engine.search(query, options).hits;
        for (const search_hit& hit : hits) {
            const made_document& document = of.made.documents[hit.document];
            const auto own = document.tags.value_or(std::vector<std::string>());
            for (const std::string& tag : std::set<std::string>(own.begin(), own.end())) ++tags[tag];
            with_tags += document.tags ? 1 : 0;
            if (document.stock) ++stock[*document.stock];
            with_stock += document.stock ? 1 : 0;
            fresh += document.fresh == true ? 1 : 0;
            with_day += document.day ? 1 : 0;
        }
        options.facets = "tags,stock,fresh,day";
        options.facet_values = 3;
        options.k = 1;
        options.total = true;
        const search_result result = of.engine.search(query, options);
        ASSERT_EQ(result.total, hits.size());
        ASSERT_EQ(result.facets.size(), 4u);
        const search_facet &of_tags = result.facets[0], &of_stock = result.facets[1];
        const auto found = [](const search_facet& facet) {
            std::vector<std::pair<std::uint64_t, std::string>> all;
            for (const auto& [value, count] : facet.values) all.emplace_back(count, value);
            return all;
        };
        ASSERT_EQ(of_tags.documents, with_tags);
        ASSERT_EQ(of_tags.distinct, tags.size());
        ASSERT_EQ(found(of_tags), frequent_values(tags, 3));
        ASSERT_EQ(of_stock.documents, with_stock);
        ASSERT_EQ(of_stock.distinct, stock.size());
        ASSERT_EQ(found(of_stock), frequent_values(stock, 3));
        ASSERT_EQ(of_stock.min, stock.empty() ? "" : std::to_string(stock.begin()->first));
        ASSERT_EQ(of_stock.max, stock.empty() ? "" : std::to_string(stock.rbegin()->first));
        std::uint64_t trues = 0;
        for (const auto& [value, count] : result.facets[2].values) trues += value == "true" ? count : 0;
        ASSERT_EQ(trues, fresh);
        ASSERT_EQ(result.facets[3].documents, with_day);
    }
}

TEST(facets, are_written_as_json) {
    const std::vector<search_facet> all = {{"a\"", field_type::text, 3, 2, {{"x\n", 2}, {"y", 1}}, "", ""},
                                           {"n", field_type::number, 1, 1, {{"1.5", 1}}, "1.5", "1.5"},
                                           {"d", field_type::date, 0, 0, {}, "", ""}};
    EXPECT_EQ(facets_json(all),
              R"({"a\"":{"type":"text","documents":3,"distinct":2,"values":[{"value":"x\n","documents":2},)"
              R"({"value":"y","documents":1}]},"n":{"type":"number","documents":1,"distinct":1,"values":)"
              R"([{"value":1.5,"documents":1}],"min":1.5,"max":1.5},"d":{"type":"date","documents":0,)"
              R"("distinct":0,"values":[]}})");
    EXPECT_EQ(facets_json({}), "{}");
}

std::string message_of(const search_options& options) {
    try {
        (void)shared().engine.search("w1", options);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "";
}

TEST(filtered_search, what_does_not_fit_the_fields_is_refused) {
    const auto refuses = [](const std::string& filter, const std::string& with) {
        search_options options = plain_options();
        options.filter = filter;
        EXPECT_THAT(message_of(options), HasSubstr(with)) << filter;
    };
    refuses("prise < 1", "character 1: there is no field 'prise'; did you mean 'price'? the store has ");
    refuses("lang = de AND Stok = 1", "character 15: there is no field 'Stok'; did you mean 'stock'?");
    refuses("something = 1", "there is no field 'something'; the store has ");
    refuses("price < abc", "character 9: 'abc' is not a number, but the field price is of the type number");
    refuses("stock = 1x", "'1x' is not a number");
    refuses("stock = 1e30", "'1e30' is not a number of 64 bits");
    refuses("price < inf", "'inf' is not a number");
    refuses("price < 1e999", "'1e999' is not a number");
    refuses("fresh = 1", "'1' is not true or false");
    refuses("fresh < true", "character 7: the field fresh is true or false");
    refuses("day > yesterday", "'yesterday' is not a date such as 2024");
    refuses("lang < 10",
            "character 8: the field lang is of the type text, since not all of its values are numbers");
    refuses("stock STARTS WITH 1", "STARTS WITH needs a field of texts; stock is of the type integer");
    search_options options = plain_options();
    options.sort = "tags";
    EXPECT_THAT(message_of(options), HasSubstr("sort: the field tags is of the type list"));
    options.sort = "-prise";
    EXPECT_THAT(message_of(options), HasSubstr("sort: there is no field 'prise'; did you mean 'price'?"));
    options.sort.clear();
    options.facets = "lang,";
    EXPECT_THAT(message_of(options), HasSubstr("facets: invalid value 'lang,'"));
}

TEST(filtered_search, integers_at_the_ends_and_fields_of_several_types) {
    const temporary_folder folder;
    const auto store = built(folder, R"({"id":"a","text":"w","n":9223372036854775807,"x":1}
{"id":"b","text":"w","n":-9223372036854775808,"x":"one"}
{"id":"c","text":"w","n":0,"o":{"k":1},"beyond":-1e999}
)");
    EXPECT_NE(verify_store(store, context::cpu(1)), 0);
    const search_engine engine = search_engine::open(store, context::cpu(1));
    const auto ids = [&](const std::string& filter) {
        search_options options = plain_options();
        options.filter = filter;
        std::string found;
        for (const search_hit& hit : engine.search("w", options).hits) found += hit.id;
        return found;
    };
    EXPECT_EQ(ids("n > 9223372036854775807"), "");
    EXPECT_EQ(ids("n >= 9223372036854775807"), "a");
    EXPECT_EQ(ids("n < -9223372036854775808"), "");
    EXPECT_EQ(ids("n <= -9223372036854775808"), "b");
    EXPECT_EQ(ids("n != 0"), "ab");
    EXPECT_EQ(ids("n BETWEEN 1 AND -1"), "");
    EXPECT_EQ(ids("n < 0.5 AND n > -0.5"), "c");
    EXPECT_EQ(ids("x EXISTS"), "ab");
    EXPECT_EQ(ids("NOT x EXISTS"), "c");
    EXPECT_EQ(ids("x = 1"), "a");  // a number and a text: both are texts, as they are written
    EXPECT_EQ(ids("x IN ('1', one)"), "ab");
    EXPECT_EQ(ids("o EXISTS"), "c");
    EXPECT_THROW(ids("o = 1"), filter_error);
    EXPECT_EQ(ids("beyond EXISTS"), "c");
    search_options options = plain_options();
    options.fields = true;
    EXPECT_EQ(engine.search("w", options).hits.back().fields, R"({"n":0,"o":{"k":1},"beyond":-1e999})");
}

}  // namespace
}  // namespace quern::search_fields_test
