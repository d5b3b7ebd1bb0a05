// SPDX-License-Identifier: Apache-2.0
// Repeated lines, paragraphs and substrings against a slow version that compares everything with everything, for texts of
// few letters, any bytes, any threads, pieces, memory, and hashes of few bits.
#include "quern/ops/repeated_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "ops/repeated_text/compared_parts.hpp"
#include "quern/base/error.hpp"
#include "reference/repeated_text_reference.hpp"

namespace quern::repeated_text_test {

void PrintTo(const repeated_span& span, std::ostream* out) {
    *out << "[" << span.begin << ", " << span.end << ") of " << span.text << " from " << span.first;
}

namespace {

using repeated_text_detail::find_spans;
using repeated_text_detail::tuning;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

struct corpus {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};

    explicit corpus(std::span<const std::string> texts) {
        for (const std::string& text : texts) {
            bytes += text;
            offsets.push_back(bytes.size());
        }
    }
    text_list list() const { return {bytes, offsets}; }
};

std::vector<repeated_span> spans_of(const std::vector<std::string>& texts,
                                    const repeated_text_options& options, std::uint32_t first_new = 0,
                                    const tuning& tuned = {}, const context& ctx = context::cpu(2)) {
    const corpus all(texts);
    return find_spans(all.list(), first_new, options, tuned, ctx).spans;
}

/// Against the slow version, with everything on which results must not depend.
void expect_as_reference(const std::vector<std::string>& texts, const repeated_text_options& options,
                         std::uint32_t first_new = 0) {
    const std::vector<repeated_span> expected = reference::repeated_text(texts, first_new, options);
    for (const unsigned threads : {1U, 2U, 8U}) {
        for (const tuning& tuned : {tuning{}, tuning{.piece_bytes = 7}, tuning{.hash_bits = 3},
                                    tuning{.hash_bits = 9, .piece_bytes = 64}, tuning{.has_firsts = false},
                                    tuning{.piece_bytes = 50, .has_firsts = false}}) {
            EXPECT_THAT(spans_of(texts, options, first_new, tuned, context::cpu(threads)),
                        ElementsAreArray(expected))
                << threads << " threads, " << tuned.hash_bits << " bits, pieces of " << tuned.piece_bytes
                << " bytes, at least " << options.min_length << ", part " << static_cast<int>(options.part);
        }
    }
}

std::vector<std::string> random_texts(std::mt19937_64& random, std::span<const std::string> letters,
                                      std::size_t count, std::size_t max_length) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
        std::string text;
        for (std::size_t length = random() % (max_length + 1); length > 0; --length)
            text += letters[random() % letters.size()];
        if (i > 0 && random() % 3 == 0) {  // a piece of an earlier one
            const std::string& other = texts[random() % i];
            const std::size_t begin = random() % (other.size() + 1);
            text.insert(random() % (text.size() + 1), other.substr(begin, random() % (other.size() + 1)));
        }
        texts.push_back(text);
    }
    return texts;
}

