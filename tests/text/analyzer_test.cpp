// SPDX-License-Identifier: Apache-2.0
// Which words a text yields: golden cases by language, options, and refused input.
#include "quern/text/analyzer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "quern/base/error.hpp"

namespace quern::text::analyzer_test {
namespace {

using ::testing::ElementsAre;
using words = std::vector<std::string>;

words analyzed(std::string_view text, const text_options& options = {}) {
    analyzer a(options);
    token_list list;
    a.analyze(text, list);
    words out;
    for (const token& t : list.tokens) out.emplace_back(list.word(t));
    return out;
}

TEST(analyzer, finds_english_words) {
    EXPECT_THAT(analyzed("The U.S.A. can't pay $3.14 or 1,000 for a_b, and that's-it."),
                ElementsAre("the", "u.s.a", "can't", "pay", "3.14", "or", "1,000", "for", "a_b", "and",
                            "that's", "it"));
    EXPECT_THAT(analyzed(""), ElementsAre());
    EXPECT_THAT(analyzed("!?. \n\t--"), ElementsAre());
}

TEST(analyzer, folds_case_and_compatibility_forms) {
    EXPECT_THAT(analyzed("Straße STRASSE ÄÖÜ äöü ﬁne Ｆｕｌｌ ①"),
                ElementsAre("strasse", "strasse", "äöü", "äöü", "fine", "full"));
    EXPECT_THAT(analyzed("e\xCC\x81t\xC3\xA9 co\xC2\xADoperate"), ElementsAre("été", "cooperate"));
}

TEST(analyzer, gives_the_source_of_each_word) {
    analyzer a(text_options{});
    token_list list;
    a.analyze("  Größe x", list);
    ASSERT_EQ(list.tokens.size(), 2U);
    EXPECT_EQ(list.tokens[0].source_begin, 2U);
    EXPECT_EQ(list.tokens[0].source_end, 9U);
    EXPECT_EQ(list.word(list.tokens[0]), "grösse");
    EXPECT_EQ(list.tokens[1].source_begin, 10U);
}

TEST(analyzer, finds_words_of_many_languages) {
    EXPECT_THAT(analyzed("我喜欢学习中文。"), ElementsAre("我", "喜欢", "学习", "中文"));
    EXPECT_THAT(analyzed("日本語を勉強します"), ElementsAre("日本語", "を", "勉強", "し", "ます"));
    EXPECT_THAT(analyzed("สวัสดีครับ"), ElementsAre("สวัสดี", "ครับ"));
    EXPECT_THAT(analyzed("나는 한국어를 공부합니다."), ElementsAre("나는", "한국어를", "공부합니다"));
    EXPECT_THAT(analyzed("السلام عليكم، كيف حالك؟"), ElementsAre("السلام", "عليكم", "كيف", "حالك"));
    EXPECT_THAT(analyzed("मैं हिन्दी सीख रहा हूँ।"), ElementsAre("मैं", "हिन्दी", "सीख", "रहा", "हूँ"));
}

TEST(analyzer, splits_at_ill_formed_bytes) {
    EXPECT_THAT(analyzed("ab\xFF"
                         "cd \xC3 \xE2\x82 ef\xED\xA0\x80gh"),
                ElementsAre("ab", "cd", "ef", "gh"));
}

TEST(analyzer, follows_the_plain_rules) {
    text_options options;
    options.tokens = token_rule::ascii;
    EXPECT_THAT(analyzed("It's x86_64, Größe 3.14", options),
                ElementsAre("it", "s", "x86", "64", "gr", "e", "3", "14"));
    options.tokens = token_rule::letters;
    EXPECT_THAT(analyzed("It's x86_64, Größe 3.14", options), ElementsAre("it", "s", "x", "gr", "e"));
}

TEST(analyzer, drops_short_words_by_code_points) {
    text_options options;
    options.min_length = 3;
    EXPECT_THAT(analyzed("a ab abc öö ööö 中文 日本語", options), ElementsAre("abc", "ööö", "日本語"));
}

TEST(analyzer, drops_stop_words_before_it_stems) {
    text_options options;
    options.stop_words = "en";
    options.stem = stemmer::porter;
    EXPECT_THAT(analyzed("The relational databases were not running, don’t you see", options),
                ElementsAre("relat", "databas", "run", "see"));
}

TEST(analyzer, reads_a_stop_word_file_as_it_reads_text) {
    const auto path = std::filesystem::path(::testing::TempDir()) / "quern_stop_words.txt";
    std::ofstream(path) << "# comment\nSTRASSE\r\n\n  the  \n";
    text_options options;
    options.stop_words = path.string();
    EXPECT_THAT(analyzed("The Straße strasse there # comment", options), ElementsAre("there", "comment"));
    std::filesystem::remove(path);
    EXPECT_THROW(analyzer{options}, usage_error);
    options.stop_words = ::testing::TempDir();
    EXPECT_THROW(analyzer{options}, usage_error);
}

TEST(analyzer, refuses_unknown_languages) {
    for (const char* language : {"", "xx", "english", "not a language"}) {
        text_options options;
        options.language = language;
        EXPECT_THROW(analyzer{options}, usage_error) << language;
    }
}

TEST(analyzer, marks_sentences_and_paragraphs) {
    analyzer a(text_options{});
    token_list list;
    a.analyze("Dr. Who came. He left! No words: ...\n\nNext paragraph here\n \nlast", list,
              boundaries::sentences_and_paragraphs);
    EXPECT_THAT(list.sentence_ends, ElementsAre(1U, 3U, 5U, 7U, 10U, 11U));
    EXPECT_THAT(list.paragraph_ends, ElementsAre(7U, 10U, 11U));
    a.analyze("x", list);
    EXPECT_TRUE(list.sentence_ends.empty());
    a.analyze("...", list, boundaries::sentences_and_paragraphs);
    EXPECT_TRUE(list.sentence_ends.empty());
}

TEST(analyzer, marks_paragraphs_alone) {
    analyzer a(text_options{});
    token_list list;
    constexpr std::string_view text = "Dr. Who came.\nHe left!\n\nNext paragraph here\n \nlast\n";
    a.analyze(text, list, boundaries::paragraphs);
    EXPECT_THAT(list.sentence_ends, ElementsAre());
    EXPECT_THAT(list.paragraph_ends, ElementsAre(5U, 8U, 9U));
    a.analyze(text, list, boundaries::line_paragraphs);
    EXPECT_THAT(list.sentence_ends, ElementsAre());
    EXPECT_THAT(list.paragraph_ends, ElementsAre(3U, 5U, 8U, 9U));
    a.analyze("one line", list, boundaries::line_paragraphs);
    EXPECT_THAT(list.paragraph_ends, ElementsAre(2U));
}

TEST(analyzer, keeps_the_places_of_dropped_words) {
    text_options options;
    options.stop_words = "en";
    options.min_length = 4;
    analyzer a(options);
    token_list list;
    a.analyze("I have a black cat. The end", list, boundaries::sentences_and_paragraphs,
              dropped_words::keep_place);
    std::vector<std::string> kept;
    for (const token& t : list.tokens) kept.emplace_back(list.word(t));
    EXPECT_THAT(kept, ElementsAre("", "", "", "black", "", "", ""));
    EXPECT_THAT(list.sentence_ends, ElementsAre(5U, 7U));
    EXPECT_EQ(list.tokens[6].source_begin, 24U);
    a.analyze("I have a black cat. The end", list, boundaries::sentences_and_paragraphs);
    EXPECT_EQ(list.tokens.size(), 1U);
    EXPECT_THAT(list.sentence_ends, ElementsAre(1U));
}

TEST(analyzer, takes_lines_verbatim) {
    token_list list;
    analyzer::take_lines("One\r\n\ntwo Words\n\xFF\nlast", list);
    ASSERT_EQ(list.tokens.size(), 4U);
    EXPECT_EQ(list.word(list.tokens[0]), "One");
    EXPECT_EQ(list.word(list.tokens[1]), "two Words");
    EXPECT_EQ(list.word(list.tokens[2]), "\xFF");
    EXPECT_EQ(list.word(list.tokens[3]), "last");
    EXPECT_EQ(list.tokens[3].source_begin, 18U);
}

using placed_words = std::vector<std::tuple<std::string, std::uint32_t, std::uint32_t>>;

void append(const token_list& list, placed_words& to) {
    for (const token& t : list.tokens) to.emplace_back(list.word(t), t.source_begin, t.source_end);
}

TEST(analyzer, finds_the_same_words_in_pieces) {
    std::string text;
    for (int i = 0; text.size() < (std::size_t{3} << 18); ++i) {
        text += "Word" + std::to_string(i) + (i % 7 == 0 ? ", " : " \u0441\u043B\u043E\u0432\u043E ");
        if (i % 5000 == 0) text += std::string(300'000, 'x');
        if (i % 9000 == 1) {
            for (int k = 0; k < 200'000; ++k) text += "\uFDFA";
        }
    }
    for (const token_rule rule :
         {token_rule::unicode, token_rule::ascii, token_rule::letters, token_rule::blanks}) {
        text_options options;
        options.tokens = rule;
        options.min_length = 3;
        analyzer a(options);
        placed_words whole, in_pieces;
        token_list list;
        a.analyze(text, list);
        append(list, whole);
        a.analyze_in_pieces(text, list, [&](const token_list& piece) { append(piece, in_pieces); });
        EXPECT_EQ(in_pieces, whole);
    }
}

TEST(analyzer, a_piece_of_words_stays_small_whatever_they_become) {
    std::string text;
    for (int k = 0; k < 3'000'000; ++k) text += "\uFDFA";
    analyzer a{text_options{}};
    token_list list;
    std::size_t words_found = 0, largest = 0;
    a.analyze_in_pieces(text, list, [&](const token_list& piece) {
        words_found += piece.tokens.size();
        largest = std::max(largest, piece.words.capacity() + sizeof(token) * piece.tokens.capacity());
    });
    EXPECT_EQ(words_found, 9'000'001U);  // the fourth of one joins the first of the next
    EXPECT_LT(largest, std::size_t{20} << 20);

    list.max_bytes = 1 << 20;
    EXPECT_THROW(a.analyze_in_pieces(std::string(3 << 20, 'x'), list, [](const token_list&) {}),
                 out_of_memory);
}

}  // namespace
}  // namespace quern::text::analyzer_test
