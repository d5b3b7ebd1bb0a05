// SPDX-License-Identifier: Apache-2.0
// Words without accents: examples of each rule, and properties over all characters.
#include "text/folding.hpp"

#include <gtest/gtest.h>

#include "base/utf8.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::text::folding_test {
namespace {

std::string folded(std::string_view word) {
    accent_folder folder;
    return std::string(folder.fold(word));
}

TEST(folding_test, rules) {
    struct example {
        std::string_view word, form;
    };
    constexpr example examples[] = {
        {"cafe", "cafe"},
        {"café", "cafe"},
        {"naïve", "naive"},
        {"ångström", "angstrom"},
        {"smørrebrød", "smorrebrod"},
        {"łódź", "lodz"},
        {"æther", "aether"},
        {"œuvre", "oeuvre"},
        {"þór", "thor"},
        {"ðæl", "dael"},
        {"đorđe", "dorde"},
        {"ħal", "hal"},
        {"ısı", "isi"},
        {"ŧahko", "tahko"},
        {"việt", "viet"},
        {"ἄνθρωποσ", "ανθρωποσ"},
        {"ёлка", "елка"},
        {"война", "война"},
        {"київ", "київ"},
        {"ко\u0301шка", "кошка"},
        {"ќе", "ќе"},
        {"\u05E9\u05C1\u05B8\u05DC\u05D5\u05B9\u05DD", "\u05E9\u05DC\u05D5\u05DD"},
        {"\u0645\u064F\u062D\u064E\u0645\u064E\u0651\u062F", "\u0645\u062D\u0645\u062F"},
        {"\u0623\u0628", "\u0627\u0628"},
        {"हिन्दी", "हिन्दी"},
        {"ภาษา", "ภาษา"},
        {"がぎ", "がぎ"},
        {"한국어", "한국어"},
        {"\u0301", "\u0301"},
        {"\u0640", "\u0640"},
    };
    for (const auto& [word, form] : examples) {
        EXPECT_EQ(folded(word), form);
        EXPECT_EQ(folded(form), form) << "again";
    }
}

TEST(folding_test, is_idempotent_and_never_empty) {
    accent_folder folder;
    for (char32_t c = 0x80; c < 0x30000; ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        for (const char32_t after : {U'\0', U'\u0301', U'\u0308'}) {
            std::string word = "a";
            append_utf8(c, word);
            if (after != 0) append_utf8(after, word);
            const std::string once(folder.fold(word));
            ASSERT_FALSE(once.empty());
            ASSERT_EQ(folder.fold(once), once) << std::hex << static_cast<unsigned>(c);
        }
    }
}

TEST(folding_test, words_keep_their_places_in_the_text) {
    text_options options;
    options.fold = folding::accents;
    analyzer analysis(options);
    token_list list;
    const std::string text = "Café STRASSE straße, Ærø";
    analysis.analyze(text, list);
    ASSERT_EQ(list.tokens.size(), 4U);
    EXPECT_EQ(list.word(list.tokens[0]), "cafe");
    EXPECT_EQ(list.word(list.tokens[1]), list.word(list.tokens[2]));
    EXPECT_EQ(list.word(list.tokens[3]), "aero");
    EXPECT_EQ(text.substr(list.tokens[0].source_begin, list.tokens[0].source_end), "Café");
    options.stop_words = "fr";
    options.stem = stemmer::french;
    analyzer french(options);
    french.analyze("même meme élèves eleves", list);
    ASSERT_EQ(list.tokens.size(), 2U) << "stop words are folded, too";
    EXPECT_EQ(list.word(list.tokens[0]), list.word(list.tokens[1])) << "folded before they are stemmed";
}

}  // namespace
}  // namespace quern::text::folding_test
