// SPDX-License-Identifier: Apache-2.0
// Lists made for a query: phrases that score like words, and words after the words before them, against naive counts of
// small collections.
#include "ops/search/query_lists.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "ops/search/phrase_samples.hpp"
#include "quern/base/error.hpp"

namespace quern::query_lists_test {
namespace {

using namespace quern::search_samples;
using namespace quern::search_detail;

constexpr std::uint32_t no_word = ~std::uint32_t{0};

/// Words of a small, skewed vocabulary; some documents empty, one long.
reference::documents_of_words random_documents(std::uint32_t documents, std::uint32_t vocabulary,
                                               std::uint64_t seed) {
    std::mt19937_64 random(seed);
    reference::documents_of_words result(documents);
    for (std::uint32_t d = 0; d < documents; ++d) {
        const std::uint64_t length = d == documents / 2 ? 3000 : random() % 40;
        for (std::uint64_t i = 0; i < length; ++i) {
            const std::uint64_t r = random() % (std::uint64_t{vocabulary} * vocabulary);
            result[d].push_back(
                static_cast<std::uint32_t>(r * r / vocabulary / vocabulary / vocabulary % vocabulary));
        }
    }
    return result;
}

/// A query of words, `no_word` where the collection lacks one.
struct queried_words {
    std::vector<query_term> terms;
    std::vector<reference::query_word> words;
    std::vector<reference::query_history> histories;  // counted naively
    std::vector<history_finder::continuation> found;

    queried_words(const worded_collection& collection, const std::vector<std::uint32_t>& query,
                  unsigned order) {
        std::map<std::uint32_t, std::size_t> place;
        for (const std::uint32_t word : query) {
            if (word == no_word || place.contains(word)) continue;
            place[word] = words.size();
            words.push_back({documents_with(collection, {word}), 0, {}, 0});
            terms.push_back({collection.list(word), 0});
        }
        std::vector<std::optional<phrase_word>> sequence;
        for (const std::uint32_t word : query)
            sequence.push_back(word == no_word ? std::nullopt
                                               : std::optional(phrase_word{word, collection.list(word)}));
        const collection_view view = collection.view();
        const token_stream tokens = collection.tokens();
        history_finder finder(view, tokens, order);
        for (std::size_t i = 0; i < query.size(); ++i) {
            if (query[i] == no_word) continue;
            auto& term = terms[place[query[i]]];
            auto& word = words[place[query[i]]];
            term.count = ++word.count;
            if (finder.add(sequence, i)) ++term.continued;
            if (add_naively(collection, query, i, order)) ++word.continued;
        }
        found = finder.found();
    }

