// SPDX-License-Identifier: Apache-2.0
// Simplified and traditional Chinese joined: examples, properties over all ideographs, and what stays as it is.
#include "text/chinese_scripts.hpp"

#include <gtest/gtest.h>
#include <unicode/locid.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "quern/text/analyzer.hpp"
#include "text/unicode_words.hpp"

namespace quern::text::chinese_scripts_test {
namespace {

using words = std::vector<std::string>;

words words_of(std::string_view text, const std::string& language, folding fold = folding::none) {
    text_options options;
    options.language = language;
    options.fold = fold;
    analyzer a(options);
    token_list list;
    a.analyze(text, list);
    words out;
    for (const token& t : list.tokens) out.emplace_back(list.word(t));
    return out;
}

std::string joined(std::string_view word, script_joiner::script script) {
    script_joiner joiner(script);
    token_list list;
    list.words = word;
    list.tokens.push_back({0, static_cast<std::uint32_t>(word.size()), 0, 0});
    joiner.join(list);
    return std::string(list.word(list.tokens[0]));
}

TEST(chinese_scripts, both_become_the_requested_one) {
    using enum script_joiner::script;
    struct example {
        std::string_view traditional, simplified;
    };
    for (const auto& [traditional_form, simplified_form] :
         {example{"電影", "电影"}, example{"臺灣", "台湾"}, example{"頭髮", "头发"}, example{"音樂", "音乐"},
          example{"資訊", "资讯"}, example{"後面", "后面"}, example{"山水", "山水"}}) {
        EXPECT_EQ(joined(traditional_form, simplified), simplified_form);
        EXPECT_EQ(joined(simplified_form, simplified), simplified_form);
        EXPECT_EQ(joined(traditional_form, traditional), joined(simplified_form, traditional));
    }
    EXPECT_EQ(joined("电影", traditional), "電影");
}

TEST(chinese_scripts, a_character_has_one_form_and_keeps_it) {
    for (const auto script : {script_joiner::script::simplified, script_joiner::script::traditional}) {
        std::size_t changed = 0;
        for (char32_t c = 0x3000; c < 0xB000; ++c) {
            std::string word;
            append_utf8(c, word);
            const std::string once = joined(word, script);
            ASSERT_EQ(joined(once, script), once) << word;
            ASSERT_EQ(once.size(), word.size()) << word;
            changed += once != word;
        }
        EXPECT_GT(changed, 2000U);
    }
}

TEST(chinese_scripts, other_words_are_not_joined) {
    using enum script_joiner::script;
    for (const std::string_view word : {"俱乐部", "摔跤"}) EXPECT_EQ(joined(word, simplified), word);
}

TEST(chinese_scripts, join_a_text_in_place) {
    const script_joiner simplify(script_joiner::script::simplified);
    for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
             {"", ""},
             {"Café 電影, 한국어 タワー", "Café 电影, 한국어 タワー"},
             {"\xE9\x9B 電\xE9", "\xE9\x9B 电\xE9"}}) {
        std::string joined_text = text;
        simplify.join(joined_text);
        EXPECT_EQ(joined_text, expected);
    }
}

/// ICU's dictionary has some words in one script only.
TEST(chinese_scripts, have_the_same_words) {
    for (const auto& [traditional, simplified, expected] :
         std::vector<std::tuple<std::string_view, std::string_view, words>>{
             {"參觀了故宮博物館", "参观了故宫博物馆", {"参观", "了", "故宫", "博物馆"}},
             {"委員會的科學家", "委员会的科学家", {"委员会", "的", "科学家"}},
             {"電視劇, 圖書館", "电视剧, 图书馆", {"电视剧", "图书馆"}},
             {"足球俱樂部", "足球俱乐部", {"足球", "俱乐部"}},
             {"消防員", "消防员", {"消防员"}},
             {"準備 計劃", "准备 计划", {"准备", "计划"}}}) {
        EXPECT_EQ(words_of(traditional, "zh-Hans"), expected);
        EXPECT_EQ(words_of(simplified, "zh-Hans"), expected);
        EXPECT_EQ(words_of(traditional, "zh-Hant"), words_of(simplified, "zh-Hant"));
    }
    EXPECT_EQ(words_of("参观了故宫博物馆", "zh"), (words{"参观", "了", "故宫", "博物", "馆"}));
}

struct place {
    std::string word;
    std::uint32_t begin, end;
    bool operator==(const place&) const = default;
};

void append(const token_list& list, std::vector<place>& to) {
    for (const token& t : list.tokens)
        to.push_back({std::string(list.word(t)), t.source_begin, t.source_end});
}

