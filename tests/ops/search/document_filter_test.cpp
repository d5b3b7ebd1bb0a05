// SPDX-License-Identifier: Apache-2.0
// Conditions on documents and phrases with slop, compared with sets of documents and with every arrangement of words.
#include "ops/search/document_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <set>

#include "ops/search/phrase_samples.hpp"
#include "ops/search/proximity.hpp"
#include "ops/search/query_lists.hpp"
#include "ops/search/search_samples.hpp"
#include "reference/query_reference.hpp"

namespace quern::document_filter_test {
namespace {

using namespace quern::search_detail;
using search_samples::encoded_list;
using documents = std::set<std::uint32_t>;

/// Lists of every density over a collection of that size, with their documents.
struct lists {
    std::vector<std::uint32_t> lengths;
    std::vector<documents> sets;
    std::vector<std::vector<std::uint32_t>> vectors;
    std::vector<std::vector<std::uint64_t>> bits;
    std::vector<encoded_list> encoded;

    lists(std::uint32_t size, std::mt19937_64& random) : lengths(size, 10) {
        for (const std::uint32_t share : {1u, 2u, 3u, 10u, 100u, 1000u, 5000u, ~0u}) {
            documents& chosen = sets.emplace_back();
            reference::word_documents frequencies;
            for (std::uint32_t d = 0; d < size; ++d) {
                // Some lists only have documents at the ends.
                if (share == 10 && d > 500 && d + 500 < size) continue;
                if (random() % share == 0) chosen.insert(d);
            }
            for (const std::uint32_t d : chosen)
                frequencies[d] = 1 + static_cast<std::uint32_t>(random() % 3);
            vectors.emplace_back(chosen.begin(), chosen.end());
            bits.push_back(search_samples::bits_of(vectors.back(), size));
            encoded.emplace_back(frequencies, lengths);
        }
    }
    collection_view view() const { return {lengths, 10 * lengths.size()}; }
};

struct random_condition {
    condition where;
    documents expected;
};

random_condition made(const lists& from, std::mt19937_64& random, unsigned depth) {
    random_condition result;
    const auto which = random() % (depth == 0 ? 3 : 6);
    const std::size_t list = random() % from.sets.size();
    if (which < 3) {
        result.where = which == 0 ? one_of(from.encoded[list].view()) : one_of(from.vectors[list]);
        if (which == 2) {
            result.where = {condition::kind::bits};
            result.where.bits = from.bits[list];
            result.where.bits_set = from.sets[list].size();
        }
        result.expected = from.sets[list];
        return result;
    }
    const bool all = which < 5;
    result.where.what = all ? condition::kind::all : condition::kind::any;
    const std::size_t members = all ? 1 + random() % 3 : random() % 4;
    for (std::size_t i = 0; i < members; ++i) {
        random_condition member = made(from, random, depth - 1);
        if (!all || i == 0) {
            result.expected.insert(member.expected.begin(), member.expected.end());
        } else {
            std::erase_if(result.expected, [&](std::uint32_t d) { return !member.expected.contains(d); });
        }
        result.where.members.push_back(std::move(member.where));
    }
    for (std::size_t i = all ? random() % 3 : 0; i > 0; --i) {
        random_condition member = made(from, random, depth - 1);
        std::erase_if(result.expected, [&](std::uint32_t d) { return member.expected.contains(d); });
        result.where.excluded.push_back(std::move(member.where));
    }
    return result;
}

TEST(document_filter, matches_sets_of_documents) {
    std::mt19937_64 random(5);
    for (const std::uint32_t size : {0u, 1u, 127u, 129u, 8191u, 8192u, 8193u, 40'000u}) {
        const lists from(size, random);
        for (int round = 0; round < (size > 10'000 ? 150 : 300); ++round) {
            const random_condition of = made(from, random, 3);
            const std::vector<std::uint32_t> expected(of.expected.begin(), of.expected.end());
            ASSERT_EQ(matching_documents(from.view(), of.where), expected) << size << ", round " << round;
            ASSERT_EQ(count_matching(from.view(), of.where), expected.size()) << size << ", round " << round;
        }
    }
}

TEST(united_lists, have_the_sums_of_frequencies) {
    std::mt19937_64 random(6);
    for (const std::uint32_t size : {1u, 200u, 20'000u}) {
        std::vector<std::uint32_t> lengths(size, 10);
        std::vector<encoded_list> encoded;
        std::map<std::uint32_t, std::uint32_t> sums;
        std::vector<posting_list> views;
        EXPECT_THAT(united({lengths, size}, {}), ::testing::IsEmpty());
        for (const std::uint32_t share : {500u, 400u, 300u, 2u}) {
            reference::word_documents frequencies;
            for (std::uint32_t d = 0; d < size; ++d)
                if (random() % share == 0)
                    sums[d] += frequencies[d] = 1 + static_cast<std::uint32_t>(random() % 5);
            encoded.emplace_back(frequencies, lengths);
            views.clear();
            for (const encoded_list& list : encoded) views.push_back(list.view());
            std::vector<phrase_posting> expected;
            for (const auto& [d, f] : sums) expected.push_back({d, f, 0});
            EXPECT_EQ(united({lengths, 10 * size}, views), expected) << "both ways to add up";
        }
    }
}

TEST(proximity, known_places) {
    const auto places = [](std::vector<std::uint32_t> document, std::vector<std::uint32_t> phrase,
                           std::uint32_t slop) { return count_places(document, phrase, slop); };
    EXPECT_EQ(places({1, 2}, {1, 2}, 0), 1u);
    EXPECT_EQ(places({2, 1}, {1, 2}, 0), 0u);
    EXPECT_EQ(places({2, 1}, {1, 2}, 1), 0u);
    EXPECT_EQ(places({2, 1}, {1, 2}, 2), 1u) << "an exchange is two moves, as in Lucene";
    EXPECT_EQ(places({1, 9, 2}, {1, 2}, 1), 1u);
    EXPECT_EQ(places({1, 9, 9, 2}, {1, 2}, 1), 0u);
    EXPECT_EQ(places({1, 1, 1}, {1, 1}, 0), 2u) << "overlapping ones";
    EXPECT_EQ(places({1}, {1, 1}, 5), 0u) << "two words never share a position";
    EXPECT_EQ(places({}, {1}, 5), 0u);
}

TEST(proximity, matches_every_arrangement) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 4000; ++round) {
        std::vector<std::uint32_t> document(random() % 20), phrase(1 + random() % 5);
        const auto words = static_cast<std::uint32_t>(2 + random() % 4);
        for (auto* list : {&document, &phrase})
            for (auto& word : *list) word = static_cast<std::uint32_t>(random() % words);
        const auto slop = static_cast<std::uint32_t>(random() % 7);
        reference::text_words of_document, of_phrase;
        for (const auto word : document) of_document.push_back(std::to_string(word));
        for (const auto word : phrase) of_phrase.push_back(std::to_string(word));
        ASSERT_EQ(count_places(document, phrase, slop), reference::places_of(of_document, of_phrase, slop))
            << round;
    }
}

TEST(proximity, without_slop_it_finds_phrases) {
    std::mt19937_64 random(8);
    reference::documents_of_words words(300);
    for (auto& document : words)
        for (std::size_t i = random() % 40; i > 0; --i)
            document.push_back(static_cast<std::uint32_t>(random() % 6));
    const search_samples::worded_collection collection(words, 7);
    for (const std::vector<std::uint32_t>& phrase :
         std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 2}, {1, 2, 1}, {6, 1}, {0}}) {
        auto expected = find_phrase(collection.view(), collection.tokens(), collection.phrase(phrase));
        for (phrase_posting& posting : expected) posting.followed = 0;
        EXPECT_EQ(find_near(collection.view(), collection.tokens(), collection.phrase(phrase), 0), expected);
    }
}

}  // namespace
}  // namespace quern::document_filter_test
