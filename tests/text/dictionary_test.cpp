// SPDX-License-Identifier: Apache-2.0
// The dictionary against a sorted vector of strings, and against hostile bytes.
#include "text/dictionary.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>

namespace quern::text::dictionary_test {
namespace {

std::string build(const std::vector<std::string>& sorted) {
    dictionary_builder builder;
    for (const std::string& word : sorted) builder.append(word);
    EXPECT_EQ(builder.size(), sorted.size());
    std::string bytes = builder.finish();
    EXPECT_EQ(builder.size(), 0U);
    return bytes;
}

/// Every call of the view, compared with the words themselves.
void expect_same(const dictionary_view& view, const std::vector<std::string>& sorted,
                 const std::vector<std::string>& requested) {
    ASSERT_EQ(view.size(), sorted.size());
    for (std::uint32_t id = 0; id < sorted.size(); ++id) {
        ASSERT_EQ(view.word(id), sorted[id]);
        ASSERT_EQ(view.find(sorted[id]), id);
    }
    for (const std::size_t from : {std::size_t{0}, sorted.size() / 3, sorted.size()}) {
        dictionary_view::walker walk(view, static_cast<std::uint32_t>(from));
        for (std::size_t id = from; id < sorted.size(); ++id) ASSERT_EQ(walk.next(), sorted[id]);
        ASSERT_EQ(walk.next(), std::nullopt);
    }
    for (const std::string& word : requested) {
        const auto at = std::lower_bound(sorted.begin(), sorted.end(), word);
        const bool known = at != sorted.end() && *at == word;
        ASSERT_EQ(view.find(word).has_value(), known) << word;
        const auto first = static_cast<std::uint32_t>(at - sorted.begin());
        std::uint32_t last = first;
        while (last < sorted.size() && sorted[last].starts_with(word)) ++last;
        ASSERT_EQ(view.with_prefix(word), std::make_pair(first, last)) << word;
    }
}

void check(const std::vector<std::string>& sorted, const std::vector<std::string>& requested) {
    const std::string bytes = build(sorted);
    const auto view = dictionary_view::open(bytes);
    ASSERT_TRUE(view.has_value());
    expect_same(*view, sorted, requested);
}

std::vector<std::string> numbered(std::size_t count) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < count; ++i) words.push_back("word" + std::to_string(i * 7));
    std::sort(words.begin(), words.end());
    return words;
}

TEST(dictionary, holds_every_size_around_a_block) {
    for (const std::size_t size : {0, 1, 2, 15, 16, 17, 31, 32, 33, 255, 257, 4097}) {
        check(numbered(size),
              {"", "w", "word", "word1", "word7", "word70", "word99999", "x", "\xFF", "\xFF\xFF"});
    }
}

