// SPDX-License-Identifier: Apache-2.0
#include "primitives/dictionary/text_to_ids.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <set>

#include "on_each_place.hpp"
#include "primitives/dictionary/front_coding.hpp"
#include "primitives/dictionary/packed_writer.hpp"
#include "quern/base/error.hpp"
#include "reference/dictionary_reference.hpp"

namespace quern::dictionary_test {
namespace {

using ::testing::HasSubstr;

/// Searched words, one after another with other bytes between, so that the byte after a word is never its end.
struct queried_words {
    std::vector<std::uint8_t> text;
    std::vector<std::uint32_t> begins, ends;

    explicit queried_words(const std::vector<std::string>& words) {
        for (const std::string& word : words) {
            begins.push_back(static_cast<std::uint32_t>(text.size()));
            for (const char c : word) text.push_back(static_cast<std::uint8_t>(c));
            ends.push_back(static_cast<std::uint32_t>(text.size()));
            if (words.size() % 2 == 0) text.push_back('z');
        }
    }
};

std::vector<std::string> sorted(const std::set<std::string>& words) {
    return {words.begin(), words.end()};
}

/// Short words over a few letters, including NUL and 255: dense, with prefixes of each other.
std::set<std::string> dense_words(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::string letters("\0ab\xff", 4);
    std::set<std::string> words;
    while (words.size() < count) {
        std::string word;
        for (std::size_t left = random() % 14; left > 0; --left) word += letters[random() % letters.size()];
        words.insert(word);
    }
    return words;
}

/// Words with long common beginnings: eight bytes distinguish few of them.
std::set<std::string> alike_words(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::set<std::string> words;
    while (words.size() < count) {
        words.insert(std::string(random() % 3 * 20, 'q') + "prefixes" +
                     std::to_string(random() % (4 * count)));
    }
    return words;
}

std::string in_pages(const std::vector<std::string>& words) {
    primitives::packed_writer writer;
    for (const std::string& word : words) writer.append(word);
    writer.end();
    return writer.tables() + writer.take_pages();
}

template <class Tested>
class dictionary_test : public on_place<Tested> {
  protected:
    using place_type = typename on_place<Tested>::place_type;

    /// The arrays of a device's list. On the CPU the same words in pages, where `wide` has no effect.
    std::vector<std::uint32_t> found(const std::vector<std::string>& words,
                                     const reference::coded_list& coded, bool wide,
                                     const queried_words& queried) {
        const auto text = this->array(queried.text, beginning::one_off);
        const auto begins = this->array(queried.begins), ends = this->array(queried.ends);
        const auto ids = this->template output<std::uint32_t>(queried.begins.size());
        if constexpr (std::is_same_v<place_type, cpu_place>) {
            const std::string bytes = in_pages(words);
            const auto list = primitives::packed_dictionary::open(bytes);
            EXPECT_TRUE(list.has_value());
            primitives::find_words(this->place(), *list, text.view(), begins.view(), ends.view(), ids.span());
        } else {
            const auto keys = this->array(coded.keys);
            const auto offsets = this->array(coded.offsets);
            const auto wide_offsets = this->array(coded.wide_offsets);
            const auto blocks = this->array(coded.blocks);
            const auto size = static_cast<std::uint32_t>(words.size());
            primitives::word_list<place_type> list{keys.view(), {}, {}, blocks.view(), size};
            if (wide) list.wide_offsets = wide_offsets.view();
            if (!wide) list.offsets = offsets.view();
            primitives::find_words(this->place(), list, text.view(), begins.view(), ends.view(), ids.span());
            this->place().synchronise();
        }
        return ids.host();
    }

    void finds(const std::set<std::string>& in_list, std::uint64_t seed) {
        const std::vector<std::string> words = sorted(in_list);
        std::vector<std::string> queried = words;
        for (const std::string& word : words) {
            queried.push_back(word + "a");
            queried.push_back(word.substr(0, word.size() / 2));
            if (!word.empty()) queried.push_back(word.substr(0, word.size() - 1) + char(word.back() + 1));
        }
        queried.insert(queried.end(), {"", std::string(1, '\0'), std::string(9, '\xff'), "zz"});
        std::shuffle(queried.begin(), queried.end(), std::mt19937_64(seed));
        std::vector<std::uint32_t> expected;
        for (const std::string& word : queried) expected.push_back(reference::rank_or_size(words, word));
        const reference::coded_list coded = reference::code(words);
        for (const bool wide : {false, true}) {
            ASSERT_EQ(found(words, coded, wide, queried_words(queried)), expected)
                << words.size() << " words, seed " << seed;
        }
    }

