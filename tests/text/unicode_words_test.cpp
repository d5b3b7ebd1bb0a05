// SPDX-License-Identifier: Apache-2.0
// Every path to Unicode's words against ICU over the whole text: chosen cases, random texts of hard parts, and real
// text in eighteen languages.
#include "text/unicode_words.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "text/icu_reference.hpp"
#include "text/passages.hpp"

namespace quern::text::unicode_words_test {
namespace {

using reference::word;

std::vector<word> words_of(unicode_words& finder, std::string_view text) {
    token_list list;
    finder.find(text, list);
    std::vector<word> found;
    for (const token& t : list.tokens) {
        found.push_back({std::string(list.word(t)), t.source_begin, t.source_end});
    }
    return found;
}

/// All paths for one language next to the reference.
class matcher {
  public:
    explicit matcher(const char* language)
        : locale_(*language ? icu::Locale(language) : icu::Locale::getRoot()),
          truth_(language),
          best_(locale_),
          rules_(locale_, word_path::rules),
          icu_(locale_, word_path::icu) {}

    ::testing::AssertionResult same(std::string_view text) {
        const std::vector<word> expected = truth_.words(text);
        int path = 0;
        for (unicode_words* finder : {&best_, &rules_, &icu_}) {
            const std::vector<word> found = words_of(*finder, text);
            if (found != expected) return differ(path, expected, found, text);
            ++path;
        }
        return ::testing::AssertionSuccess();
    }

    reference::icu_words& truth() { return truth_; }
    const icu::Locale& locale() const { return locale_; }

  private:
    static ::testing::AssertionResult differ(int path, const std::vector<word>& expected,
                                             const std::vector<word>& found, std::string_view text) {
        std::size_t at = 0;
        while (at < expected.size() && at < found.size() && expected[at] == found[at]) ++at;
        auto result = ::testing::AssertionFailure() << "path " << path << ", word " << at << ": expected ";
        if (at < expected.size()) result << expected[at];
        result << ", found ";
        if (at < found.size()) result << found[at];
        if (text.size() < 400) result << " in " << ::testing::PrintToString(std::string(text));
        return result;
    }