TEST(dictionary, holds_the_empty_word_zero_bytes_and_long_words) {
    std::vector<std::string> words = {"",
                                      std::string(1, '\0'),
                                      std::string("\0\0", 2),
                                      "a",
                                      std::string("a\0", 2),
                                      std::string("a\0b", 3),
                                      "aaaaaaaa",
                                      "aaaaaaaab",
                                      "\x7F",
                                      "\x80",
                                      "\xFF",
                                      "\xFF\xFF"};
    for (const std::size_t size : {14, 15, 16, 17, 29, 30, 31, 127, 128, 300, 70000}) {
        words.push_back(std::string(size, 'q'));
        words.push_back(std::string(size, 'q') + std::string(size, 'r'));
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::vector<std::string> requested = words;
    for (const std::string& word : words) requested.push_back(word + "q");
    check(words, requested);
}

TEST(dictionary, tells_apart_many_words_with_one_long_prefix) {
    std::vector<std::string> words;
    for (int i = 0; i < 1000; ++i) words.push_back("the same beginning " + std::to_string(10000 + i));
    std::vector<std::string> requested = words;
    for (const std::string& word : words) requested.push_back(word.substr(0, word.size() - 1));
    requested.insert(requested.end(), {"the same", "the same beginning", "the same beginning 2", "the samf"});
    check(words, requested);
}

TEST(dictionary, refuses_words_that_do_not_rise) {
    dictionary_builder builder;
    builder.append("b");
    EXPECT_THROW(builder.append("b"), std::logic_error);
    EXPECT_THROW(builder.append("a"), std::logic_error);
    EXPECT_THROW(builder.append(""), std::logic_error);
    builder.append("b\x80");
    const std::string bytes = builder.finish();
    EXPECT_EQ(dictionary_view::open(bytes)->find("b\x80"), 1U);
}

TEST(dictionary, refuses_ids_that_it_does_not_have) {
    const std::string bytes = build({"one"});
    EXPECT_THROW(dictionary_view::open(bytes)->word(1), std::out_of_range);
}

RC_GTEST_PROP(dictionary, answers_like_a_sorted_vector, ()) {
    // Few letters, so that prefixes are shared and neighbours are looked up.
    const auto letters = rc::gen::element('a', 'b', '\0', '\xFF', 'c');
    const auto word = rc::gen::container<std::string>(letters);
    const auto set = *rc::gen::container<std::set<std::string>>(word);
    const auto requested = *rc::gen::container<std::vector<std::string>>(word);
    check({set.begin(), set.end()}, requested);
}

/// A copy at the end of a separate allocation, where the address sanitizer detects every read past the end.
std::unique_ptr<char[]> exact_copy(std::string_view bytes) {
    auto copy = std::make_unique<char[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    return copy;
}

void use_all(std::string_view bytes, bool& opened) {
    const auto copy = exact_copy(bytes);
    const auto view = dictionary_view::open({copy.get(), bytes.size()});
    opened = view.has_value();
    if (!view) return;
    for (std::uint32_t id = 0; id < std::min<std::uint32_t>(view->size(), 200); ++id) {
        const std::string word = view->word(id);
        (void)view->find(word);
        const auto [first, last] = view->with_prefix(word.substr(0, 3));
        ASSERT_LE(first, last);
        ASSERT_LE(last, view->size());
    }
}

TEST(dictionary, refuses_every_cut_and_survives_every_changed_byte) {
    std::vector<std::string> words = numbered(70);
    words.push_back(std::string(300, 'z'));
    words.push_back(std::string(300, 'z') + std::string(40, 'y'));
    const std::string good = build(words);
    for (std::size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(dictionary_view::open({good.data(), size}).has_value()) << size;
    }
    EXPECT_FALSE(dictionary_view::open(good + "x").has_value());
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int change : {1, 0x0F, 0x10, 0x80, 0xFF}) {
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ change);
            bool opened = false;
            use_all(bad, opened);
        }
    }
}

TEST(dictionary, refuses_numbers_that_do_not_add_up) {
    const std::string good = build(numbered(40));
    const auto changed = [&](std::size_t at, std::uint32_t value) {
        std::string bad = good;
        std::memcpy(bad.data() + at, &value, 4);
        return dictionary_view::open(bad).has_value();
    };
    std::uint32_t pages = 0;
    std::memcpy(&pages, good.data() + 4, 4);
    ASSERT_EQ(pages, 2U);  // a page holds at most 32 words
    EXPECT_TRUE(changed(0, 40));
    for (const std::uint32_t words : {0U, 39U, 41U, 64U, 100U, 0xFFFFFFFFU}) EXPECT_FALSE(changed(0, words));
    for (const std::uint32_t other : {0U, 1U, 3U, 0xFFFFFFFFU}) EXPECT_FALSE(changed(4, other));
    EXPECT_FALSE(changed(8, 1));
    const std::size_t samples = 128 + 2 * 128, symbols = samples + 128, first = symbols + 2304,
                      second = first + 128;
    EXPECT_EQ(good.size(), second + 2 * 128);
    EXPECT_FALSE(changed(samples, 1));
    EXPECT_FALSE(changed(symbols + 2048, 1)) << "code 0 stands for letters";
    EXPECT_FALSE(changed(symbols + 2048 + 4, 9)) << "a code of nine letters";
    EXPECT_FALSE(changed(first, 1)) << "the first id";
    EXPECT_FALSE(changed(second, 17));
    for (const std::uint32_t head : {0x0000U, 0x0021U, 0x0012U, 0xF000U, 0x00C1U})
        EXPECT_FALSE(changed(first + 4, head));
}

