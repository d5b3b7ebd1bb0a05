// SPDX-License-Identifier: Apache-2.0
#include "ops/search/phrases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "on_every_target.hpp"
#include "ops/search/phrase_samples.hpp"
#include "ops/search/query_lists.hpp"
#include "ops/search/token_code.hpp"
#include "quern/base/error.hpp"

namespace quern::phrases_test {
namespace {

using namespace quern::search_detail;
using search_samples::worded_collection;
using words = std::vector<std::uint32_t>;

/// Documents of `lengths` words below `vocabulary`, low ids by far the most frequent.
reference::documents_of_words random_documents(const std::vector<std::size_t>& lengths,
                                               std::uint32_t vocabulary, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    reference::documents_of_words documents;
    for (const std::size_t length : lengths) {
        auto& document = documents.emplace_back(length);
        for (auto& word : document) {
            const double u = static_cast<double>(random() >> 11) * 0x1p-53;
            word = static_cast<std::uint32_t>(std::pow(static_cast<double>(vocabulary), u) - 1);
            word = std::min(word, vocabulary - 1);
        }
    }
    return documents;
}

/// The documents of a phrase by posting lists, and by kept lists of every form, without and with places.
void expect_found(const worded_collection& collection, const words& phrase,
                  const std::vector<phrase_posting>& expected) {
    const token_stream tokens = collection.tokens();
    ASSERT_EQ(find_phrase(collection.view(), tokens, collection.phrase(phrase)), expected)
        << ::testing::PrintToString(phrase);
    if (phrase.empty() || collection.documents().empty()) return;
    for (const auto form : {kept_form::documents, kept_form::windows, kept_form::dense}) {
        std::vector<kept_list> lists;
        lists.reserve(phrase.size());
        std::vector<kept_phrase_word> kept;
        for (const std::uint32_t word : phrase) {
            lists.push_back(keep_list(collection.view(), {collection.list(word), 1, {}}, {}, form));
            kept.push_back({word, &lists.back(), collection.list(word).collection_frequency});
        }
        ASSERT_EQ(find_phrase(tokens, kept), expected) << ::testing::PrintToString(phrase);
        // Whichever word's places are known; the last one is that whose are worth it.
        std::vector<kept_phrase_word> anchors = kept;
        if (anchors.size() > 4) anchors = {leading_word(kept), kept.back()};
        anchors.push_back(rarest_within(kept));
        for (const kept_phrase_word& anchor : anchors) {
            const word_places places = places_of(tokens, anchor.word, *anchor.list, context());
            ASSERT_EQ(places.bytes.size(), anchor.occurrences);
            for (auto& word : kept) word.places = word.word == anchor.word ? &places : nullptr;
            ASSERT_EQ(find_phrase(tokens, kept), expected) << ::testing::PrintToString(phrase);
        }
    }
}

const std::vector<std::size_t> every_length = {0,  1,  2,  0,  15,  16,  17,   31, 32,
                                               33, 63, 64, 65, 255, 257, 4097, 3};

TEST(token_code, short_codes_go_to_frequent_words) {
    EXPECT_THAT(frequent_words().finish(), ::testing::IsEmpty());
    std::vector<std::uint64_t> frequencies(20000, 5);
    frequencies[19999] = 6;
    frequencies[7] = 4;
    frequent_words picked;
    for (const std::uint64_t frequency : frequencies) picked.add(frequency);
    const auto frequent = picked.finish();
    ASSERT_EQ(frequent.size(), token_code::one_byte_words + token_code::two_byte_words);
    const token_code code(frequent, 20000);
    EXPECT_EQ(code.of(0).size, 1);
    EXPECT_EQ(code.of(127).size, 1) << "128 words have one byte: 0 to 127 but 7, and the last";
    EXPECT_EQ(code.of(128).size, 2);
    EXPECT_EQ(code.of(7).size, 3);
    EXPECT_EQ(code.of(19999).size, 1);
    EXPECT_EQ(code.of(19998).size, 3);
}

TEST(token_code, frequent_words_are_those_of_a_complete_sort) {
    std::mt19937_64 random(3);
    for (const std::uint64_t max : {1u, 3u, 1000u, 1u << 30}) {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted;
        frequent_words picked;
        for (std::uint32_t word = 0; word < 300'000; ++word) {
            const std::uint64_t frequency = 1 + random() % max;
            picked.add(frequency);
            sorted.emplace_back(~frequency, word);
        }
        std::sort(sorted.begin(), sorted.end());
        words expected;
        for (std::size_t i = 0; i < token_code::one_byte_words + token_code::two_byte_words; ++i)
            expected.push_back(sorted[i].second);
        std::sort(expected.begin(), expected.begin() + token_code::one_byte_words);
        std::sort(expected.begin() + token_code::one_byte_words, expected.end());
        ASSERT_EQ(picked.finish(), expected) << max;
    }
}

TEST(token_code, words_round_trip) {
    for (const std::uint32_t vocabulary :
         {1u, 127u, 128u, 129u, 16511u, 16512u, 16513u, 1u << 21, 1u << 22, (1u << 28) + 5, ~0u}) {
        // Of a large vocabulary, short codes go to even and to odd ids, so that both tables hold gaps.
        const bool large = vocabulary > 40000;
        const std::uint32_t one_byte = std::min(vocabulary, 128u);
        const std::uint32_t two_bytes = std::min(vocabulary - one_byte, 16384u);
        words frequent;
        for (std::uint32_t i = 0; i < one_byte; ++i) frequent.push_back(large ? 2 * i : i);
        for (std::uint32_t i = 0; i < two_bytes; ++i) frequent.push_back(large ? 2 * i + 1 : one_byte + i);
        const token_code code(frequent, vocabulary);
        words requested;
        for (std::uint64_t word = 0; word < vocabulary; word += 1 + word / 7)
            requested.push_back(static_cast<std::uint32_t>(word));
        requested.push_back(vocabulary - 1);
        std::string coded;
        for (const std::uint32_t word : requested) coded += code.of(word).text();
        words back;
        code.decode(coded, back);
        ASSERT_EQ(back, requested) << vocabulary;
        EXPECT_EQ(count_words(coded), requested.size());
        const auto rising = code.of_rising(requested);
        ASSERT_EQ(rising.size(), requested.size());
        for (std::size_t i = 0; i < requested.size(); ++i)
            ASSERT_EQ(rising[i].text(), code.of(requested[i]).text()) << requested[i];
    }
}

TEST(token_code, refuses_what_it_did_not_write) {
    const words frequent = {0, 1, 2};
    EXPECT_THROW(token_code(frequent, 4), damaged_store);
    EXPECT_THROW(token_code(words{0, 2, 1}, 3), damaged_store);
    EXPECT_THROW(token_code(words{0, 1, 3}, 3), damaged_store);
    const token_code code(frequent, 3);
    words out;
    words many(token_code::one_byte_words + token_code::two_byte_words);
    std::iota(many.begin(), many.end(), 10);
    const token_code large(many, 20'000'000);
    for (const std::string& longer :
         {std::string("\0\0\x8a", 3), std::string("\0\x02\x80", 3), std::string("\0\0\0\x80", 4)})
        EXPECT_THROW(large.decode(longer, out), damaged_store) << "a longer code than the word's own";
    large.decode(std::string("\0\0\x80\x04\0\0\x80", 7), out);
    EXPECT_EQ(out, (words{0, 4 << 21}));
    for (const std::string bytes :
         {"\x83", "\x01\x80", "\x01", "\x01\x01\x01\x80", "\x01\x01\x01\x01\x01\x01\x80", "\x80\x01"})
        EXPECT_THROW(code.decode(bytes, out), damaged_store);
}

TEST(phrases, small_cases) {
    const worded_collection collection({{0, 0, 0}, {}, {1, 0, 1, 0}, {0, 1}, {2}}, 4);
    const auto find = [&](const words& phrase, document_range range = {}) {
        return find_phrase(collection.view(), collection.tokens(), collection.phrase(phrase), range);
    };
    using found = std::vector<phrase_posting>;
    EXPECT_EQ(find({0, 0}), (found{{0, 2, 1}}));
    EXPECT_EQ(find({0}), (found{{0, 3, 2}, {2, 2, 1}, {3, 1, 1}}));
    EXPECT_EQ(find({1, 0}), (found{{2, 2, 1}}));
    EXPECT_EQ(find({0, 1}), (found{{2, 1, 1}, {3, 1, 0}}));
    EXPECT_EQ(find({0, 1}, {3, 4}), (found{{3, 1, 0}}));
    EXPECT_EQ(find({0, 1}, {3, 3}), found{});
    EXPECT_EQ(find({0, 0, 0, 0}), found{});
    EXPECT_EQ(find({0, 3}), found{}) << "a word of no documents";
    EXPECT_EQ(find({}), found{});
}

TEST(phrases, every_code_length_and_document_length) {
    for (const std::uint32_t vocabulary : {3u, 200u, 40000u}) {
        std::vector<std::size_t> lengths;
        for (int i = 0; i < 12; ++i) lengths.insert(lengths.end(), every_length.begin(), every_length.end());
        const worded_collection collection(random_documents(lengths, vocabulary, vocabulary), vocabulary);
        std::mt19937_64 random(vocabulary);
        for (int round = 0; round < 300; ++round) {
            // Phrases that occur, at a document's beginning, in it and at its end, and some that do not.
            const auto& document = collection.documents()[random() % lengths.size()];
            words phrase;
            const std::size_t size = 1 + random() % 5;
            std::size_t at = document.size() < size || random() % 4 == 0 ? 0 : document.size() - size;
            if (at != 0 && random() % 2 == 0) at = random() % at;
            for (; phrase.size() < size && at < document.size(); ++at) phrase.push_back(document[at]);
            if (phrase.empty() || random() % 8 == 0)
                phrase.push_back(static_cast<std::uint32_t>(random() % vocabulary));
            document_range range;
            if (random() % 2 == 0) {
                range.first = static_cast<std::uint32_t>(random() % lengths.size());
                range.last = range.first + static_cast<std::uint32_t>(random() % lengths.size());
            }
            ASSERT_EQ(find_phrase(collection.view(), collection.tokens(), collection.phrase(phrase), range),
                      reference::find_phrase(collection.documents(), phrase, range))
                << ::testing::PrintToString(phrase);
            ASSERT_NO_FATAL_FAILURE(
                expect_found(collection, phrase, reference::find_phrase(collection.documents(), phrase)));
        }
    }
}

// A word that a long document contains a few times is searched alone, and the phrase is compared around it.
TEST(phrases, around_the_rarest_word) {
    for (const std::uint32_t vocabulary : {100u, 5000u}) {  // rare words of one byte and of two
        const std::uint32_t r = vocabulary - 1, s = vocabulary - 2;
        const std::vector<words> phrases = {{r},          {r, 0},          {0, r},           {0, r, 1},
                                            {r, 0, 1, 2}, {0, 1, 2, r},    {r, r},           {r, 0, r},
                                            {0, r, 0, r}, {0, 0, r, 0, 0}, {r, s},           {s, r, 0, s},
                                            {r, 0, r, 1}, {0, r, 0, s, 0}, {r, 50, r, 50, r}};
        std::mt19937_64 random(vocabulary);
        reference::documents_of_words documents;
        for (const words& phrase : phrases) {
            for (const std::size_t times : {0, 1, 2, 3, 9}) {
                auto document = random_documents({9000}, vocabulary - 2, random()).front();
                const auto put = [&](std::size_t at, std::span<const std::uint32_t> some) {
                    std::ranges::copy(some, document.begin() + static_cast<std::ptrdiff_t>(at));
                };
                for (std::size_t i = 0; i < times; ++i)
                    put(random() % (document.size() - phrase.size()), phrase);
                const std::uint64_t chosen = random();
                if ((chosen & 1) != 0) put(0, phrase);
                if ((chosen & 2) != 0) put(document.size() - phrase.size(), phrase);
                if ((chosen & 4) != 0) {  // the second begins with the first one's last word
                    put(100, phrase);
                    put(100 + phrase.size() - 1, phrase);
                }
                // Truncated by the document's beginning and end.
                if ((chosen & 8) != 0) put(0, std::span(phrase).subspan(1));
                if ((chosen & 16) != 0)
                    put(document.size() - phrase.size() + 1, std::span(phrase).first(phrase.size() - 1));
                documents.push_back(std::move(document));
            }
        }
        const worded_collection collection(documents, vocabulary);
        for (const words& phrase : phrases) {
            const auto expected = reference::find_phrase(documents, phrase);
            EXPECT_GE(expected.size(), 4u) << ::testing::PrintToString(phrase);
            ASSERT_NO_FATAL_FAILURE(expect_found(collection, phrase, expected));
        }
    }
}

/// The words of `coded`, one by one; the phrase is searched as a sequence of words.
occurrence_counts counted(const std::string& coded, const std::string& phrase) {
    const auto cut = [](const std::string& bytes) {
        std::vector<std::string> result(1);
        for (const char c : bytes) {
            result.back() += c;
            if (static_cast<unsigned char>(c) >= 0x80) result.emplace_back();
        }
        result.pop_back();
        return result;
    };
    const auto text = cut(coded), wanted = cut(phrase);
    occurrence_counts counts;
    for (std::size_t i = 0; i + wanted.size() <= text.size(); ++i) {
        if (!std::equal(wanted.begin(), wanted.end(), text.begin() + static_cast<std::ptrdiff_t>(i)))
            continue;
        ++counts.all;
        counts.followed += i + wanted.size() < text.size();
    }
    return counts;
}

// Every size around those of vectors, on every instruction set; the bytes end at the end of an allocation, so that a
// checker sees reads past them.
TEST(token_kernels, occurrences_on_every_target) {
    std::mt19937_64 random(9);
    on_every_target([&] {
        for (std::size_t size = 0; size < 300; ++size) {
            std::vector<char> bytes(size);
            for (char& c : bytes)
                c = static_cast<char>(random() % 4 < 2 ? 0x80 + random() % 2 : random() % 2);
            if (size != 0) bytes.back() = '\x80';
            const std::string text(bytes.begin(), bytes.end());
            ASSERT_EQ(count_words({bytes.data(), size}),
                      std::ranges::count_if(bytes, [](char c) { return c < 0; }));
            for (const std::string phrase : {"\x80", "\x81", "\x80\x80", "\x01\x80", "\x01\x01\x80",
                                             "\x80\x01\x80", "\x80\x80\x80\x80", "\x01\x80\x80\x81\x01\x81"})
                ASSERT_EQ(count_occurrences({bytes.data(), size}, phrase), counted(text, phrase))
                    << size << ' ' << ::testing::PrintToString(phrase);
        }
    });
}

// Searches for each word of a phrase in turn; codes of every length, some of them suffixes of others.
TEST(token_kernels, occurrences_around_each_word_on_every_target) {
    const std::vector<std::string> codes = {
        "\x80", "\x81", "\x01\x80", "\x02\x80", "\x02\x01\x80", "\x01\x01\x01\x80", "\x02\x01\x01\x01\x80"};
    const std::vector<std::vector<std::size_t>> phrases = {
        {0},       {2},       {4},    {6},       {0, 0},    {0, 2},       {2, 0},
        {4, 2, 0}, {0, 6, 1}, {1, 5}, {2, 2, 2}, {3, 0, 3}, {0, 1, 2, 4}, {6, 5, 4, 2, 0}};
    std::mt19937_64 random(10);
    on_every_target([&] {
        for (std::size_t size = 0; size < 300; ++size) {
            std::string text;
            const std::size_t kinds = 2 + random() % (codes.size() - 1);
            while (text.size() < size) text += codes[random() % kinds];
            const std::vector<char> bytes(text.begin(), text.end());
            std::vector<std::uint32_t> frequencies;
            for (const std::string& code : codes) frequencies.push_back(counted(text, code).all);
            for (const auto& phrase : phrases) {
                std::string coded;
                for (const std::size_t word : phrase) coded += codes[word];
                const occurrence_counts expected = counted(text, coded);
                std::uint32_t begin = 0;
                for (const std::size_t word : phrase) {
                    const auto own = static_cast<std::uint32_t>(codes[word].size());
                    const anchor_word anchor{begin, own, frequencies[word]};
                    begin += own;
                    ASSERT_EQ(count_occurrences({bytes.data(), bytes.size()}, coded, anchor), expected)
                        << text.size() << ' ' << ::testing::PrintToString(coded) << " around " << word;
                }
            }
        }
    });
}

RC_GTEST_PROP(phrases, matches_reference, ()) {
    const std::uint32_t vocabulary = 4;
    const auto word = rc::gen::inRange<std::uint32_t>(0, vocabulary);
    const auto documents =
        *rc::gen::container<reference::documents_of_words>(rc::gen::container<words>(word));
    const auto phrase = *rc::gen::resize(5, rc::gen::container<words>(word));
    const worded_collection collection(documents, vocabulary);
    expect_found(collection, phrase, reference::find_phrase(documents, phrase));
    RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(phrases, rank_as_one_term) {
    const worded_collection collection(random_documents(std::vector<std::size_t>(700, 90), 40, 5), 40);
    for (const words& phrase : {words{0, 1}, words{3, 0}, words{0, 0, 2}, words{39, 38, 37}}) {
        const auto found = find_phrase(collection.view(), collection.tokens(), collection.phrase(phrase));
        const made_list list = list_of(found, collection.view().document_lengths);
        const query_term term{list.view(), 1, {}};
        for (const auto model : {ranking_model::bm25, ranking_model::ql, ranking_model::pl2})
            for (const std::size_t k : {0u, 1u, 10u, 64u, 1000u})
                ASSERT_EQ(rank_phrase(collection.view(), found, {.model = model}, k),
                          search(collection.view(), {std::span(&term, 1)}, {.model = model}, k))
                    << ::testing::PrintToString(phrase) << k;
    }
}

}  // namespace
}  // namespace quern::phrases_test