    static reference::word_documents documents_with(const worded_collection& collection,
                                                    const std::vector<std::uint32_t>& words) {
        reference::word_documents documents;
        for (const auto& posting : reference::find_phrase(collection.documents(), words))
            documents[posting.document] = posting.frequency;
        return documents;
    }
    bool add_naively(const worded_collection& collection, const std::vector<std::uint32_t>& query,
                     std::size_t at, unsigned order) {
        for (std::size_t n = std::min<std::size_t>(order, at + 1); n > 1; --n) {
            const std::vector<std::uint32_t> ngram(query.begin() + static_cast<std::ptrdiff_t>(at + 1 - n),
                                                   query.begin() + static_cast<std::ptrdiff_t>(at + 1));
            if (std::ranges::count(ngram, no_word) != 0) continue;
            auto holders = documents_with(collection, ngram);
            if (holders.empty()) continue;
            reference::query_history history;
            for (const auto& posting :
                 reference::find_phrase(collection.documents(), {ngram.begin(), ngram.end() - 1}))
                if (posting.followed != 0)
                    history.documents[posting.document] = {posting.followed, holders[posting.document]};
            histories.push_back(std::move(history));
            return true;
        }
        return false;
    }
};

RC_GTEST_PROP(query_lists, histories_are_those_of_a_naive_count, ()) {
    const auto vocabulary = *rc::gen::inRange<std::uint32_t>(1, 30);
    const worded_collection collection(random_documents(*rc::gen::inRange<std::uint32_t>(1, 60), vocabulary,
                                                        *rc::gen::arbitrary<std::uint64_t>()),
                                       vocabulary);
    const auto word = rc::gen::weightedOneOf<std::uint32_t>(
        {{9, rc::gen::inRange<std::uint32_t>(0, vocabulary)}, {1, rc::gen::just(no_word)}});
    // Half of the queries are words as a document has them.
    auto query = *rc::gen::container<std::vector<std::uint32_t>>(word);
    if (*rc::gen::arbitrary<bool>()) query = collection.documents()[collection.documents().size() / 2];
    query.resize(std::min<std::size_t>(query.size(), 12));
    const auto order = *rc::gen::inRange(1u, 7u);
    const queried_words requested(collection, query, order);

    std::vector<query_continuation> continuations;
    for (const auto& of : requested.found) {
        continuations.push_back(of.view());
        RC_ASSERT(of.holders ==
                  std::ranges::count_if(of.documents, [](const auto& d) { return d.frequency != 0; }));
    }
    const ranking_options options{.model = ranking_model::ql, .lambda = *rc::gen::inRange(1, 100) / 100.0};
    const auto view = collection.view();
    std::vector<std::uint32_t> lengths(view.document_lengths.begin(), view.document_lengths.end());
    const auto expected =
        reference::search(lengths, view.words, requested.words, options, 1000, requested.histories);
    RC_ASSERT(search(view, {requested.terms, continuations}, options, 1000) == expected);
    if (order == 1) {
        RC_ASSERT(continuations.empty());
    }
}

TEST(query_lists, the_longest_history_that_the_collection_holds) {
    // a b c d · b c · c a
    const worded_collection collection({{0, 1, 2, 3}, {1, 2}, {2, 0}}, 4);
    const auto histories_of = [&](const std::vector<std::uint32_t>& query, unsigned order) {
        std::vector<std::pair<std::vector<std::uint32_t>, std::uint32_t>> result;
        for (const auto& of : queried_words(collection, query, order).found)
            result.emplace_back(of.words, of.count);
        return result;
    };
    using expected = std::vector<std::pair<std::vector<std::uint32_t>, std::uint32_t>>;
    EXPECT_EQ(histories_of({0, 1, 2}, 3), (expected{{{0, 1}, 1}, {{0, 1, 2}, 1}}));
    EXPECT_EQ(histories_of({0, 1, 2}, 2), (expected{{{0, 1}, 1}, {{1, 2}, 1}}));
    EXPECT_EQ(histories_of({3, 1, 2, 3, 1, 2}, 3), (expected{{{1, 2}, 2}, {{1, 2, 3}, 1}}));
    EXPECT_EQ(histories_of({1, no_word, 2}, 3), expected{});
    EXPECT_EQ(histories_of({1, 0, 3}, 3), expected{});
    const queried_words requested(collection, {1, 2},
                                  2);  // c is last in the second: b is followed by c in two
    ASSERT_EQ(requested.found.size(), 1u);
    EXPECT_EQ(requested.found[0].documents, (std::vector<continued_document>{{0, 1, 1}, {1, 1, 1}}));
    const queried_words last(collection, {2, 3}, 2);  // c continues only in the first and the third
    ASSERT_EQ(last.found.size(), 1u);
    EXPECT_EQ(last.found[0].documents, (std::vector<continued_document>{{0, 1, 1}, {2, 1, 0}}));
}

TEST(query_lists, a_phrase_becomes_a_list_as_a_word_has) {
    const std::uint32_t documents = 700;
    std::vector<std::uint32_t> lengths(documents, 50);
    for (const std::uint32_t step : {1u, 3u, 800u}) {
        std::vector<phrase_posting> found;
        reference::word_documents expected;
        for (std::uint32_t d = 0; d < documents; d += step) {
            found.push_back({d, 1 + d % 9, 0});
            expected[d] = 1 + d % 9;
        }
        const auto made = list_of(found, lengths);
        const encoded_list list(expected, lengths);
        EXPECT_EQ(made.bytes, list.bytes);
        EXPECT_EQ(made.document_frequency, list.totals.document_frequency);
        EXPECT_EQ(made.collection_frequency, list.totals.collection_frequency);
        const auto of_list = documents_of(made.view(), {lengths, 50 * documents});
        EXPECT_TRUE(std::ranges::equal(of_list, found, {}, {}, &phrase_posting::document));
    }
    EXPECT_EQ(list_of({}, lengths).document_frequency, 0u);
    EXPECT_TRUE(documents_of({}, {lengths, 1}).empty());
}

TEST(query_lists, words_that_are_not_those_of_the_postings_are_damage) {
    const worded_collection collection({{0, 1}, {0, 1, 0, 1}}, 2), other({{1, 0}, {0, 0, 0, 0}}, 2);
    const collection_view view = collection.view();
    const token_stream tokens = other.tokens();
    history_finder finder(view, tokens, 2);
    const auto words = collection.phrase({0, 0});
    const std::vector<std::optional<phrase_word>> sequence(words.begin(), words.end());
    EXPECT_THROW(finder.add(sequence, 1), damaged_store);
}

}  // namespace
}  // namespace quern::query_lists_test
