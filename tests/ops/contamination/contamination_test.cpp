// SPDX-License-Identifier: Apache-2.0
// Contamination equals the slow version: for repeated words, short and equal items, any cut of documents into pieces, and
// hashes that collide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "ops/contamination/document_scan.hpp"
#include "ops/contamination/item_index.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/contamination_option_table.hpp"
#include "reference/contamination_reference.hpp"

namespace quern::contamination_detail::contamination_test {
namespace {

using reference::contamination_words;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t known_words = 1000;  // documents also have words beyond these

/// How words are hashed.
enum class hashing { good, of_few_values, all_equal };

std::uint64_t hash_of(std::uint32_t word, hashing how) {
    if (how == hashing::all_equal) return 0;
    if (how == hashing::of_few_values) return word % 2;
    return hash64(std::string_view(reinterpret_cast<const char*>(&word), sizeof word));
}

contamination_words made(std::vector<std::uint32_t> words) {
    contamination_words made;
    made.words = std::move(words);
    std::uint32_t at = 0;
    for (const std::uint32_t word : made.words) {
        made.begins.push_back(at);
        at += 1 + word % 7;
        made.ends.push_back(at);
        at += 1 + word % 2;
    }
    return made;
}

class piece_of_words : public word_source {
  public:
    piece_of_words(const contamination_words& of, std::size_t first) : of_(of), first_(first) {}
    std::uint32_t number(std::size_t word) const override {
        const std::uint32_t number = of_.words[first_ + word];
        return number < known_words ? number : item_index::none;
    }
    std::pair<std::uint32_t, std::uint32_t> bytes(std::size_t word) const override {
        return {of_.begins[first_ + word], of_.ends[first_ + word]};
    }

  private:
    const contamination_words& of_;
    std::size_t first_;
};

/// Items, indexed.
struct indexed_items {
    indexed_items(const std::vector<contamination_words>& items, const contamination_options& options,
                  hashing how) {
        for (const contamination_words& item : items) {
            words.insert(words.end(), item.words.begin(), item.words.end());
            offsets.push_back(words.size());
        }
        for (std::uint32_t word = 0; word < known_words; ++word) hashes.push_back(hash_of(word, how));
        index.emplace(item_words{words, offsets, hashes}, options, context::cpu(1));
    }