    icu::Locale locale_;
    reference::icu_words truth_;
    unicode_words best_, rules_, icu_;
};

const std::vector<std::string>& hard_pieces() {
    static const std::vector<std::string> pieces = {"a",
                                                    "Z",
                                                    "word",
                                                    "WORD",
                                                    "7",
                                                    "42",
                                                    " ",
                                                    "  ",
                                                    "\n",
                                                    "\r\n",
                                                    "\r",
                                                    "\t",
                                                    "\xC2\xA0",
                                                    "\xE3\x80\x80",
                                                    "'",
                                                    ".",
                                                    ",",
                                                    ":",
                                                    ";",
                                                    "_",
                                                    "@",
                                                    "-",
                                                    "\"",
                                                    "/",
                                                    "#",
                                                    "*",
                                                    "can't",
                                                    "3.14",
                                                    "1,000",
                                                    "a_b",
                                                    "U.S.A.",
                                                    "x@y.z",
                                                    "é",
                                                    "É",
                                                    "e\xCC\x81",
                                                    "\xCC\x81",
                                                    "\xCC\xA7",
                                                    "\xCD\x8F",
                                                    "ß",
                                                    "ŉ",
                                                    "İ",
                                                    "ı",
                                                    "ﬁ",
                                                    "Ⅷ",
                                                    "①",
                                                    "Å",
                                                    "ǆ",
                                                    "\xC2\xAD",
                                                    "’",
                                                    "·",
                                                    "״",
                                                    "׳",
                                                    "א",
                                                    "ב",
                                                    "צה\"ל",
                                                    "ה'",
                                                    "Ω",
                                                    "ς",
                                                    "ж",
                                                    "Й",
                                                    "И\xCC\x86",
                                                    "ا",
                                                    "\xD9\x8E",
                                                    "\xD9\x91",
                                                    "٣",
                                                    "٫",
                                                    "क",
                                                    "्",
                                                    "ष",
                                                    "ि",
                                                    "\xE0\xA4\xBC",
                                                    "த",
                                                    "ி",
                                                    "한",
                                                    "국",
                                                    "ᄒ",
                                                    "ᅡ",
                                                    "ᆫ",
                                                    "カ",
                                                    "タカナ",
                                                    "ｶ",
                                                    "ﾞ",
                                                    "ー",
                                                    "ひ",
                                                    "ら",
                                                    "漢",
                                                    "字",
                                                    "中文分词",
                                                    "日本語を",
                                                    "々",
                                                    "〆",
                                                    "ไทย",
                                                    "ภาษา",
                                                    "สวัสดี",
                                                    "ລາວ",
                                                    "ខ្មែរ",
                                                    "မြန်မာ",
                                                    "᥀",
                                                    "\xE2\x80\x8D",
                                                    "\xE2\x80\x8C",
                                                    "\xEF\xBB\xBF",
                                                    "\xE2\x80\x8B",
                                                    "😀",
                                                    "👩",
                                                    "👩\xE2\x80\x8D👩\xE2\x80\x8D👧",
                                                    "❤",
                                                    "\xEF\xB8\x8F",
                                                    "🏽",
                                                    "🇩",
                                                    "🇪",
                                                    "🇫🇷",
                                                    "ℹ",
                                                    "Ⓜ",
                                                    "\xE2\x80\xA8",
                                                    "\xE2\x80\xAF",
                                                    "\xE2\x80\x89",
                                                    "\xE1\x9A\x80",
                                                    "\xE2\x81\x9F",
                                                    "\xE2\x80\xA9",
                                                    "\xC2\x85",
                                                    "‿",
                                                    "﹕",
                                                    "：",
                                                    "＇",
                                                    "．",
                                                    "Ａ",
                                                    "９",
                                                    "𝐀",
                                                    "𝟗",
                                                    "𠀀",
                                                    "𑄃",
                                                    "𑜀",
                                                    "\xFF",
                                                    "\xC3",
                                                    "\xE2\x82",
                                                    "\xED\xA0\x80",
                                                    "\xF4\x90\x80\x80",
                                                    "\xC0\x80",
                                                    "\x80",
                                                    "\xEF\xBF\xBD",
                                                    std::string(1, '\0'),
                                                    "\x7F",
                                                    "ﷺ",
                                                    "ΐ",
                                                    "ᾳ",
                                                    "\xF0\x9D\x85\x9F",
                                                    "\xE3\x8D\xBF",
                                                    "½",
                                                    "²",
                                                    "ª"};
    return pieces;
}

std::string random_text(std::mt19937& random, std::size_t pieces) {
    const auto& all = hard_pieces();
    std::string text;
    // Often few kinds of pieces, so that long runs of one script occur.
    const std::size_t kinds = random() % 3 == 0 ? all.size() : 2 + random() % 6;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < kinds; ++i) chosen.push_back(random() % all.size());
    for (std::size_t i = 0; i < pieces; ++i) {
        text += random() % 16 == 0 ? all[random() % all.size()] : all[chosen[random() % kinds]];
    }
    return text;
}

/// `times` random ones of `parts`, joined.
std::string joined(const std::vector<std::string>& parts, std::size_t times, unsigned seed) {
    std::mt19937 random(seed);
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += parts[random() % parts.size()];
    return out;
}

TEST(unicode_words, segments_of_many_kilobytes_are_folded_in_pieces) {
    matcher root("");
    const std::vector<std::vector<std::string>> alphabets = {
        {"\uFDFA"},
        {"a", "\uFDFA", "B"},
        {"e", "\u0301", "\u0323", "\u0345", "E\u0301"},
        {"\u1100", "\u1161", "\u11A8", "\uAC00"},
        {"\uFB01", "\u0130", "\u00DF", "\u2126", "q"},
        {"1", "2", "\u202F"},
        {"\u0E01", "\u0E32", "a", "\uFDFA"},
        {"\xF0", "a", "\xCC\x81", "\u00E9"},
    };
    unsigned seed = 0;
    for (const auto& parts : alphabets) {
        for (const std::size_t times : {3000, 9001}) {
            EXPECT_TRUE(root.same("before " + joined(parts, times, ++seed) + " after"));
        }
    }
}

TEST(unicode_words, reads_the_rules_of_the_icu_in_use) {
    for (const char* language : {"", "en", "de", "fi", "sv", "ja", "zh", "en_US_POSIX", "el"}) {
        const icu::Locale locale = *language ? icu::Locale(language) : icu::Locale::getRoot();
        const auto rules = break_rules::get(break_rules::kind::words, locale);
        ASSERT_NE(rules, nullptr) << language;
        EXPECT_TRUE(rules->ascii_words_are_simple()) << language;
        EXPECT_NE(break_rules::get(break_rules::kind::sentences, locale), nullptr) << language;
    }
}

TEST(unicode_words, match_icu_on_every_pair_and_triple_of_hard_pieces) {
    matcher m("");
    const auto& all = hard_pieces();
    for (const std::string& a : all) {
        for (const std::string& b : all) {
            ASSERT_TRUE(m.same(a + b));
            ASSERT_TRUE(m.same(" a" + a + b + "a "));
        }
    }
    std::mt19937 random(7);
    for (int i = 0; i < 20000; ++i) {
        ASSERT_TRUE(
            m.same(all[random() % all.size()] + all[random() % all.size()] + all[random() % all.size()]));
    }
}

TEST(unicode_words, match_icu_on_random_mixes) {
    std::mt19937 random(11);
    for (const char* language : {"", "fi", "ja", "en_US_POSIX"}) {
        matcher m(language);
        for (int i = 0; i < 2000; ++i)
            ASSERT_TRUE(m.same(random_text(random, 1 + random() % 40))) << language;
        for (int i = 0; i < 60; ++i) ASSERT_TRUE(m.same(random_text(random, 3000))) << language;
    }
}

TEST(unicode_words, match_icu_on_all_short_ascii) {
    // One byte of each kind that any rule distinguishes, in all strings of five.
    matcher m("");
    const std::string kinds = "aZ0'.,:_@ \r\n\"-";
    std::string text(5, ' ');
    for (std::size_t code = 0; code < 14 * 14 * 14 * 14 * 14; code += 3) {
        std::size_t rest = code;
        for (char& c : text) {
            c = kinds[rest % 14];
            rest /= 14;
        }
        ASSERT_TRUE(m.same(text));
    }
}

TEST(unicode_words, match_icu_around_the_ends_of_chunks) {
    matcher m("");
    for (const std::string piece : {"a", "a.b", "a'", "\xE3\x80\x80", " é", "é", "_", "漢字", "3.14",
                                    "  \xE2\x80\x8Dℹb", "a \xCC\x81"}) {
        for (const char filler : {' ', 'x', '.'}) {
            for (std::size_t pad = byte_chunk::max_bytes - 6; pad < byte_chunk::max_bytes + 3; ++pad) {
                ASSERT_TRUE(m.same(std::string(pad, filler) + piece + " tail"));
                ASSERT_TRUE(m.same(std::string(pad, filler) + piece));
            }
        }
        for (std::size_t pad = 56; pad < 130; ++pad) ASSERT_TRUE(m.same(std::string(pad, '-') + piece));
    }
    ASSERT_TRUE(m.same(std::string(3 * byte_chunk::max_bytes, 'Q')));
    ASSERT_TRUE(m.same(std::string(3 * byte_chunk::max_bytes, ' ') + "\xE2\x80\x8Dℹb"));
}

TEST(unicode_words, fold_every_character_as_icu_does) {
    matcher m("");
    std::string text;
    for (UChar32 c = 0; c < 0x110000; ++c) {
        if (U_IS_SURROGATE(c)) continue;
        char bytes[4];
        int size = 0;
        U8_APPEND_UNSAFE(bytes, size, c);
        // Alone, and between letters, where marks and joiners become part of a word.
        text.append(bytes, static_cast<std::size_t>(size)) += "\na";
        text.append(bytes, static_cast<std::size_t>(size)) += "b\n";
        if (text.size() > 100000) {
            ASSERT_TRUE(m.same(text)) << std::hex << c;
            text.clear();
        }
    }
    ASSERT_TRUE(m.same(text));
}

std::vector<std::string> forms_of(unicode_words& finder, std::string_view text) {
    std::vector<std::string> forms;
    for (word& w : words_of(finder, text)) forms.push_back(std::move(w.form));
    return forms;
}

TEST(unicode_words, are_cut_at_every_white_space) {
    for (const word_path path : {word_path::best, word_path::rules, word_path::icu}) {
        unicode_words finder(icu::Locale::getRoot(), path);
        for (UChar32 c = 0; c < 0x110000; ++c) {
            if (!u_isUWhiteSpace(c)) continue;
            char bytes[4];
            std::size_t size = 0;
            U8_APPEND_UNSAFE(bytes, size, c);
            const std::string blank(bytes, size);
            EXPECT_EQ(forms_of(finder, "rund 12" + blank + "256 Menschen"),
                      (std::vector<std::string>{"rund", "12", "256", "menschen"}))
                << std::hex << c;
            EXPECT_EQ(forms_of(finder, "a" + blank + blank + "_" + blank + "b"),
                      (std::vector<std::string>{"a", "b"}))
                << std::hex << c;
        }
        EXPECT_EQ(words_of(finder,
                           "x 12\xE2\x80\xAF"
                           "256"),
                  (std::vector<word>{{"x", 0, 1}, {"12", 2, 4}, {"256", 7, 10}}));
        // One character that is four words.
        EXPECT_EQ(words_of(finder, "ﷺ"),
                  (std::vector<word>{{"صلى", 0, 3}, {"الله", 0, 3}, {"عليه", 0, 3}, {"وسلم", 0, 3}}));
    }
}

TEST(unicode_words, never_hold_white_space) {
    unicode_words finder(icu::Locale::getRoot());
    std::mt19937 random(19);
    const auto check = [&](const std::string& text) {
        token_list list;
        finder.find(text, list);
        std::uint32_t begin = 0, end = 0;
        for (const token& t : list.tokens) {
            const auto form = icu::UnicodeString::fromUTF8(std::string(list.word(t)));
            ASSERT_EQ(reference::icu_words::between_white_space(form, 0, form.length()).size(), 1U) << text;
            ASSERT_LT(t.source_begin, t.source_end);
            ASSERT_TRUE(t.source_begin >= end || (t.source_begin == begin && t.source_end == end)) << text;
            begin = t.source_begin;
            end = t.source_end;
        }
    };
    for (int i = 0; i < 3000; ++i) check(random_text(random, 1 + random() % 60));
}

TEST(unicode_words, fold_runs_of_marks_as_icu_does) {
    matcher m("");
    std::mt19937 random(3);
    const char32_t bases[] = {'a', 'E', 0xE9, 0x391, 0x438, 0x627, 0x915, 0xAC00, 0x1100, 0x5D0};
    for (int i = 0; i < 30000; ++i) {
        icu::UnicodeString units(static_cast<UChar32>(bases[random() % std::size(bases)]));
        for (std::size_t marks = random() % 5; marks > 0; --marks) {
            const UChar32 ranges[][2] = {{0x300, 0x36F}, {0x591, 0x5C7},   {0x610, 0x65F},
                                         {0x93C, 0x94D}, {0x1160, 0x11FF}, {0x200B, 0x200F}};
            const auto& range = ranges[random() % std::size(ranges)];
            units.append(range[0] +
                         static_cast<UChar32>(random() % static_cast<unsigned>(range[1] - range[0] + 1)));
        }
        std::string text;
        units.toUTF8String(text);
        ASSERT_TRUE(m.same(text));
    }
}

RC_GTEST_PROP(unicode_words, match_icu_on_any_bytes, (const std::string& bytes)) {
    static matcher m("");
    RC_ASSERT(m.same(bytes));
}

std::string file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(unicode_words, match_icu_on_real_text) {
    const char* data = std::getenv("QUERN_DATA");
    if (data == nullptr) GTEST_SKIP() << "QUERN_DATA is not set";
    const auto folder = std::filesystem::path(data) / "ir" / "multilang";
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is absent";
    matcher m("");
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".txt") continue;
        ++files;
        EXPECT_TRUE(m.same(file(entry.path()))) << entry.path();
    }
    EXPECT_GE(files, 18);
}

