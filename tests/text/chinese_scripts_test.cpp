// SPDX-License-Identifier: Apache-2.0
// Simplified and traditional Chinese joined: examples, properties over all ideographs, and what stays as it is.
#include "text/chinese_scripts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "quern/text/analyzer.hpp"

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
