// SPDX-License-Identifier: Apache-2.0
// Stop-word sets and lists, cached and fresh stems, and passages after words are dropped.
#include "text/word_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libstemmer.h>

#include <random>
#include <set>

#include "quern/base/error.hpp"
#include "text/stop_words.hpp"

namespace quern::text::word_filter_test {
namespace {

token_list list_of(const std::vector<std::string>& words) {
    token_list list;
    std::uint32_t source = 0;
    for (const std::string& word : words) {
        const auto begin = static_cast<std::uint32_t>(list.words.size());
        list.words += word;
        list.tokens.push_back({begin, static_cast<std::uint32_t>(list.words.size()), source, source + 1});
        source += 2;
    }
    return list;
}

std::vector<std::string> words_in(const token_list& list) {
    std::vector<std::string> words;
    for (const token& t : list.tokens) words.emplace_back(list.word(t));
    return words;
}

TEST(word_set, holds_exactly_what_was_put_in) {
    std::mt19937 random(1);
    word_set set;
    std::set<std::string> truth;
    EXPECT_FALSE(set.contains(""));
    EXPECT_FALSE(set.contains("a"));
    for (int i = 0; i < 3000; ++i) {
        std::string word(random() % 5 == 0 ? random() % 100 : random() % 4, 'a');
        for (char& c : word) c = static_cast<char>('a' + random() % 3);
        EXPECT_EQ(set.contains(word), truth.contains(word)) << word;
        if (i % 2 == 0) {
            set.insert(word);
            truth.insert(word);
        }
    }
    EXPECT_EQ(set.size(), truth.size());
    for (const std::string& word : truth) EXPECT_TRUE(set.contains(word)) << word;
}

TEST(word_filter, stems_as_the_stemmer_does_however_often_called) {
    text_options options;
    options.stem = stemmer::porter;
    word_filter filter(options, {});
    sb_stemmer* truth = sb_stemmer_new("porter", "UTF_8");
    std::mt19937 random(2);
    std::vector<std::string> words, expected;
    const char* endings[] = {"", "s", "ing", "ed", "ational", "ization", "fulness", "y", "ies", "ement"};
    for (int i = 0; i < 60000; ++i) {  // more distinct words than the cache holds
        std::string word;
        for (std::size_t n = random() % (i % 100 == 0 ? 80 : 4); n > 0; --n)
            word += "aeioubcdmpstö"[random() % 12];
        word += endings[random() % 10];
        if (word.empty()) continue;
        words.push_back(word);
        if (word.size() < 3) {
            expected.push_back(word);
            continue;
        }
        const sb_symbol* stem = sb_stemmer_stem(truth, reinterpret_cast<const sb_symbol*>(word.data()),
                                                static_cast<int>(word.size()));
        expected.emplace_back(reinterpret_cast<const char*>(stem),
                              static_cast<std::size_t>(sb_stemmer_length(truth)));
    }
    sb_stemmer_delete(truth);
    token_list list = list_of(words);
    filter.apply(list);
    EXPECT_EQ(words_in(list), expected);
}

TEST(word_filter, stems_no_word_of_one_or_two_letters) {
    text_options options;
    options.stem = stemmer::porter;
    word_filter filter(options, {});
    const std::vector<std::string> words = {"s", "as", "us", "is", "ed", "y", "ös", "éé", "漢字"};
    token_list list = list_of(words);
    filter.apply(list);
    EXPECT_EQ(words_in(list), words);
}

TEST(word_filter, moves_the_ends_of_passages) {
    word_set stop;
    stop.insert("x");
    word_filter filter(text_options{}, stop);
    token_list list = list_of({"a", "x", "x", "x", "b", "x"});
    list.sentence_ends = {2, 3, 4, 6};
    list.paragraph_ends = {3, 6};
    filter.apply(list);
    EXPECT_THAT(words_in(list), ::testing::ElementsAre("a", "b"));
    EXPECT_EQ(list.tokens[1].source_begin, 8U);
    EXPECT_THAT(list.sentence_ends, ::testing::ElementsAre(1U, 2U));
    EXPECT_THAT(list.paragraph_ends, ::testing::ElementsAre(1U, 2U));
    list = list_of({"x", "x"});
    list.sentence_ends = {1, 2};
    filter.apply(list);
    EXPECT_TRUE(list.tokens.empty());
    EXPECT_TRUE(list.words.empty());
    EXPECT_TRUE(list.sentence_ends.empty());
}

TEST(stop_words, come_in_lists_without_repeats) {
    for (const std::string_view name :
         {"de", "en", "es", "fr", "it", "ja", "lucene", "nl", "pt", "ru", "sv", "zh"}) {
        const std::vector<std::string> words = read_stop_words(std::string(name));
        EXPECT_GE(words.size(), name == "lucene" ? 33U : 100U) << name;
        std::set<std::string> seen;
        for (const std::string& word : words) EXPECT_TRUE(seen.insert(word).second) << name << ": " << word;
    }
    EXPECT_EQ(read_stop_words("lucene").size(), 33U);
    EXPECT_TRUE(read_stop_words("none").empty());
    EXPECT_THROW(read_stop_words("klingon"), usage_error);
    EXPECT_THROW(read_stop_words(""), usage_error);
}

TEST(stop_words, leave_what_a_sentence_is_about) {
    const auto left = [](const char* language, std::string_view text) {
        text_options options;
        options.language = options.stop_words = language;
        analyzer a(options);
        token_list list;
        a.analyze(text, list);
        return words_in(list);
    };
    using ::testing::ElementsAre;
    EXPECT_THAT(left("de", "Der Hund ist nicht in das Haus gegangen"),
                ElementsAre("hund", "haus", "gegangen"));
    EXPECT_THAT(left("fr", "Les enfants sont allés à la plage"), ElementsAre("enfants", "allés", "plage"));
    EXPECT_THAT(left("es", "El perro no está en la casa"), ElementsAre("perro", "casa"));
    EXPECT_THAT(left("it", "Il gatto non è sul tavolo"), ElementsAre("gatto", "tavolo"));
    EXPECT_THAT(left("nl", "De kat zit niet op het dak"), ElementsAre("kat", "zit", "dak"));
    EXPECT_THAT(left("pt", "O menino não está na escola"), ElementsAre("menino", "escola"));
    EXPECT_THAT(left("ru", "Он не был в Москве"), ElementsAre("москве"));
    EXPECT_THAT(left("sv", "Hunden är inte i huset"), ElementsAre("hunden", "huset"));
    EXPECT_THAT(left("zh", "我们的学校在北京"), ElementsAre("学校", "北京"));
    EXPECT_THAT(left("ja", "私は学校に行きました"), ElementsAre("学校", "行き"));
}

}  // namespace
}  // namespace quern::text::word_filter_test
