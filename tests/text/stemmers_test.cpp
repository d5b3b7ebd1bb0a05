// SPDX-License-Identifier: Apache-2.0
// Every stemmer of the library, by the name and the code of its language, compared with the library's own function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libstemmer.h>

#include <set>

#include "quern/base/error.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::text::stemmers_test {
namespace {

using ::testing::HasSubstr;

// Some words of each language, so that each stemmer changes some of them.
const std::vector<std::string> words{
    "running",  "connections", "happily",   "häuser",  "kinder",      "maisons",      "continuation",
    "casas",    "corriendo",   "cidades",   "ragazzi", "abbandonata", "huizen",       "lichamelijk",
    "husene",   "flickorna",   "talossani", "книгами", "важная",      "evlerimizden", "házakban",
    "copiilor", "casele",      "وكتابها",   "வீடுகள்",   "लड़कियों",      "घरहरू",         "ανθρώπων",
    "fearaibh", "rumahnya",    "etxeetan",  "namuose", "տներում",     "кућама",       "הײַזער",
    "nens",     "dansende",    "mennesker"};

std::string stem_of(sb_stemmer* by, const std::string& word) {
    const auto* const out =
        sb_stemmer_stem(by, reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
    return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(sb_stemmer_length(by))};
}

std::vector<std::string> stems(stemmer stem, const std::string& language = "auto") {
    text_options options;
    options.stem = stem;
    options.language = language;
    analyzer analysis(options);
    std::vector<std::string> all;
    for (const std::string& word : words) {
        token_list list;
        analysis.analyze(word, list);
        all.push_back(list.tokens.size() == 1 ? list.words : "");
    }
    return all;
}

std::vector<std::string> analysed_words() {
    return stems(stemmer::none);
}

TEST(stemmers_test, are_those_of_the_library) {
    std::set<std::string> names;
    for (const char** name = sb_stemmer_list(); *name != nullptr; ++name) names.insert(*name);
    const std::vector<std::string> plain = analysed_words();
    std::size_t tried = 0;
    for (std::size_t at = 0; at < std::size(stemmer_names); ++at) {
        const std::string name(stemmer_names[at]);
        const auto stem = static_cast<stemmer>(at);
        if (!names.contains(name)) continue;
        ++tried;
        sb_stemmer* const by = sb_stemmer_new(name.c_str(), "UTF_8");
        ASSERT_NE(by, nullptr);
        const std::vector<std::string> found = stems(stem);
        std::size_t changed = 0;
        for (std::size_t w = 0; w < words.size(); ++w) {
            EXPECT_EQ(found[w], plain[w].empty() ? "" : stem_of(by, plain[w])) << name << ": " << words[w];
            changed += found[w] != plain[w];
        }
        EXPECT_GT(changed, 0U) << name;
        EXPECT_EQ(stemmer_of({.stem = stem}), stem);
        sb_stemmer_delete(by);
    }
    EXPECT_EQ(tried, names.size()) << "the library has others";
}

TEST(stemmers_test, languages_have_codes) {
    const auto by_code = parse_value(option_of<text_options>("stem"), "de");
    EXPECT_EQ(stemmer_of({.stem = static_cast<stemmer>(std::get<std::uint64_t>(by_code))}), stemmer::german);
    EXPECT_EQ(stems(stemmer::code_fr), stems(stemmer::french));
    EXPECT_EQ(stems(stemmer::automatic, "de-AT"), stems(stemmer::german));
    EXPECT_EQ(stemmer_of({.language = "nb", .stem = stemmer::automatic}), stemmer::norwegian);
    for (const char* const language : {"auto", "zh"}) {
        try {
            stemmer_of({.language = language, .stem = stemmer::automatic});
            ADD_FAILURE();
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(),
                        HasSubstr(language[0] == 'a' ? "needs the language" : "expected one of ar, hy, eu"));
        }
    }
    try {
        parse_value(option_of<text_options>("stem"), "klingon");
        ADD_FAILURE();
    } catch (const usage_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("none, porter, auto, arabic, armenian"));
    }
}

}  // namespace
}  // namespace quern::text::stemmers_test
