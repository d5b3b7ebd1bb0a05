// SPDX-License-Identifier: Apache-2.0
// Everything together: random queries with operators, phrases, prefixes, typos, unfinished words and fields, by every model and by
// BM25F, with and without accents, filtered, sorted, faceted, counted and in pages; compared with the reference, which looks at
// each document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"
#include "reference/combined_reference.hpp"
#include "temporary_folder.hpp"
#include "text/folding.hpp"

namespace quern::combined_search_test {
namespace {

using reference::query_node;
using reference::text_words;
using reference::words_by_field;
using kind = query_node::kind;
using sign = query_node::sign;
using testing::temporary_folder;
using testing::write_file;
using ranking = std::vector<std::pair<std::uint32_t, double>>;

const std::vector<std::string> vocabulary = {"mill",     "mills",     "milk",  "stone", "stöne",
                                             "grain",    "gräin",     "store", "café",  "cafe",
                                             "windmill", "windmills", "cafés", "st"};
const std::vector<std::string> field_names = {"title", "text", "abstract", "tags"};

std::string joined(const text_words& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : " ").append(word);
    return text;
}

/// A document, with the values of its kept fields.
struct made_document {
    words_by_field words;
    std::optional<std::int64_t> number;
    std::optional<std::string> language;

    text_words tags() const {
        text_words all;
        for (const text_words& tag : words[3]) all.push_back(joined(tag));
        return all;
    }
};

struct made_filter {
    std::string text;
    std::function<bool(const made_document&)> passes;
};

class random_search {
  public:
    explicit random_search(std::uint64_t seed) : random_(seed) {}
    std::size_t below(std::size_t end) { return random_() % end; }

    std::string word() { return vocabulary[std::min(below(vocabulary.size()), below(vocabulary.size()))]; }
    text_words words(std::size_t min, std::size_t max) {
        text_words made(min + below(max - min + 1));
        for (std::string& each : made) each = word();
        return made;
    }
    made_document document() {
        made_document made;
        made.words = {{words(0, 2)}, {words(0, below(6) == 0 ? 30 : 6)}, {words(0, 4)}, {}};
        for (std::size_t left = below(4); left > 0; --left) made.words[3].push_back(words(1, 2));
        if (below(4) != 0) made.number = static_cast<std::int64_t>(below(9));
        const char* const languages[] = {"de", "en", "fr"};
        if (below(4) != 0) made.language = languages[below(3)];
        return made;
    }

    /// A word with its accents or without, sometimes with a typo.
    std::string typed() {
        std::string made = word();
        switch (below(10)) {
            case 0:
                return made + "s";
            case 1:
                return "x" + made;
            case 2:
                return text::without_accents(made);
            case 3:
                if (made.size() > 3 && static_cast<unsigned char>(made.back()) < 128) made.pop_back();
                return made;
            default:
                return made;
        }
    }
    query_node leaf(std::size_t field) {
        query_node made;
        made.field = field == query_node::any_field && below(3) == 0 ? below(field_names.size()) : field;
        switch (below(9)) {
            case 0:
            case 1:
                made.what = kind::phrase;
                made.words = words(1, 3);
                if (below(2) == 0) made.slop = static_cast<std::int64_t>(below(4));
                break;
            case 2:
                made.what = kind::prefix;
                made.words = {text::without_accents(word()).substr(0, 2 + below(3))};
                break;
            default:
                made.what = kind::word;
                made.words = {typed()};
                if (below(6) == 0) made.edits = 1 + static_cast<unsigned>(below(2));
        }
        return made;
    }
    query_node item(unsigned depth, std::size_t field) {
        if (depth == 0 || below(5) != 0) return leaf(field);
        const bool named = field == query_node::any_field && below(3) == 0;
        return list(depth - 1, named ? below(field_names.size()) : field);
    }
    query_node group(unsigned depth, std::size_t field, kind what) {
        query_node made;
        made.what = what;
        made.field = field;
        for (std::size_t left = 1 + below(3); left > 0; --left) {
            made.members.push_back(what == kind::any ? group(depth, field, kind::all) : item(depth, field));
            if (what == kind::all && made.members.size() > 1 && below(4) == 0)
                made.members.back().has = sign::minus;
        }
        return made.members.size() == 1 ? made.members.front() : made;
    }
    query_node list(unsigned depth, std::size_t field) {
        query_node made;
        made.field = field;
        bool has_other = false;
        do {
            const std::size_t which = below(8);
            query_node member = which < 6 ? item(depth, field) : group(depth, field, kind::any);
            if (which < 2) member.has = which == 0 ? sign::plus : sign::minus;
            has_other = has_other || member.has != sign::minus;
            made.members.push_back(std::move(member));
        } while (!has_other || below(2) == 0);
        return made;
    }