// Long words are alone on pages that name their first one: no other page may be reachable.
TEST(dictionary, refuses_pages_of_long_words_that_do_not_fit) {
    const std::string good = build({"a", std::string(500, 'l'), "z"});
    ASSERT_TRUE(dictionary_view::open(good).has_value());
    std::size_t refused = 0, opened = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int change : {1, 2, 0x40, 0x80, 0xFF}) {
            std::string bad = good;
            bad[at] = static_cast<char>(bad[at] ^ change);
            bool whole = false;
            use_all(bad, whole);
            (whole ? opened : refused) += 1;
        }
    }
    EXPECT_GT(refused, 0U);
    EXPECT_GT(opened, 0U);  // letters and keys are left to checksums
}

// Every instruction set finds what the exact search does, even if keys of four bytes cannot distinguish pages, words
// exceed the fast paths and codes run out.
// A file that is cut while it is mapped reads as zeros.
TEST(dictionary, ends_where_its_bytes_are_lost) {
    std::vector<std::string> words;
    for (int i = 10'000; i < 12'000; ++i) words.push_back(std::to_string(i));
    std::string bytes = build(words);
    const auto view = dictionary_view::open(bytes);
    ASSERT_TRUE(view.has_value());
    std::ranges::fill(bytes, '\0');
    EXPECT_EQ(dictionary_view::walker(*view, 0).next(), std::nullopt);
}

TEST(dictionary, finds_hard_words) {
    std::mt19937_64 random(1);
    std::set<std::string> words;
    const auto letters = [&](std::size_t count, unsigned of) {
        std::string out;
        for (; count > 0; --count) out += static_cast<char>(of > 200 ? random() % 256 : 'a' + random() % of);
        return out;
    };
    for (int i = 0; i < 3000; ++i) {
        words.insert(letters(random() % 12, 2));
        words.insert("https://example.org/" + letters(random() % 40, 3));
        words.insert("sha" + letters(64, 16));
        words.insert(letters(random() % 20, 256));
        words.insert(std::string(random() % 300, 'w') + letters(2, 26));
        words.insert(letters(110 + random() % 30, 26));
    }
    const std::vector<std::string> sorted(words.begin(), words.end());
    std::vector<std::string> requested;
    for (const std::string& word : sorted) {
        requested.push_back(word + 'a');
        requested.push_back(word.substr(0, word.size() / 2));
        requested.push_back(letters(word.size(), 3));
    }
    check(sorted, requested);
}

TEST(dictionary, adapts_its_codes_to_ranges_of_words) {
    // More than one table of symbols, taken out in parts, which make the same bytes.
    std::vector<std::string> words;
    for (std::uint32_t i = 0; i < 600'000; ++i) {
        words.push_back((i < 300'000 ? "latin" : "\xD0\xBA\xD0\xB8\xD1\x80") +
                        std::to_string(1'000'000 + i * 7));
    }
    dictionary_builder parts;
    std::string pages;
    for (const std::string& word : words) {
        parts.append(word);
        if (parts.size() % 70'000 == 0) pages += parts.take_blocks();
    }
    parts.end();
    EXPECT_THROW(parts.append("\xFF"), std::logic_error);
    pages += parts.take_blocks();
    const std::string bytes = parts.finish() + pages;
    ASSERT_TRUE(bytes == build(words));
    const auto view = dictionary_view::open(bytes);
    ASSERT_TRUE(view.has_value());
    dictionary_view::walker walk(*view, 0);
    for (std::uint32_t id = 0; id < words.size(); ++id) {
        ASSERT_EQ(walk.next(), words[id]);
        ASSERT_EQ(view->find(words[id]), id);
        ASSERT_EQ(view->find(words[id] + "0"), std::nullopt);
        ASSERT_EQ(view->word(id), words[id]);
        if (id % 997 == 0) {
            ASSERT_EQ(dictionary_view::walker(*view, id).next(), words[id]);
        }
    }
    EXPECT_EQ(walk.next(), std::nullopt);
}

}  // namespace
}  // namespace quern::text::dictionary_test
