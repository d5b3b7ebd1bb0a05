// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/snippet.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace quern::snippet_test {
namespace {

using search_detail::is_common, search_detail::weight_in_passages;

using weights = std::map<std::string, std::uint32_t>;

std::string weighed_snippet_of(std::string_view text, const weights& wanted, std::size_t max_bytes,
                               const std::vector<std::vector<std::string>>& phrases = {}) {
    text::analyzer analyzer{text_options{}};
    text::token_list words;
    analyzer.analyze(text, words);
    std::vector<std::string> sought;
    std::vector<std::uint32_t> numbers;
    for (const auto& [word, weight] : wanted) {
        sought.push_back(word);
        numbers.push_back(weight);
    }
    numbers.resize(numbers.size() + phrases.size(), 1);
    return snippet(text, words, {sought, phrases, numbers}, max_bytes);
}

std::string snippet_of(std::string_view text, const std::vector<std::string>& wanted, std::size_t max_bytes,
                       const std::vector<std::vector<std::string>>& phrases = {}) {
    weights words;
    for (const std::string& word : wanted) words.emplace(word, 1);
    return weighed_snippet_of(text, words, max_bytes, phrases);
}

TEST(snippet_test, short_text_is_whole) {
    EXPECT_EQ(snippet_of("One  two\n\nthree. ", {"two"}, 100), "One two three.");
}

TEST(snippet_test, empty_text) {
    EXPECT_EQ(snippet_of("", {"a"}, 100), "");
}

TEST(snippet_test, beginning_without_matches) {
    EXPECT_EQ(snippet_of("alpha beta gamma delta epsilon", {"omega"}, 12), "alpha beta …");
}

TEST(snippet_test, prefers_different_words_to_many) {
    const std::string filler(400, '.');
    const std::string text = "cat cat cat cat " + filler + " a cat and a dog here " + filler + " dog";
    const std::string found = snippet_of(text, {"cat", "dog"}, 60);
    EXPECT_NE(found.find("a cat and a dog"), std::string::npos) << found;
    EXPECT_TRUE(found.starts_with("… ")) << found;
    EXPECT_TRUE(found.ends_with(" …")) << found;
}

TEST(snippet_test, prefers_a_rare_word_to_several_common_ones) {
    const std::string filler(400, '.');
    const std::string text = "what is the use of it " + filler + " relativity here";
    EXPECT_NE(weighed_snippet_of(text, weights{{"is", 1}, {"of", 1}, {"relativity", 9}, {"the", 1}}, 60)
                  .find("relativity"),
              std::string::npos);
    EXPECT_TRUE(weighed_snippet_of(text, weights{{"is", 3}, {"of", 3}, {"relativity", 5}, {"the", 3}}, 60)
                    .starts_with("what is"));
}

TEST(snippet_test, prefers_words_that_stand_together) {
    const std::string filler(400, '.');
    const std::string text = "a theory theory, and theory for many others, not on relativity " + filler +
                             " theory of relativity " + filler + " relativity theory";
    EXPECT_NE(snippet_of(text, {"theory", "relativity"}, 80).find("theory of relativity"), std::string::npos);
    // The first of several, if they are otherwise equal.
    const std::string again = filler + " red relativity theory " + filler + " blue relativity theory";
    EXPECT_NE(snippet_of(again, {"theory", "relativity"}, 80).find("red"), std::string::npos);
}

TEST(snippet_test, compares_ranges_by_the_weight_of_all_their_matches) {
    const std::string filler(400, '.');
    const std::string text = "one cat " + filler + " cat and cat " + filler + " cat or cat";
    EXPECT_NE(snippet_of(text, {"cat"}, 40).find("cat and cat"), std::string::npos);
}

TEST(snippet_test, rare_words_weigh_more) {
    EXPECT_EQ(weight_in_passages(1000, 1000), 1U);
    EXPECT_EQ(weight_in_passages(1000, 0), 1U);
    EXPECT_EQ(weight_in_passages(1000, 500), 4U);  // 1 + 4 ln 2, rounded
    EXPECT_EQ(weight_in_passages(1000, 1), 29U);   // 1 + 4 ln 1000
    EXPECT_FALSE(is_common(4, 3));
    EXPECT_TRUE(is_common(4, 4));
    EXPECT_FALSE(is_common(1000, 750));
    EXPECT_TRUE(is_common(1000, 751));
}

TEST(snippet_test, shows_the_phrase) {
    const std::string filler(400, '.');
    const std::string text =
        "A dog and a cat. Cat, dog: a cat. " + filler + " the Cat Dog here " + filler + " dog";
    EXPECT_NE(snippet_of(text, {}, 60, {{"cat", "dog"}}).find("Cat, dog"), std::string::npos);
    EXPECT_NE(snippet_of(text, {}, 60, {{"dog", "here"}}).find("the Cat Dog here"), std::string::npos);
    EXPECT_NE(snippet_of(text, {"here"}, 60, {{"cat", "dog"}}).find("Cat Dog here"), std::string::npos);
    EXPECT_NE(
        snippet_of(text, {"the"}, 60, {{"cat", "dog", "here"}, {"dog", "here"}}).find("the Cat Dog here"),
        std::string::npos);
    EXPECT_TRUE(snippet_of(text, {}, 60, {{"dog", "cat", "bird"}}).starts_with("A dog and"));
    EXPECT_EQ(snippet_of("one two three four", {"two"}, 8, {{"one", "two", "three"}}), "one two three …");
}

TEST(snippet_test, pieces_end_where_words_do) {
    EXPECT_EQ(first_piece("one two\nthree", 20), 13U);
    EXPECT_EQ(first_piece("one two\nthree", 13), 13U);
    EXPECT_EQ(first_piece("one two\nthree", 12), 8U);
    EXPECT_EQ(first_piece("one two\nthree", 8), 8U);
    EXPECT_EQ(first_piece("one two\nthree", 7), 4U);
    EXPECT_EQ(first_piece("one two\nthree", 2), 2U);
    EXPECT_EQ(first_piece("漢字漢字", 7), 6U);
    EXPECT_EQ(first_piece("漢字漢字", 1), 1U);  // always advances
    EXPECT_EQ(first_piece("\x80\x80\x80\x80\x80\x80\x80\x80", 6), 3U);
    EXPECT_EQ(first_piece("", 5), 0U);
}

RC_GTEST_PROP(snippet_test, is_the_same_from_pieces, ()) {
    const auto line = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("cat", "dog", "the", "Dog.", "\n", "bird\n", "é", "漢字"));
    std::string text;
    for (const std::string& word : line) text += word + " ";
    const std::size_t max = *rc::gen::inRange<std::size_t>(8, 60);
    const std::vector<std::string> wanted{"bird", "cat"};
    const std::vector<std::uint32_t> alike{1, 1};
    snippet_finder finder({wanted, {}, alike});
    text::analyzer analyzer{text_options{}};
    text::token_list words;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::string_view rest = std::string_view(text).substr(begin);
        const std::size_t bytes = first_piece(rest, max);
        RC_ASSERT(bytes > 0U && bytes <= max);
        analyzer.analyze(rest.substr(0, bytes), words);
        finder.look_through(words, begin);
        begin += bytes;
    }
    RC_ASSERT(finder.passage(text, 40) == snippet_of(text, wanted, 40));
}