    std::vector<std::uint32_t> words;
    std::vector<std::uint64_t> offsets{0}, hashes;
    std::optional<item_index> index;
};

/// Each document in pieces of `piece` words; 0: whole.
std::vector<contamination> scanned(const std::vector<contamination_words>& items,
                                   const std::vector<contamination_words>& documents,
                                   const contamination_options& options, hashing how, std::size_t piece = 0) {
    const indexed_items indexed(items, options, how);
    document_scan scan(*indexed.index);
    std::vector<contamination> all;
    for (std::uint32_t d = 0; d < documents.size(); ++d) {
        const std::vector<std::uint32_t>& words = documents[d].words;
        const std::size_t step = piece == 0 ? std::max<std::size_t>(1, words.size()) : piece;
        for (std::size_t first = 0; first < words.size(); first += step) {
            std::vector<std::uint64_t> hashes;
            for (std::size_t i = first; i < std::min(words.size(), first + step); ++i)
                hashes.push_back(hash_of(words[i], how));
            scan.add(hashes, piece_of_words(documents[d], first), piece == 0);
        }
        for (contamination c : scan.finish()) {
            c.document = d;
            all.push_back(c);
        }
    }
    std::ranges::stable_sort(all, {}, &contamination::item);
    return all;
}

void expect_reference(const std::vector<contamination_words>& items,
                      const std::vector<contamination_words>& documents,
                      const contamination_options& options) {
    const auto expected = reference::contaminations(items, documents, options);
    for (const hashing how : {hashing::good, hashing::of_few_values, hashing::all_equal}) {
        for (const std::size_t piece : {0U, 1U, 3U, 17U})
            ASSERT_EQ(scanned(items, documents, options, how, piece), expected)
                << "hashes " << static_cast<int>(how) << ", pieces of " << piece;
    }
}

std::vector<std::uint32_t> random_words(std::mt19937_64& random, std::size_t count,
                                        std::uint32_t vocabulary) {
    std::vector<std::uint32_t> words(count);
    for (std::uint32_t& word : words) {
        word = static_cast<std::uint32_t>(random() % vocabulary);
        if (random() % 16 == 0) word += known_words;  // no item's
    }
    return words;
}

/// Items of any length with many repeats, equal ones, empty ones; documents with parts of them.
void try_random(std::uint64_t seed, unsigned ngram, std::uint32_t vocabulary, decimal overlap) {
    std::mt19937_64 random(seed);
    std::vector<contamination_words> items, documents;
    for (int i = 0; i < 25; ++i) {
        if (i % 5 == 4) {
            items.push_back(items[random() % items.size()]);
            continue;
        }
        auto words = random_words(random, random() % (3 * ngram + 2), vocabulary);
        for (std::uint32_t& word : words) word %= known_words;
        items.push_back(made(words));
    }
    for (int d = 0; d < 20; ++d) {
        std::vector<std::uint32_t> words = random_words(random, random() % 40, vocabulary);
        for (std::uint64_t parts = random() % 3; parts > 0; --parts) {
            const auto& item = items[random() % items.size()].words;
            const std::size_t begin = random() % (item.size() + 1),
                              end = begin + random() % (item.size() - begin + 1);
            words.insert(words.end(), item.begin() + static_cast<std::ptrdiff_t>(begin),
                         item.begin() + static_cast<std::ptrdiff_t>(end));
            for (const std::uint32_t word : random_words(random, random() % 5, vocabulary))
                words.push_back(word);
        }
        documents.push_back(made(words));
    }
    expect_reference(items, documents, {ngram, overlap});
}

TEST(contamination, equals_the_reference) {
    std::uint64_t seed = 0;
    for (const unsigned ngram : {1U, 2U, 4U, 5U, 6U, 9U, 13U}) {
        for (const std::uint32_t vocabulary : {1U, 2U, 3U, 30U, 900U}) {
            for (const decimal overlap :
                 {decimal{1, 10}, decimal{5, 10}, decimal{1, 1}, decimal{1, 1000000000}}) {
                SCOPED_TRACE(::testing::Message() << "n " << ngram << ", vocabulary " << vocabulary
                                                  << ", overlap " << overlap.value() << ", seed " << seed);
                try_random(seed++, ngram, vocabulary, overlap);
                if (HasFatalFailure()) return;
            }
        }
    }
}

std::vector<std::uint32_t> counted(std::uint32_t first, std::uint32_t last) {
    std::vector<std::uint32_t> words;
    for (std::uint32_t word = first; word < last; ++word) words.push_back(word);
    return words;
}

std::vector<std::uint32_t> joined(std::initializer_list<std::vector<std::uint32_t>> parts) {
    std::vector<std::uint32_t> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

TEST(contamination, the_share_is_compared_as_a_decimal) {
    // 10 positions of 3 words; the document has the first `found` of them.
    const std::vector<contamination_words> items = {made(counted(0, 12))};
    for (std::uint32_t found = 1; found <= 10; ++found) {
        const std::vector<contamination_words> documents = {made(counted(0, found + 2))};
        for (std::uint64_t tenths = 1; tenths <= 10; ++tenths) {
            const auto result = scanned(items, documents, {3, {tenths, 10}}, hashing::good);
            EXPECT_EQ(result.size(), found >= tenths ? 1U : 0U) << found << " of 10 at " << tenths;
        }
        EXPECT_EQ(scanned(items, documents, {3, {100000001, 1000000000}}, hashing::good).size(),
                  found > 1 ? 1U : 0U);
        EXPECT_EQ(scanned(items, documents, {3, {999999999, 1000000000}}, hashing::good).size(),
                  found == 10 ? 1U : 0U);
    }
}

TEST(contamination, gaps_count_over_the_item_and_places_span_all_pieces) {
    // Two pieces of one item, far from each other, in the order of the document.
    const auto item = counted(0, 20);
    const std::vector<contamination_words> items = {made(item)};
    const contamination_words document =
        made(joined({counted(900, 950), counted(10, 20), counted(950, 990), counted(0, 10), {999}}));
    const auto result = scanned(items, {document}, {5, {5, 10}}, hashing::good);
    // 6 positions within each half, 4 across both.
    EXPECT_THAT(result, ElementsAre(contamination{0, 0, 12, 16, document.begins[50], document.ends[109]}));
    EXPECT_THAT(scanned(items, {document}, {5, {76, 100}}, hashing::good), IsEmpty());
}

TEST(contamination, one_document_covers_two_items_and_one_item_twice) {
    const auto first = counted(0, 15), second = counted(100, 115);
    const std::vector<contamination_words> items = {made(second), made(first), made(second)};
    const contamination_words document = made(joined({first, second, {7}, first}));
    const auto result = scanned(items, {document}, {13, {1, 1}}, hashing::good);
    ASSERT_EQ(result.size(), 3U);
    EXPECT_EQ(result[0], (contamination{0, 0, 3, 3, document.begins[15], document.ends[29]}));
    EXPECT_EQ(result[1], (contamination{1, 0, 3, 3, document.begins[0], document.ends[45]}));
    EXPECT_EQ(result[2], (contamination{2, 0, 3, 3, document.begins[15], document.ends[29]}));
}

TEST(contamination, an_item_that_repeats_an_ngram_counts_each_position) {
    // 8 positions of 2 words, all equal; the last differs.
    const std::vector<contamination_words> items = {made({1, 1, 1, 1, 1, 1, 1, 1, 2})};
    const auto result = scanned(items, {made({5, 1, 1, 5})}, {2, {5, 10}}, hashing::good);
    ASSERT_EQ(result.size(), 1U);
    EXPECT_EQ(result[0].found, 7U);
    EXPECT_EQ(result[0].of, 8U);
}

TEST(contamination, short_items_of_every_length_are_found_as_a_whole) {
    std::vector<contamination_words> items;
    for (std::uint32_t length = 0; length <= 13; ++length) items.push_back(made(counted(0, length)));
    for (std::uint32_t have = 0; have <= 13; ++have) {
        // One word is missing after `have` of them.
        const auto words = joined({{500}, counted(0, have), {500}, counted(have + 1, 14)});
        std::vector<std::uint32_t> found;
        for (const auto& c : scanned(items, {made(words)}, {13, {1, 1}}, hashing::good, 4)) {
            EXPECT_EQ(c.of, 1U);
            found.push_back(c.item);
        }
        EXPECT_EQ(found, counted(1, have + 1)) << have;
    }
}

TEST(contamination, an_ngram_that_all_items_share_lists_few_items) {
    const auto shared = counted(0, 20);
    std::vector<contamination_words> items;
    for (std::uint32_t i = 0; i < 40; ++i)
        items.push_back(made(joined({shared, counted(20 * i + 100, 20 * i + 120)})));
    const indexed_items indexed(items, {13, {5, 10}}, hashing::good);
    std::size_t most = 0;
    for (std::uint32_t ngram = 0; ngram < indexed.index->ngrams(); ++ngram)
        most = std::max(most, indexed.index->items_of(ngram).size());
    EXPECT_EQ(most, 1U);  // 8 of 28 positions are shared, and 14 are needed
    expect_reference(items, {made(shared), items[7], made(joined({shared, items[3].words}))}, {13, {5, 10}});
}

TEST(contamination, no_items_and_empty_items_find_nothing) {
    EXPECT_THAT(scanned({}, {made(counted(0, 30))}, {}, hashing::good), IsEmpty());
    EXPECT_THAT(scanned({made({}), made({})}, {made(counted(0, 30)), made({})}, {}, hashing::all_equal),
                IsEmpty());
}

TEST(contamination, memory_is_what_was_announced) {
    std::mt19937_64 random(1);
    std::vector<contamination_words> items;
    for (int i = 0; i < 3000; ++i) {
        auto words = random_words(random, random() % 100, 900);
        for (std::uint32_t& word : words) word %= known_words;
        items.push_back(made(words));
    }
    const indexed_items indexed(items, {}, hashing::good);
    const std::uint64_t needed =
        item_index::memory_needed({indexed.words, indexed.offsets, indexed.hashes}, {});
    EXPECT_LE(indexed.index->memory_bytes(), needed);
    EXPECT_GE(2 * indexed.index->memory_bytes(), needed);
}

TEST(contamination, options_out_of_range_are_refused) {
    const std::vector<contamination_words> items = {made({1})};
    for (const contamination_options& wrong :
         {contamination_options{0, {5, 10}}, contamination_options{1001, {5, 10}},
          contamination_options{13, {0, 1}}, contamination_options{13, {11, 10}}})
        EXPECT_THROW(indexed_items(items, wrong, hashing::good), usage_error);
}

}  // namespace
}  // namespace quern::contamination_detail::contamination_test