std::vector<std::uint32_t> sentence_offsets(const icu::Locale& locale, std::string_view text,
                                            word_path path) {
    // One token per byte makes token counts equal to offsets.
    token_list list;
    for (std::uint32_t i = 0; i < text.size(); ++i) list.tokens.push_back({0, 0, i, i + 1});
    passage_marker(locale, path).mark(text, list);
    return list.sentence_ends;
}

std::vector<std::uint32_t> expected_sentences(matcher& m, std::string_view text) {
    std::vector<std::uint32_t> ends = m.truth().sentences(text);
    // A sentence also ends with its paragraph: at every line feed, where ICU ends one anyway, and at U+2029.
    return ends;
}

TEST(passages, match_icu_sentences) {
    std::mt19937 random(5);
    for (const char* language : {"", "el"}) {
        matcher m(language);
        for (int i = 0; i < 3000; ++i) {
            const std::string text = random_text(random, 1 + random() % 60);
            const auto expected = expected_sentences(m, text);
            ASSERT_EQ(sentence_offsets(m.locale(), text, word_path::best), expected)
                << ::testing::PrintToString(text);
            ASSERT_EQ(sentence_offsets(m.locale(), text, word_path::icu), expected)
                << ::testing::PrintToString(text);
        }
    }
    const char* data = std::getenv("QUERN_DATA");
    if (data == nullptr) GTEST_SKIP() << "QUERN_DATA is not set";
    matcher m("");
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(data) / "ir" / "multilang")) {
        if (entry.path().extension() != ".txt") continue;
        const std::string text = file(entry.path());
        EXPECT_EQ(sentence_offsets(m.locale(), text, word_path::best), expected_sentences(m, text))
            << entry.path();
    }
}

}  // namespace
}  // namespace quern::text::unicode_words_test