TEST(snippet_test, cuts_a_match_much_longer_than_the_passage) {
    const std::string blob(300'000, 'a');  // such as a picture in base64
    EXPECT_EQ(snippet_of("see " + blob + " here", {blob}, 240), "… " + blob.substr(0, 480) + " …");
    std::vector<std::string> phrase;
    std::string text = "the";
    for (int i = 0; i < 100; ++i) text += ' ' + phrase.emplace_back("word" + std::to_string(i));
    for (std::size_t max = 1; max < 300; ++max)
        EXPECT_LE(snippet_of(text, {}, max, {phrase}).size(), 2 * max + 50) << max;
}

TEST(snippet_test, cuts_between_characters_without_spaces) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "漢字";
    const std::string found = snippet_of(text, {}, 50);
    EXPECT_TRUE(found.ends_with(" …"));
    EXPECT_EQ((found.size() - std::string(" …").size()) % 3, 0U) << found;
}

RC_GTEST_PROP(snippet_test, is_one_line_of_bounded_length,
              (const std::string& text, const std::vector<std::string>& wanted)) {
    const std::string found = snippet_of(text, wanted, 40);
    RC_ASSERT(found.find('\n') == std::string::npos);
    RC_ASSERT(found.size() <= 40 + 2 * std::string(" …").size() + 40);
}

}  // namespace
}  // namespace quern::snippet_test
