// SPDX-License-Identifier: Apache-2.0
// The parts of a text where words may be, against the analysis of the whole text.
#include "text/word_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "quern/text/analyzer.hpp"

namespace quern::text::word_places_test {
namespace {

using occurrence = std::tuple<std::string, std::size_t, std::size_t>;

/// Occurrences of sorted words in a part of a text that begins at `begin`.
void append(analyzer& words_of, std::string_view part, std::size_t begin,
            const std::vector<std::string>& words, std::vector<occurrence>& found) {
    token_list list;
    words_of.analyze(part, list);
    for (const token& t : list.tokens) {
        const std::string word(list.word(t));
        if (std::ranges::binary_search(words, word))
            found.emplace_back(word, begin + t.source_begin, begin + t.source_end);
    }
}

std::size_t expect_same(const text_options& options, std::string_view text, std::vector<std::string> words) {
    std::ranges::sort(words);
    analyzer words_of(options);
    std::vector<occurrence> expected, found;
    append(words_of, text, 0, words, expected);
    word_places places(words);
    std::size_t bytes = 0, end = 0;
    for (const auto& part : places.find(text)) {
        EXPECT_LE(end, part.begin);
        EXPECT_LT(part.begin, part.end);
        end = part.end;
        bytes += part.end - part.begin;
        append(words_of, text.substr(part.begin, part.end - part.begin), part.begin, words, found);
    }
    EXPECT_LE(end, text.size());
    EXPECT_EQ(found, expected) << text;
    return bytes;
}

TEST(word_places_test, parts_have_every_occurrence) {
    const std::vector<std::string> fragments{"mill",
                                             "MILL",
                                             "Mill",
                                             "corn",
                                             "Corn",
                                             "a",
                                             "A",
                                             "don't",
                                             "Don'T",
                                             "3.14",
                                             "12",
                                             "256",
                                             "i_am",
                                             "x@y",
                                             "http://mill.corn/a",
                                             " ",
                                             " ",
                                             " ",
                                             " ",
                                             "\n",
                                             "\t",
                                             "-",
                                             "(",
                                             ")",
                                             "\"",
                                             "'",
                                             ".",
                                             ",",
                                             ":",
                                             ";",
                                             "_",
                                             "@",
                                             "#",
                                             "*",
                                             "/",
                                             "\r\n",
                                             std::string("\0", 1),
                                             "\u00e9",
                                             "caf\u00e9",
                                             "\u00ad",
                                             "mi\u00adll",
                                             "\uff4d\uff49\uff4c\uff4c",
                                             "\u212a",
                                             "\u017f",
                                             "\u202f",
                                             "12\u202f256",
                                             "\u2019",
                                             "don\u2019t",
                                             "\u05d0",
                                             "\u05d0\"\u05d1",
                                             "\u05d0'",
                                             "\u6f22\u5b57",
                                             "\u30ab\u30bf\u30ab\u30ca",
                                             "\u0e01\u0e02\u0e04",
                                             "\u0301",
                                             "e\u0301",
                                             "\u200d",
                                             "\u2060",
                                             "\U0001f468\u200d\U0001f469",
                                             "\ufdfa",
                                             "\xff",
                                             "\xc3",
                                             "\xe2\x80",
                                             "\u3000",
                                             "\u00a0",
                                             "\ufb01",
                                             "\u0130"};
    std::mt19937_64 random(5);
    for (const char* language : {"auto", "en", "de", "fi", "sv", "ja", "he"}) {
        text_options options;
        options.language = language;
        ASSERT_TRUE(word_places::can_recognise(options)) << language;
        for (int round = 0; round < 400; ++round) {
            std::string text;
            const std::size_t parts = random() % 120;
            for (std::size_t i = 0; i < parts; ++i) {
                text += fragments[random() % fragments.size()];
                if (random() % 2 == 0) text += ' ';
            }
            std::vector<std::string> words{"mill", "a",         "256",  "don't",
                                           "3.14", "caf\u00e9", "i_am", "\u6f22\u5b57"};
            analyzer words_of(options);
            token_list list;
            words_of.analyze(text, list);
            for (int i = 0; i < 4 && !list.tokens.empty(); ++i)
                words.emplace_back(list.word(list.tokens[random() % list.tokens.size()]));
            std::ranges::shuffle(words, random);
            words.resize(1 + random() % words.size());
            expect_same(options, text, words);
            if (::testing::Test::HasFailure()) return;
        }
    }
}

TEST(word_places_test, at_every_offset_of_a_block) {
    for (std::size_t before = 0; before < 200; ++before) {
        const std::string text = std::string(before, '-') + "Corn" + std::string(before % 7, ' ') + "mill";
        expect_same({}, text, {"corn", "mill"});
        expect_same({}, text + ".", {"corn", "mill"});
        expect_same({}, text + std::string(100, 'x'), {"corn", "mill"});
    }
    const std::string longest(70, 'w');
    expect_same({}, longest + " " + longest + "x " + longest, {longest});
    expect_same({}, "", {"corn"});
    expect_same({}, "corn", {});
}

TEST(word_places_test, unrelated_text_is_excluded) {
    std::string text;
    for (int i = 0; i < 2000; ++i)
        text += i % 100 == 50 ? "The corn, of course. " : "Some other words of a text. ";
    EXPECT_LT(expect_same({}, text, {"corn"}), text.size() / 10);
    EXPECT_EQ(expect_same({}, text, {"salt"}), 0u);
}

TEST(word_places_test, other_rules_are_not_recognised) {
    text_options options;
    options.stem = stemmer::porter;
    EXPECT_FALSE(word_places::can_recognise(options));
    options = {};
    options.tokens = token_rule::letters;
    EXPECT_FALSE(word_places::can_recognise(options));
}

}  // namespace
}  // namespace quern::text::word_places_test