std::string random_text(std::mt19937& random, std::size_t characters) {
    constexpr std::u32string_view others = U"a7 .,\n'タスかé한";
    constexpr std::u32string_view usual = U"中国國大学學会會员員电電视視剧劇馆館图圖书書人民日本后後面里发發";
    std::string text;
    for (std::size_t i = 0; i < characters; ++i) {
        const std::uint32_t kind = random() % 8;
        if (kind == 0) {
            append_utf8(others[random() % others.size()], text);
        } else if (kind == 1) {
            append_utf8(static_cast<char32_t>(0x4E00 + random() % 0x51A6), text);
        } else {
            append_utf8(usual[random() % usual.size()], text);
        }
    }
    return text;
}

TEST(chinese_scripts, words_do_not_depend_on_the_path_the_script_or_pieces) {
    const icu::Locale locale("zh", "Hans");
    const auto how = unicode_words::chinese::in_both_scripts;
    unicode_words best(locale, word_path::best, how), by_rules(locale, word_path::rules, how),
        by_icu(locale, word_path::icu, how);
    const script_joiner simplify(script_joiner::script::simplified),
        lengthen(script_joiner::script::traditional);
    std::mt19937 random(7);
    for (const std::size_t size : {0, 1, 2, 3, 31, 32, 33, 255, 257, 4097, 9000}) {
        const std::string text = random_text(random, size);
        std::vector<place> expected;
        token_list list;
        best.find(text, list);
        append(list, expected);
        EXPECT_EQ(expected.empty(), std::ranges::none_of(text, [](char c) { return c < 0; }) &&
                                        text.find_first_of("a7") == std::string::npos);
        std::string simplified = text, traditional = text;
        simplify.join(simplified);
        lengthen.join(traditional);
        for (const std::string& form : {text, simplified, traditional}) {
            for (unicode_words* finder : {&best, &by_rules, &by_icu}) {
                token_list found;
                finder->find(form, found);
                ASSERT_EQ(found.tokens.size(), expected.size());
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    ASSERT_EQ(found.tokens[i].source_begin, expected[i].begin);
                    ASSERT_EQ(found.tokens[i].source_end, expected[i].end);
                }
            }
        }
    }
    text_options options;
    options.language = "zh-Hans";
    analyzer a(options);
    const std::string text = random_text(random, 200'000);
    token_list list;
    std::vector<place> whole, in_pieces;
    a.analyze(text, list);
    append(list, whole);
    a.analyze_in_pieces(text, list, [&](const token_list& piece) { append(piece, in_pieces); });
    EXPECT_TRUE(in_pieces == whole);
    EXPECT_GT(whole.size(), 50'000U);
}

TEST(chinese_scripts, are_joined_by_the_language) {
    const words simplified{"我", "喜欢", "电影"};
    EXPECT_EQ(words_of("我喜歡電影。", "zh-Hans"), simplified);
    EXPECT_EQ(words_of("我喜欢电影。", "zh-Hans"), simplified);
    EXPECT_EQ(words_of("我喜歡電影。", "zh_Hans_CN"), simplified);
    EXPECT_EQ(words_of("我喜欢电影。", "zh-Hant"), (words{"我", "喜歡", "電影"}));
    for (const char* const as_it_is : {"auto", "zh", "zh-TW", "ja"})
        EXPECT_EQ(words_of("電影", as_it_is), words{"電影"}) << as_it_is;
}

TEST(chinese_scripts, other_words_and_places_stay) {
    EXPECT_EQ(words_of("Café 東京タワー 한국어 電 3.14", "zh-Hans", folding::accents),
              (words{"cafe", "东京タワー", "한국어", "电", "3.14"}));
    text_options options;
    options.language = "zh-Hans";
    analyzer a(options);
    token_list list;
    const std::string text = "看電影 and 電視";
    a.analyze(text, list);
    for (const token& t : list.tokens) {
        const auto source = text.substr(t.source_begin, t.source_end - t.source_begin);
        EXPECT_EQ(joined(source, script_joiner::script::simplified), list.word(t));
    }
}

TEST(chinese_scripts, join_stop_words) {
    text_options options;
    options.language = "zh-Hans";
    const std::vector<std::string> stop_words{"電影"};
    analyzer a(options, stop_words);
    token_list list;
    a.analyze("电影 電影 音樂", list);
    ASSERT_EQ(list.tokens.size(), 1U);
    EXPECT_EQ(list.word(list.tokens[0]), "音乐");
}

}  // namespace
}  // namespace quern::text::chinese_scripts_test
