// SPDX-License-Identifier: Apache-2.0
// A text that is cut has the words and sentences of the whole.
#include "text/text_cuts.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::text::text_cuts_test {
namespace {

/// The words, with "|" where a sentence ends; dropped words are "".
void append(std::vector<std::string>& to, const token_list& list, bool ends_sentence) {
    std::size_t sentence = 0;
    for (std::size_t i = 0; i < list.tokens.size(); ++i) {
        to.emplace_back(list.word(list.tokens[i]));
        if (i + 1 != list.sentence_ends[sentence]) continue;
        ++sentence;
        if (i + 1 != list.tokens.size() || ends_sentence) to.emplace_back("|");
    }
}

void expect_the_same(const std::string& text, const text_options& options, std::size_t bytes) {
    analyzer words(options);
    token_list list;
    const auto analyze = [&](std::string_view part) {
        words.analyze(part, list, boundaries::sentences_and_paragraphs, dropped_words::keep_place);
    };
    std::vector<std::string> whole, parts;
    analyze(text);
    append(whole, list, true);
    for (std::size_t from = 0; from < text.size();) {
        const text_cut cut = cut_text(text, from, bytes, options.tokens);
        ASSERT_GT(cut.at, from);
        analyze(std::string_view(text).substr(from, cut.at - from));
        ASSERT_TRUE(cut.ends_sentence || !list.tokens.empty());
        append(parts, list, cut.ends_sentence);
        from = cut.at;
    }
    EXPECT_EQ(parts, whole) << bytes << " of " << text;
}

TEST(text_cuts, parts_have_the_words_and_sentences_of_the_whole) {
    const std::string_view parts[] = {"a",
                                      "B",
                                      "can",
                                      "the",
                                      " ",
                                      " ",
                                      " ",
                                      " ",
                                      "  ",
                                      ".",
                                      "?",
                                      ". ",
                                      ".\" ",
                                      "\n",
                                      "\r\n",
                                      "\n\n",
                                      "7",
                                      "1.",
                                      "(",
                                      ")",
                                      "'",
                                      ",",
                                      ": ",
                                      "_",
                                      "\xC3\xA4",
                                      "-",
                                      "\xCC\x81",
                                      "\t",
                                      "\xC2\xA0",
                                      "\xC2\x85",
                                      "\xE2\x80\xA9",
                                      ";",
                                      "...",
                                      "\xF0\x9F\x91\xA9",
                                      "\xE6\xBC\xA2",
                                      "\xE0\xB8\xAA\xE0\xB8\xA7",
                                      "\xE2\x80\x8D",
                                      "\xD0\x96",
                                      "\xE3\x80\x82",
                                      "\xFF"};
    std::mt19937_64 random(1);
    for (const std::string language : {"auto", "el", "sv", "th", "zh-Hans"}) {
        for (int round = 0; round < 300; ++round) {
            text_options options;
            options.language = language;
            options.tokens = static_cast<token_rule>(random() % std::size(token_rule_names));
            if (language == "auto" && random() % 2 == 0) options.min_length = 2;
            std::string text;
            for (std::size_t length = random() % 60; length > 0; --length)
                text += parts[random() % std::size(parts)];
            expect_the_same(text, options, 1 + random() % 20);
        }
    }
}

TEST(text_cuts, a_sentence_that_goes_on_has_a_word) {
    analyzer words(text_options{});
    token_list list;
    for (char32_t c = 1; c < 0x30000; ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        std::string text = ". ";
        append_utf8(c, text);
        text += " a";
        if (cut_text(text, 0, text.size() - 1).ends_sentence) continue;
        words.analyze(std::string_view(text).substr(0, text.size() - 1), list);
        EXPECT_GE(list.tokens.size(), 1U) << std::hex << static_cast<unsigned>(c);
    }
}

TEST(text_cuts, places) {
    const auto cut = [](std::string_view text, std::size_t from, std::size_t bytes) {
        const text_cut c = cut_text(text, from, bytes);
        return std::pair(c.at, c.ends_sentence);
    };
    EXPECT_EQ(cut("ab cd", 0, 5), std::pair(std::size_t{5}, true));
    EXPECT_EQ(cut("ab cd ef", 0, 7), std::pair(std::size_t{6}, false));
    EXPECT_EQ(cut("ab cd\nef gh", 0, 9), std::pair(std::size_t{6}, true));  // a line, though a blank follows
    EXPECT_EQ(cut("ab. cd 1 e, f", 0, 6), std::pair(std::size_t{13}, true));  // none is certain
    EXPECT_EQ(cut("abcdef. g h", 0, 4), std::pair(std::size_t{10}, false));
}

}  // namespace
}  // namespace quern::text::text_cuts_test
