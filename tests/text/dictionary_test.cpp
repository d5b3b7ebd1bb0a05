// SPDX-License-Identifier: Apache-2.0
// The dictionary against a sorted vector of strings, and against bytes made to hurt it.
#include "text/dictionary.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>

namespace quern::text {
namespace {

std::string build(const std::vector<std::string>& sorted) {
    dictionary_builder builder;
    for (const std::string& word : sorted) builder.append(word);
    EXPECT_EQ(builder.size(), sorted.size());
    std::string bytes = builder.finish();
    EXPECT_EQ(builder.size(), 0U);
    return bytes;
}

/// Every call that can be made of the view, against the words themselves.
void expect_same(const dictionary_view& view, const std::vector<std::string>& sorted,
                 const std::vector<std::string>& asked) {
    ASSERT_EQ(view.size(), sorted.size());
    for (std::uint32_t id = 0; id < sorted.size(); ++id) {
        ASSERT_EQ(view.word(id), sorted[id]);
        ASSERT_EQ(view.find(sorted[id]), id);
    }
    for (const std::string& word : asked) {
        const auto at = std::lower_bound(sorted.begin(), sorted.end(), word);
        const bool known = at != sorted.end() && *at == word;
        ASSERT_EQ(view.find(word).has_value(), known) << word;
        const auto first = static_cast<std::uint32_t>(at - sorted.begin());
        std::uint32_t last = first;
        while (last < sorted.size() && sorted[last].starts_with(word)) ++last;
        ASSERT_EQ(view.with_prefix(word), std::make_pair(first, last)) << word;
    }
}

void check(const std::vector<std::string>& sorted, const std::vector<std::string>& asked) {
    const std::string bytes = build(sorted);
    const auto view = dictionary_view::open(bytes);
    ASSERT_TRUE(view.has_value());
    expect_same(*view, sorted, asked);
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
    std::vector<std::string> asked = words;
    for (const std::string& word : words) asked.push_back(word + "q");
    check(words, asked);
}

TEST(dictionary, tells_apart_many_words_with_one_long_prefix) {
    std::vector<std::string> words;
    for (int i = 0; i < 1000; ++i) words.push_back("the same beginning " + std::to_string(10000 + i));
    std::vector<std::string> asked = words;
    for (const std::string& word : words) asked.push_back(word.substr(0, word.size() - 1));
    asked.insert(asked.end(), {"the same", "the same beginning", "the same beginning 2", "the samf"});
    check(words, asked);
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
    // Few letters, so that prefixes are shared and neighbours asked for.
    const auto letters = rc::gen::element('a', 'b', '\0', '\xFF', 'c');
    const auto word = rc::gen::container<std::string>(letters);
    const auto set = *rc::gen::container<std::set<std::string>>(word);
    const auto asked = *rc::gen::container<std::vector<std::string>>(word);
    check({set.begin(), set.end()}, asked);
}

/// A copy at the end of an allocation of its own, where the address sanitizer sees every byte read beyond.
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

TEST(dictionary, refuses_sizes_and_offsets_that_do_not_add_up) {
    const std::string good = build(numbered(40));
    const auto changed = [&](std::size_t at, std::uint32_t value) {
        std::string bad = good;
        std::memcpy(bad.data() + at, &value, 4);
        return dictionary_view::open(bad).has_value();
    };
    EXPECT_TRUE(changed(0, 40));
    EXPECT_FALSE(changed(0, 0));
    EXPECT_FALSE(changed(0, 0xFFFFFFFFU));
    EXPECT_FALSE(changed(0, 100));
    EXPECT_FALSE(changed(4, 8));
    EXPECT_FALSE(changed(4, 0));
    EXPECT_FALSE(changed(8, 0xFFFFFFFFU));
    const std::size_t offsets = 16 + 3 * 8;
    EXPECT_FALSE(changed(offsets, 1));
    EXPECT_FALSE(changed(offsets + 4, 0));
    EXPECT_FALSE(changed(offsets + 4, 0xFFFFFFFFU));
    EXPECT_FALSE(changed(offsets + 12, 3));
}

}  // namespace
}  // namespace quern::text