    /// As a user types it. `outer`: the field of what is around it.
    std::string text_of(const query_node& query, std::size_t outer, bool by_word = false) {
        std::string text = query.has == sign::plus               ? "+"
                           : query.has == sign::minus && by_word ? "NOT "
                           : query.has == sign::minus            ? "-"
                                                                 : "";
        if (query.field != outer) text += field_names[query.field] + ":";
        if (query.what == kind::word)
            return text + query.words[0] + (query.edits == 0 ? "" : "~" + std::to_string(query.edits));
        if (query.what == kind::prefix) return text + query.words[0] + "*";
        if (query.what == kind::phrase)
            return text + '"' + joined(query.words) + '"' +
                   (query.slop == 0 ? "" : "~" + std::to_string(query.slop));
        return text + "(" + inner_text(query) + ")";
    }
    std::string inner_text(const query_node& query) {
        std::string text;
        for (const query_node& member : query.members) {
            if (!text.empty())
                text += query.what == kind::all ? " AND " : query.what == kind::any ? " OR " : " ";
            const bool bare = (member.what == kind::any && query.what == kind::list) ||
                              (member.what == kind::all && query.what != kind::all);
            text += bare ? inner_text(member) : text_of(member, query.field, query.what == kind::all);
        }
        return text;
    }

    made_filter filter(unsigned depth) {
        if (depth != 0 && below(2) == 0) {
            const made_filter a = filter(depth - 1), b = filter(depth - 1);
            switch (below(3)) {
                case 0:
                    return {"NOT (" + a.text + ")", [a](const made_document& of) { return !a.passes(of); }};
                case 1:
                    return {"(" + a.text + ") AND (" + b.text + ")",
                            [a, b](const made_document& of) { return a.passes(of) && b.passes(of); }};
                default:
                    return {"(" + a.text + " OR " + b.text + ")",
                            [a, b](const made_document& of) { return a.passes(of) || b.passes(of); }};
            }
        }
        const auto number = static_cast<std::int64_t>(below(9));
        const std::string tag = joined(words(1, 1)), language = below(2) == 0 ? "de" : "en";
        switch (below(6)) {
            case 0:
                return {"n < " + std::to_string(number),
                        [=](const made_document& of) { return of.number && *of.number < number; }};
            case 1:
                return {"n BETWEEN 2 AND " + std::to_string(number), [=](const made_document& of) {
                            return of.number && *of.number >= 2 && *of.number <= number;
                        }};
            case 2:
                return {"n NOT EXISTS", [](const made_document& of) { return !of.number; }};
            case 3:
                return {"lang = " + language,
                        [=](const made_document& of) { return of.language == language; }};
            case 4:
                return {"lang NOT IN (" + language + ", it)",
                        [=](const made_document& of) { return of.language != language; }};
            default:
                return {"tags IN ('" + tag + "', nothing)",
                        [=](const made_document& of) { return std::ranges::count(of.tags(), tag) != 0; }};
        }
    }

  private:
    std::mt19937_64 random_;
};

void spread_exclusion(query_node& query, bool excluded) {
    query.excluded = excluded || query.has == sign::minus;
    for (query_node& member : query.members) spread_exclusion(member, query.excluded);
}

/// The words of a query or a document without accents.
void fold(query_node& query) {
    for (std::string& word : query.words) word = text::without_accents(word);
    for (query_node& member : query.members) fold(member);
}
words_by_field folded(words_by_field document) {
    for (auto& field : document)
        for (text_words& value : field)
            for (std::string& word : value) word = text::without_accents(word);
    return document;
}

struct store_of_documents {
    temporary_folder folder;
    std::vector<made_document> documents;
    std::vector<words_by_field> words, folded_words;
    std::optional<search_engine> engine;

    store_of_documents(std::size_t size, random_search& random) {
        std::string lines;
        for (std::size_t d = 0; d < size; ++d) {
            const made_document& of = documents.emplace_back(random.document());
            words.push_back(of.words);
            folded_words.push_back(folded(of.words));
            lines += R"({"id":")" + std::to_string(d) + R"(","title":")" + joined(of.words[0][0]) +
                     R"(","text":")" + joined(of.words[1][0]) + R"(","abstract":")" + joined(of.words[2][0]) +
                     "\"";
            if (of.number) lines += ",\"n\":" + std::to_string(*of.number);
            if (of.language) lines += R"(,"lang":")" + *of.language + "\"";
            std::string tags;
            for (const std::string& tag : of.tags()) tags += (tags.empty() ? "\"" : ",\"") + tag + "\"";
            lines += ",\"tags\":[" + tags + "]}\n";
        }
        write_file(folder / "corpus.jsonl", lines);
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = folder / "store";
        options.skip = all_build_stages;
        options.fields.kept = {"*"};
        options.indexed_fields = {"abstract", "tags"};
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        engine.emplace(search_engine::open(folder / "store", ctx));
    }
};

ranking ranking_of(const search_result& result) {
    ranking made;
    for (const search_hit& hit : result.hits) made.emplace_back(hit.document, hit.score);
    return made;
}

struct weights {
    const char *fields, *b;
    std::vector<reference::field_values> of;
};
const weights all_weights[] = {
    {"", "", {}},
    {"title=3,abstract=2,tags=0.5", "tags=1", {{3, 0.4}, {1, 0.4}, {2, 0.4}, {0.5, 1}}},
    {"tags=20", "title=0,text=0.75", {{1, 0}, {1, 0.75}, {1, 0.4}, {20, 0.4}}}};