TEST(repeated_text_test, substrings_of_few_letters_are_those_of_the_slow_version) {
    std::mt19937_64 random(1);
    const std::vector<std::string> two{"a", "b"}, wide{"a", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"},
        any{"a", "\x80", "\xC3", "\xFF", "\xE2\x82"};
    for (int round = 0; round < 12; ++round) {
        for (const auto& letters : {two, wide, any}) {
            const auto texts = random_texts(random, letters, 6, 40);
            for (const std::uint32_t length : {1U, 2U, 5U, 9U, 12U, 30U, 200U})
                expect_as_reference(texts, {text_part::substring, length},
                                    static_cast<std::uint32_t>(random() % 3));
        }
    }
}

TEST(repeated_text_test, substrings_of_sentences_are_those_of_the_slow_version) {
    std::mt19937_64 random(2);
    const std::vector<std::string> words{"the ",   "mill ",           "stands ", "by ", "a ",
                                         "river ", "im M\xC3\xA4rz ", ". ",      "\n"};
    for (const std::uint32_t length : {10U, 25U, 50U, 80U, 150U}) {
        const auto texts = random_texts(random, words, 12, 60);
        expect_as_reference(texts, {text_part::substring, length});
        expect_as_reference(texts, {text_part::substring, length}, 4);
    }
}

TEST(repeated_text_test, lines_and_paragraphs_are_those_of_the_slow_version) {
    std::mt19937_64 random(3);
    const std::vector<std::string> pieces{"a",  "b",  "\n",           "\r\n",     "\n\n", " ",
                                          "\t", "\r", "\xE2\x80\xA8", "\xC3\xA4", "\xFF", "cc"};
    for (int round = 0; round < 60; ++round) {
        const auto texts = random_texts(random, pieces, 8, 30);
        for (const text_part part : {text_part::line, text_part::paragraph})
            for (const std::uint32_t length : {1U, 2U, 4U})
                expect_as_reference(texts, {part, length}, static_cast<std::uint32_t>(random() % 3));
    }
}

TEST(repeated_text_test, a_text_that_repeats_itself) {
    const std::string page = "A page with a long footer: all rights reserved, terms of use, contact. ";
    std::string pages;
    for (int i = 0; i < 40; ++i) pages += page;
    for (const std::string& text : {std::string(3000, 'x'), pages}) {
        for (const std::uint32_t length : {1U, 2U, 50U, 71U, 600U}) {
            const std::uint64_t period = text[0] == 'x' ? 1 : page.size();
            const std::vector<std::string> texts{text, "", text, "other"};
            const auto spans = spans_of(texts, {text_part::substring, length});
            if (length >= 50) {
                EXPECT_THAT(spans, ElementsAre(repeated_span{period, text.size(), 0, 0},
                                               repeated_span{0, text.size(), 2, 0}));
            }
            expect_as_reference(texts, {text_part::substring, length});
        }
    }
}

TEST(repeated_text_test, equal_texts_and_ends_of_texts) {
    const std::string text = "abcdefghijklmnopqrstuvwxyz0123456789";
    expect_as_reference({text, text, text}, {text_part::substring, 36});
    EXPECT_THAT(spans_of({text, text}, {text_part::substring, 37}), IsEmpty());
    // A substring lies within one text.
    EXPECT_THAT(spans_of({text.substr(0, 20), text.substr(20), text}, {text_part::substring, 20}),
                ElementsAre(repeated_span{0, 20, 2, 0}));
    EXPECT_THAT(
        spans_of({text, "--" + text.substr(26), text.substr(0, 10) + "--"}, {text_part::substring, 10}),
        ElementsAre(repeated_span{2, 12, 1, 0}, repeated_span{0, 10, 2, 0}));
    // Touching spans are one, but not of two texts.
    EXPECT_THAT(spans_of({"0123456789", "abcdefghij", "0123456789abcdefghij", "0123456789"},
                         {text_part::substring, 10}),
                ElementsAre(repeated_span{0, 20, 2, 0}, repeated_span{0, 10, 3, 0}));
    EXPECT_THAT(spans_of({}, {}), IsEmpty());
    EXPECT_THAT(spans_of({"", ""}, {}), IsEmpty());
}

TEST(repeated_text_test, what_is_cut_with_a_line) {
    const repeated_text_options lines{text_part::line, 3};
    EXPECT_THAT(spans_of({"one\ntwo\n", "two\r\nrest\n"}, lines), ElementsAre(repeated_span{0, 5, 1, 0}));
    EXPECT_THAT(spans_of({"one\ntwo\n", "rest\r\n two "}, lines), ElementsAre(repeated_span{4, 11, 1, 0}));
    EXPECT_THAT(spans_of({"one\ntwo\n", "rest\none\ntwo\n"}, lines),
                ElementsAre(repeated_span{4, 8, 1, 0}, repeated_span{8, 12, 1, 0}));
    EXPECT_THAT(spans_of({"one\ntwo\n", "one\ntwo\n"}, lines),
                ElementsAre(repeated_span{0, 3, 1, 0}, repeated_span{3, 7, 1, 0}));
    EXPECT_THAT(spans_of({"on\non\n"}, lines), IsEmpty());
    // U+2028 and a lone \r end no line.
    EXPECT_THAT(spans_of({"one\xE2\x80\xA8two", "one", "two\rone"}, lines), IsEmpty());
}

TEST(repeated_text_test, what_is_cut_with_a_paragraph) {
    const repeated_text_options paragraphs{text_part::paragraph, 3};
    EXPECT_THAT(spans_of({"one\ntwo\n\n\nrest", "one\r\ntwo\n\nmore\n"}, paragraphs), IsEmpty());
    EXPECT_THAT(spans_of({"one\ntwo\n\n\nrest", "one\ntwo\n \t\n\nmore\n"}, paragraphs),
                ElementsAre(repeated_span{0, 12, 1, 0}));
    EXPECT_THAT(spans_of({"one\n\nrest", "more\n\n one\n"}, paragraphs),
                ElementsAre(repeated_span{4, 10, 1, 0}));
}

/// Much text and little memory: several runs of every sort.
TEST(repeated_text_test, more_than_memory_holds) {
    std::mt19937_64 random(4);
    std::vector<std::string> texts;
    for (int i = 0; i < 600; ++i) {
        std::string text;
        if (i % 3 == 2) {
            text = texts[random() % texts.size()].substr(0, 5000);
        } else {
            while (text.size() < 8000) text += static_cast<char>('a' + random() % 26);
        }
        texts.push_back(text);
    }
    const corpus all(texts);
    for (const repeated_text_options& options :
         {repeated_text_options{text_part::substring, 8}, repeated_text_options{text_part::substring, 50}}) {
        const auto expected = find_spans(all.list(), 0, options, {}, context::cpu(2));
        context small = context::cpu(3);
        small.memory_bytes = std::uint64_t{24} << 20;
        const auto found = find_spans(all.list(), 0, options, {}, small);
        EXPECT_EQ(found.spans, expected.spans);
        EXPECT_GE(found.spans.size(), 200U);
        if (options.min_length == 8) {
            EXPECT_GT(found.counts.spilled, 0U);
        }
    }
}

TEST(repeated_text_test, refuses_lengths_out_of_range) {
    EXPECT_THROW(spans_of({"a"}, {text_part::line, 0}), usage_error);
    EXPECT_THROW(spans_of({"a"}, {text_part::line, max_part_length + 1}), usage_error);
    EXPECT_THROW(spans_of({"a"}, {}, 2), usage_error);
}

TEST(repeated_text_test, stops_on_request) {
    const std::atomic<int> stop = 2;
    context ctx = context::cpu(2);
    ctx.stop_signal = &stop;
    for (const text_part part : {text_part::paragraph, text_part::line, text_part::substring})
        EXPECT_THROW(spans_of({std::string(1000, 'a')}, {part, 5}, 0, {}, ctx), interrupted);
}

}  // namespace
}  // namespace quern::repeated_text_test
