// SPDX-License-Identifier: Apache-2.0
// The nearest word boundaries against ICU over the whole text.
#include "text/word_boundaries.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "text/unicode_words.hpp"

namespace quern::text::word_boundaries_test {
namespace {

void expect_nearest(const std::string& text) {
    std::set<std::size_t> boundaries{0, text.size()};
    icu_boundaries(break_rules::kind::words, icu::Locale::getRoot())
        .divide(text, 0, text.size(), [&](std::size_t, std::size_t end, bool) { boundaries.insert(end); });
    word_boundaries nearest;
    nearest.begin_text(text);
    for (std::size_t at = 0; at <= text.size(); ++at) {
        EXPECT_EQ(nearest.from(at), *boundaries.lower_bound(at)) << at << " of " << text;
        EXPECT_EQ(nearest.up_to(at), *std::prev(boundaries.upper_bound(at))) << at << " of " << text;
    }
}

TEST(word_boundaries, are_those_of_the_whole_text) {
    for (const char* text : {"", "a", "can't stop", "one\ntwo\r\nthree\n\n", "\n", "3.14, 1,000",
                             "\xE6\xBC\xA2\xE5\xAD\x97\xE3\x81\xAE and", "im M\xC3\xA4rz",
                             "\xE0\xB8\xAA\xE0\xB8\xA7\xE0\xB8\xB1\xE0\xB8\xAA\xE0\xB8\x94\xE0\xB8\xB5"})
        expect_nearest(text);
    std::mt19937_64 random(1);
    const std::string parts[] = {"a",
                                 "b",
                                 "'",
                                 ".",
                                 " ",
                                 "\n",
                                 "\r\n",
                                 "7",
                                 "\xC3\xA4",
                                 "\xE6\xBC\xA2",
                                 "\xE2\x80\x8D",
                                 "\xF0\x9F\x91\xA9"};
    for (int round = 0; round < 300; ++round) {
        std::string text;
        for (std::size_t length = random() % 30; length > 0; --length)
            text += parts[random() % std::size(parts)];
        expect_nearest(text);
    }
}

}  // namespace
}  // namespace quern::text::word_boundaries_test