/// By number, then language, as `-n,lang` says; those without a value last.
void sort_by_fields(ranking& hits, const std::vector<made_document>& documents) {
    std::ranges::stable_sort(hits, [&](const auto& x, const auto& y) {
        const made_document &a = documents[x.first], &b = documents[y.first];
        if (a.number != b.number) {
            if (a.number && b.number) return *a.number > *b.number;
            return a.number.has_value();
        }
        if (a.language == b.language) return false;
        if (a.language && b.language) return *a.language < *b.language;
        return a.language.has_value();
    });
}

std::map<std::string, std::uint64_t> tags_of(const ranking& hits,
                                             const std::vector<made_document>& documents) {
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [d, _] : hits) {
        text_words tags = documents[d].tags();
        std::ranges::sort(tags);
        tags.erase(std::ranges::unique(tags).begin(), tags.end());
        for (const std::string& tag : tags) ++counts[tag];
    }
    return counts;
}

/// What was covered, so that a test of nothing fails.
struct coverage {
    std::size_t found = 0, empty = 0, by_variants = 0, unfinished = 0;
};

void compare(store_of_documents& store, random_search& random, std::size_t round, coverage& covered) {
    constexpr ranking_model models[] = {ranking_model::bm25, ranking_model::ql, ranking_model::dirichlet,
                                        ranking_model::two_stage};
    query_node query = random.list(2, query_node::any_field);
    const std::string text = random.inner_text(query);
    spread_exclusion(query, false);
    const weights& by = all_weights[round % std::size(all_weights)];
    search_options options;
    options.syntax = query_syntax::operators;
    options.typos = static_cast<typo_tolerance>(random.below(4));
    options.fold = random.below(2) == 0 ? folding::none : folding::accents;
    if (by.of.empty()) {
        options.ranking.model = models[random.below(4)];
        options.ranking.title_weight = random.below(2) == 0 ? 0.25 : 0;
    } else {
        options.field_weights = by.fields;
        options.field_b = by.b;
    }
    query_node& last = query.members.back();
    if (last.what == kind::word && last.has != sign::minus && last.edits == 0 && random.below(2) == 0)
        last.unfinished = options.prefix_last = true;
    covered.unfinished += options.prefix_last;
    const bool filtered = random.below(3) != 0, sorted = random.below(3) == 0;
    const made_filter filter = random.filter(2);
    if (filtered) options.filter = filter.text;
    SCOPED_TRACE(text + " | " + options.filter + " | round " + std::to_string(round));
    const bool folds = options.fold != folding::none;
    if (folds) fold(query);

    const reference::combined_search slow(folds ? store.folded_words : store.words, options.ranking,
                                          static_cast<reference::typo_mode>(options.typos), by.of);
    ranking expected;
    for (const auto& of :
         slow.search(query, [&](std::uint32_t d) { return !filtered || filter.passes(store.documents[d]); }))
        expected.emplace_back(of.document, of.score());

    if (sorted) {
        options.sort = "-n,lang";
        sort_by_fields(expected, store.documents);
    }
    options.facets = "tags,n";
    options.facet_values = 1000;
    options.total = true;
    options.k = store.documents.size() + 1;
    const search_result all = store.engine->search(text, options);
    ASSERT_EQ(ranking_of(all), expected);
    ASSERT_EQ(all.total, expected.size());
    covered.by_variants += all.variants.size();
    (expected.empty() ? covered.empty : covered.found) += 1;
    const auto tags = tags_of(expected, store.documents);
    ASSERT_EQ(all.facets.size(), 2U);
    ASSERT_EQ(all.facets[0].distinct, tags.size());
    for (const auto& [tag, count] : all.facets[0].values) ASSERT_EQ(tags.at(tag), count) << tag;
    ASSERT_EQ(all.facets[1].documents,
              static_cast<std::uint64_t>(std::ranges::count_if(
                  expected, [&](const auto& hit) { return store.documents[hit.first].number.has_value(); })));

    options.facets.clear();
    options.offset = random.below(3);
    options.k = 1 + random.below(4);
    options.total = false;
    ranking page;
    for (std::size_t i = options.offset; i < std::min(expected.size(), options.k); ++i)
        page.push_back(expected[i]);
    ASSERT_EQ(ranking_of(store.engine->search(text, options)), page);
    options.count = true;
    options.offset = 0;
    options.sort.clear();
    ASSERT_EQ(store.engine->search(text, options).total, expected.size());
}

TEST(combined_search, random_queries_match_the_reference) {
    random_search random(91);
    coverage covered;
    for (const std::size_t size : {1, 8, 90}) {
        store_of_documents store(size, random);
        for (std::size_t round = 0; round < 600; ++round) {
            compare(store, random, round, covered);
            if (HasFatalFailure()) return;
        }
    }
    EXPECT_GT(covered.found, 700U);
    EXPECT_GT(covered.empty, 100U);
    EXPECT_GT(covered.by_variants, 300U);
    EXPECT_GT(covered.unfinished, 100U);
}

}  // namespace
}  // namespace quern::combined_search_test