    reference::tokenized as_reference(const std::vector<std::uint8_t>& text,
                                      const primitives::tokenized_text<place_type>& tokenized) {
        const auto begins = to_host(this->place(), tokenized.begins.span()),
                   ends = to_host(this->place(), tokenized.ends.span());
        EXPECT_EQ(begins.size(), ends.size());
        std::vector<std::uint8_t> letters = to_host(this->place(), tokenized.letters.span());
        if (letters.empty()) letters = text;
        reference::tokenized out;
        for (std::size_t i = 0; i < begins.size(); ++i) {
            out.words.emplace_back(begins[i],
                                   std::string(letters.begin() + begins[i], letters.begin() + ends[i]));
        }
        out.document_offsets = to_host(this->place(), tokenized.document_offsets.span());
        return out;
    }

    void expect_lines(const std::string& text) {
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        const auto placed = this->array(bytes, beginning::one_off);
        const auto tokenized = primitives::tokenize_lines(this->place(), placed.view());
        ASSERT_EQ(as_reference(bytes, tokenized), reference::tokenize_lines(text))
            << ::testing::PrintToString(text.substr(0, 300));
    }

    void expect_runs(const std::string& text, const std::vector<std::uint64_t>& documents) {
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        const auto placed = this->array(bytes, beginning::one_off);
        const auto offsets = this->array(documents);
        for (const auto what : {primitives::run_of::letters_and_digits, primitives::run_of::letters}) {
            const bool digits = what == primitives::run_of::letters_and_digits;
            const auto tokenized =
                primitives::tokenize_runs(this->place(), placed.view(), offsets.view(), what);
            ASSERT_EQ(as_reference(bytes, tokenized), reference::tokenize_runs(text, documents, digits))
                << ::testing::PrintToString(text.substr(0, 300)) << ::testing::PrintToString(documents);
        }
    }
};
TYPED_TEST_SUITE(dictionary_test, tested_places, tested_place_names);

TYPED_TEST(dictionary_test, finds_words_of_lists_of_every_size) {
    for (const std::size_t size : {1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 271, 272, 273, 4097}) {
        this->finds(dense_words(size, size), size);
        this->finds(alike_words(size, size), size);
    }
}

TYPED_TEST(dictionary_test, finds_words_of_any_length) {
    std::set<std::string> words = {"", "a", std::string(10'000, 'x'), std::string(10'000, 'x') + "y"};
    for (std::size_t length = 1; length < 600; length += 13) words.insert(std::string(length, 'l') + "w");
    this->finds(words, 1);
}

TYPED_TEST(dictionary_test, finds_nothing_in_an_empty_list) {
    const reference::coded_list none = reference::code({});
    EXPECT_EQ(this->found({}, none, false, queried_words({"", "a"})), (std::vector<std::uint32_t>{0, 0}));
    EXPECT_TRUE(this->found({}, none, false, queried_words({})).empty());
}

TYPED_TEST(dictionary_test, finds_words_of_a_large_list) {
    this->finds(alike_words(large_size() / 40, 3), 3);
    this->finds(dense_words(large_size() / 40, 4), 4);
}

// For any contents of the blocks, ids are ranks of the list or its size, and nothing is read or written elsewhere. (Pages
// of the CPU are checked when they are opened: tests/text/dictionary_test.cpp.)
TYPED_TEST(dictionary_test, never_follows_damaged_blocks) {
    if (std::is_same_v<typename TestFixture::place_type, cpu_place>) return;
    std::mt19937_64 random(5);
    std::set<std::string> many = alike_words(300, 5);
    many.insert(std::string(300, 'q'));
    const std::vector<std::string> words = sorted(many);
    const reference::coded_list whole = reference::code(words);
    const queried_words queried(words);
    for (int round = 0; round < (tested_with().small_sizes ? 10 : 200); ++round) {
        reference::coded_list damaged = whole;
        for (int i = 0; i < 20; ++i) {
            damaged.blocks[random() % damaged.blocks.size()] =
                static_cast<std::uint8_t>(random() % 2 ? 255 : random());
        }
        for (const std::uint32_t id : this->found(words, damaged, false, queried)) {
            ASSERT_LE(id, words.size());
        }
    }
}

// The devices' form is made from the dictionary when it is copied there.
TEST(front_coder, writes_the_form_of_the_reference) {
    for (const std::size_t size : {0, 1, 15, 16, 17, 33, 4097}) {
        for (const std::set<std::string>& set : {dense_words(size, size), alike_words(size, size)}) {
            std::vector<std::string> words = sorted(set);
            words.push_back(std::string(9, '\xff') + std::string(400, 'l'));
            primitives::front_coder coder;
            for (const std::string& word : words) coder.append(word);
            const primitives::front_coded made = coder.finish();
            const reference::coded_list expected = reference::code(words);
            ASSERT_EQ(made.keys, expected.keys);
            ASSERT_EQ(made.offsets, expected.offsets);
            ASSERT_TRUE(made.wide_offsets.empty());
            ASSERT_EQ(made.blocks, expected.blocks);
        }
    }
}

TYPED_TEST(dictionary_test, cuts_texts_of_lines) {
    for (const char* text :
         {"", "\n", "\r\n", "\r", "a", "a\n", "\na", "a\nb", "a\n\nb", "a\r\n\r\nb\r", "\n\n\na\n\n\n",
          "a\r\r\nb", "\r\r", "\ra\r\n\n\rb", " \n a\tb \n\n", "a\n\r\n\nb\n\r"}) {
        this->expect_lines(text);
    }
    std::mt19937_64 random(6);
    for (int round = 0; round < (tested_with().small_sizes ? 20 : 300); ++round) {
        std::string text;
        for (std::size_t left = random() % 300; left > 0; --left) text += "\n\n\r\rab"[random() % 6];
        this->expect_lines(text);
    }
    std::string text;
    while (text.size() < large_size()) {
        text += std::string(random() % 12, static_cast<char>('a' + random() % 26)) +
                (random() % 9 ? "\n" : "\r\n\n");
        if (random() % 5000 == 0) text += std::string(300'000, random() % 2 ? '\n' : 'l');
    }
    this->expect_lines(text);
}

TYPED_TEST(dictionary_test, cuts_texts_into_runs) {
    this->expect_runs("", {});
    this->expect_runs("", {0});
    this->expect_runs("", {0, 0, 0});
    this->expect_runs("aB9z", {0, 4});
    this->expect_runs("aB9z", {0, 0, 1, 2, 2, 2, 3, 4, 4});
    this->expect_runs("/09:@AZ[`az{\x80\xe4", {0, 14});
    std::mt19937_64 random(7);
    for (int round = 0; round < (tested_with().small_sizes ? 20 : 300); ++round) {
        std::string text;
        for (std::size_t left = random() % 300; left > 0; --left) text += "  aBz09\xc3\x84."[random() % 10];
        std::vector<std::uint64_t> documents = {0, text.size()};
        for (std::size_t left = random() % 9; left > 0; --left)
            documents.push_back(random() % (text.size() + 1));
        std::sort(documents.begin(), documents.end());
        this->expect_runs(text, documents);
    }
    std::string text;
    std::vector<std::uint64_t> documents = {0};
    while (text.size() < large_size()) {
        text +=
            std::string(random() % 12, static_cast<char>('A' + random() % 50)) + (random() % 4 ? " " : "7");
        if (random() % 100 == 0) documents.push_back(text.size());
        if (random() % 5000 == 0) text += std::string(300'000, random() % 2 ? ' ' : 'l');
    }
    documents.push_back(text.size());
    this->expect_runs(text, documents);
}

TYPED_TEST(dictionary_test, refuses_what_does_not_fit) {
    const auto text = this->array(std::vector<std::uint8_t>(5, 'a'));
    const auto offsets = this->array(std::vector<std::uint64_t>{0, 3, 2, 5});
    try {
        primitives::tokenize_runs(this->place(), text.view(), offsets.view(), primitives::run_of::letters);
        FAIL() << "offsets that fall were taken";
    } catch (const invalid_value& e) {
        EXPECT_THAT(e.what(), HasSubstr("segment 1"));
    }
    const auto short_offsets = this->array(std::vector<std::uint64_t>{0, 3});
    EXPECT_THROW(primitives::tokenize_runs(this->place(), text.view(), short_offsets.view(),
                                           primitives::run_of::letters),
                 invalid_value);
    const auto words = this->array(std::vector<std::uint32_t>{0, 1});
    const auto ids = this->template output<std::uint32_t>(1);
    const std::conditional_t<std::is_same_v<typename TestFixture::place_type, cpu_place>,
                             primitives::packed_dictionary,
                             primitives::word_list<typename TestFixture::place_type>>
        none;
    EXPECT_THROW(
        primitives::find_words(this->place(), none, text.view(), words.view(), words.view(), ids.span()),
        usage_error);
}

TYPED_TEST(dictionary_test, refuses_words_outside_the_text) {
    if constexpr (std::is_same_v<typename TestFixture::place_type, cpu_place>) {
        queried_words queried({"word0", "word1"});
        queried.ends.back() = static_cast<std::uint32_t>(queried.text.size() + 1);
        EXPECT_THROW(this->found({"word0"}, {}, false, queried), usage_error);
    }
}

}  // namespace
}  // namespace quern::dictionary_test
