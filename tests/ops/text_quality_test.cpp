// SPDX-License-Identifier: Apache-2.0
// The quality rules against slow versions of their measures, on random texts of few words; the choice of rules; masks.
#include "quern/ops/text_quality.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "ops/text_quality/characters.hpp"
#include "ops/text_quality/judge.hpp"
#include "ops/text_quality/judge_memory.hpp"
#include "ops/text_quality/masking.hpp"
#include "quern/base/error.hpp"
#include "reference/text_quality_reference.hpp"

namespace quern::text_quality::text_quality_test {
namespace {

namespace slow = reference;
using slow::ratio;
using ::testing::HasSubstr;

bool is_ascii_word(char32_t c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/// Words between white space; letters of ASCII.
class blank_words : public text_words {
  public:
    std::span<const quality_word> words_of(std::string_view text) override {
        words_.clear();
        for_each_part(text, [&](std::string_view part) {
            const auto begin = static_cast<std::uint32_t>(part.data() - text.data());
            quality_word word{begin, static_cast<std::uint32_t>(begin + part.size()), 0, false, true};
            for (std::size_t at = 0; at < part.size(); ++word.characters) {
                const char32_t c = next_utf8(part, at);
                word.has_letter = word.has_letter || is_letter(c);
                word.is_symbol = word.is_symbol && is_punctuation(c);
            }
            words_.push_back(word);
        });
        return words_;
    }
    bool has_bad_word(std::string_view text) override { return text.find("heck") != std::string_view::npos; }
    letter_counts letters_of(std::string_view text) override {
        letter_counts all;
        for (const char c : text) {
            all.letters += is_letter(static_cast<unsigned char>(c)) ? 1 : 0;
            all.upper_case += c >= 'A' && c <= 'Z' ? 1 : 0;
            all.digits += c >= '0' && c <= '9' ? 1 : 0;
        }
        return all;
    }
    static bool is_letter(char32_t c) { return c < 0x80 && (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

  private:
    std::vector<quality_word> words_;
};

std::string made_text(std::mt19937_64& chance) {
    static constexpr std::string_view words[] = {"the",    "mill",   "of",  "and",  "été",     "中文",
                                                 "#",      "…",      "...", "-",    "•",       "a.",
                                                 "3.14",   "Wheel!", "{x}", "?",    "turning", "\"so\"",
                                                 "\u061f", "corn。", "--",  "have", "i",       "windmills"};
    static constexpr std::string_view gaps[] = {" ",      " ",   " ",   " ",   "\n",     "\n\n",
                                                "\r\n",   "\t",  "  ",  "\v",  "\n\n\n", "\u2028",
                                                "\u00a0", "…\n", ".\n", "\x1c"};
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(chance() % n); };
    const std::size_t count = pick(3) == 0 ? pick(300) : pick(40), first = pick(std::size(words));
    const std::size_t kinds = 1 + pick(std::size(words));
    const std::size_t blanks = pick(2) == 0 ? 4 : std::size(gaps);
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += words[(first + pick(kinds)) % std::size(words)];
        text += gaps[pick(blanks)];
    }
    return text;
}

/// The measures of the rules with numbers, by their full names.
std::vector<std::pair<std::string, std::function<ratio(const slow::points&)>>> measures() {
    using slow::points;
    const auto plain = [](const points& text) {
        auto words = slow::words(text);
        std::erase_if(words, [](const points& w) { return std::ranges::all_of(w, is_punctuation); });
        return words;
    };
    const auto count = [](const auto& all) { return static_cast<std::uint64_t>(all.size()); };
    const auto lines_with = [](const points& text, auto&& is_one) {
        const auto lines = slow::unicode_lines(text);
        return ratio{static_cast<std::uint64_t>(std::ranges::count_if(lines, is_one)), lines.size()};
    };
    const auto solid_lines = [](const points& text) {
        auto lines = slow::split(
            text, [](char32_t c) { return c == U'\n'; }, true);
        std::erase_if(lines, [](const points& l) { return slow::stripped(l).empty(); });
        return lines;
    };
    std::vector<std::pair<std::string, std::function<ratio(const points&)>>> all;
    const auto add = [&](std::string name, std::function<ratio(const points&)> measure) {
        all.emplace_back(std::move(name), std::move(measure));
    };
    for (const std::string group : {"length.", "gopher-quality."}) {
        for (const std::string name : {"min-words", "max-words"})
            add(group + name, [=](const points& t) { return ratio{count(plain(t)), 1}; });
        for (const std::string name : {"min-mean-word-length", "max-mean-word-length"})
            add(group + name, [=](const points& t) {
                return ratio{slow::characters(plain(t)), count(plain(t))};
            });
    }
    for (const std::string name :
         {"length.min-characters", "length.max-characters", "gopher-repetition.min-characters"})
        add(name, [=](const points& t) { return ratio{t.size(), 1}; });
    add("gopher-quality.max-hashes", [=](const points& t) {
        return ratio{slow::occurrences(t, U"#"), count(slow::words(t))};
    });
    add("gopher-quality.max-ellipses", [=](const points& t) {
        return ratio{slow::occurrences(t, U"...") + slow::occurrences(t, U"…"), count(slow::words(t))};
    });
    add("gopher-quality.max-bullet-lines", [=](const points& t) {
        return lines_with(t, [](const points& l) {
            const points line = slow::stripped(l);
            return line.starts_with(U"•") || line.starts_with(U"-");
        });
    });
    add("gopher-quality.max-ellipsis-lines", [=](const points& t) {
        return lines_with(t, [](const points& l) {
            const points line = slow::stripped(l);
            return line.ends_with(U"...") || line.ends_with(U"…");
        });
    });
    add("gopher-quality.min-words-with-letter", [=](const points& t) {
        const auto words = slow::words(t);
        return ratio{
            std::ranges::count_if(
                words, [](const points& w) { return std::ranges::any_of(w, blank_words::is_letter); }),
            words.size()};
    });
    add("gopher-quality.min-stop-words", [=](const points& t) {
        const auto words = slow::words(t);
        std::uint64_t found = 0;
        for (const points stop : {U"the", U"be", U"to", U"of", U"and", U"that", U"have", U"with"})
            found += std::ranges::count(words, stop) > 0 ? 1 : 0;
        return ratio{found, 1};
    });
    add("gopher-repetition.max-duplicate-paragraphs", [=](const points& t) {
        const auto parts = slow::between_line_ends(slow::stripped(t), 2);
        return ratio{slow::repeated(parts).first, parts.size()};
    });
    add("gopher-repetition.max-duplicate-paragraph-characters", [=](const points& t) {
        return ratio{slow::repeated(slow::between_line_ends(slow::stripped(t), 2)).second, t.size()};
    });
    add("gopher-repetition.max-duplicate-lines", [=](const points& t) {
        const auto parts = slow::between_line_ends(t, 1);
        return ratio{slow::repeated(parts).first, parts.size()};
    });
    add("gopher-repetition.max-duplicate-line-characters", [=](const points& t) {
        return ratio{slow::repeated(slow::between_line_ends(t, 1)).second, t.size()};
    });
    for (std::size_t n = 2; n <= 4; ++n)
        add("gopher-repetition.max-top-" + std::to_string(n) + "-gram", [=](const points& t) {
            return ratio{slow::top_characters(slow::words(t), n), t.size()};
        });
    for (std::size_t n = 5; n <= 10; ++n)
        add("gopher-repetition.max-duplicate-" + std::to_string(n) + "-grams", [=](const points& t) {
            return ratio{slow::duplicate_characters(slow::words(t), n), t.size()};
        });
    add("c4-paragraphs.min-paragraphs", [=](const points& t) {
        const auto lines = slow::split(
            t, [](char32_t c) { return c == U'\n'; }, true);
        return ratio{std::ranges::count_if(lines, [](const points& l) { return l.size() >= 200; }), 1};
    });
    add("fineweb.min-lines", [=](const points& t) { return ratio{count(solid_lines(t)), 1}; });
    add("fineweb.min-line-punctuation", [=](const points& t) {
        const auto lines = solid_lines(t);
        return ratio{std::ranges::count_if(lines, [](const points& l) { return is_terminal_mark(l.back()); }),
                     lines.size()};
    });
    add("fineweb.max-short-lines", [=](const points& t) {
        const auto lines = solid_lines(t);
        return ratio{std::ranges::count_if(lines, [](const points& l) { return l.size() <= 30; }),
                     lines.size()};
    });
    add("fineweb.max-duplicate-line-characters", [=](const points& t) {
        return ratio{slow::repeated(solid_lines(t)).second, t.size() - std::ranges::count(t, U'\n')};
    });
    add("fineweb.max-line-ends", [=](const points& t) {
        return ratio{std::ranges::count(t, U'\n'), count(slow::words(t))};
    });
    return all;
}

TEST(text_quality, every_measure_is_that_of_the_reference) {
    const auto all = measures();
    std::size_t with_numbers = 0;
    for (const quality_rule& rule : quality_rules())
        with_numbers += rule.kind == rule_kind::at_least || rule.kind == rule_kind::at_most ? 1 : 0;
    // c4.min-sentences and refinedweb.max-dropped-words have tests of their own.
    ASSERT_EQ(all.size() + 2, with_numbers);
    std::mt19937_64 chance(7);
    blank_words words;
    for (int round = 0; round < 1500; ++round) {
        const std::string text = made_text(chance);
        const slow::points points = slow::decoded(text);
        for (const auto& [name, measure] : all) {
            const auto rule = std::ranges::find(quality_rules(), name, full_name);
            ASSERT_NE(rule, quality_rules().end()) << name;
            ratio truth = measure(points);
            if (truth.second == 0) truth = {0, 1};
            // A limit that only this value fails tells the value; the next one below or above it is passed.
            const bool is_least = rule->kind == rule_kind::at_least;
            for (const std::uint64_t limit : {0, 1, 5, 100, 180, 300, 1000, 3000}) {
                rule_choice choice;
                choice.add(name + "=" + std::to_string(limit / 1000) + "." +
                           std::to_string(1000 + limit % 1000).substr(1));
                judge tested(choice, words);
                const verdict found = tested.apply(text);
                const bool fails = is_least ? truth.first * 1000 < limit * truth.second
                                            : truth.first * 1000 > limit * truth.second;
                ASSERT_EQ(found.rule.has_value(), fails) << name << " " << limit << "\n" << text;
                if (!fails) continue;
                ASSERT_EQ(full_name(quality_rules()[*found.rule]), name);
                ASSERT_EQ(found.value.numerator * std::max<std::uint64_t>(1, truth.second),
                          truth.first * std::max<std::uint64_t>(1, found.value.denominator))
                    << name << "\n"
                    << text;
                ASSERT_FALSE(tested.is_changed());
            }
        }
    }
}

/// A few words at a time.
class words_in_small_parts final : public blank_words {
  public:
    int readings = 0;
    void words_in_parts(std::string_view text, take_words take) override {
        ++readings;
        std::span<const quality_word> rest = words_of(text);
        for (; rest.size() > 7; rest = rest.subspan(7)) take(rest.first(7));
        take(rest);
    }
};

TEST(text_quality, words_of_a_long_text_may_come_in_parts) {
    std::mt19937_64 chance(9);
    std::string text;
    while (text.size() <= 1 << 20) text += made_text(chance);
    blank_words at_once;
    words_in_small_parts in_parts;
    for (const quality_rule& rule : quality_rules()) {
        if (rule.kind != rule_kind::at_least && rule.kind != rule_kind::at_most) continue;
        rule_choice choice;
        choice.add(full_name(rule) + (rule.kind == rule_kind::at_most ? "=0" : "=999999999"));
        const verdict expected = judge(choice, at_once).apply(text),
                      found = judge(choice, in_parts).apply(text);
        ASSERT_EQ(found.rule, expected.rule) << full_name(rule);
        EXPECT_EQ(found.value.numerator, expected.value.numerator) << full_name(rule);
        EXPECT_EQ(found.value.denominator, expected.value.denominator) << full_name(rule);
    }
}

TEST(text_quality, words_of_a_long_text_are_found_at_most_twice) {
    std::mt19937_64 chance(10);
    std::string text;
    while (text.size() <= 2 << 20) text += made_text(chance);
    blank_words at_once;
    const auto readings_for = [&](const std::string& rules, const std::string& failing) {
        rule_choice alone, choice;
        alone.add(failing);
        choice.add(rules + "," + failing);
        words_in_small_parts in_parts;
        judge tested(choice, in_parts);
        const verdict expected = judge(alone, at_once).apply(text);
        for (int round = 0; round < 2; ++round) {  // again, after it has forgotten the text
            in_parts.readings = 0;
            const verdict found = tested.apply(text);
            EXPECT_EQ(found.rule, expected.rule) << failing;
            EXPECT_EQ(found.value.numerator, expected.value.numerator) << failing;
            EXPECT_EQ(found.value.denominator, expected.value.denominator) << failing;
            tested.forget();
        }
        return in_parts.readings;
    };
    const std::string passed =
        "length.min-words=1,gopher-quality.max-hashes=999999,gopher-quality.min-stop-words=1";
    for (const std::string failing :
         {"gopher-repetition.max-top-2-gram=0", "gopher-repetition.max-duplicate-10-grams=0",
          "fineweb.max-line-ends=0", "gopher-quality.min-stop-words=100"})
        EXPECT_EQ(readings_for(passed, failing), 2) << failing;
    EXPECT_EQ(readings_for(passed, "gopher-quality.min-words-with-letter=1"), 1);
    EXPECT_EQ(readings_for(passed + ",gopher-repetition.max-top-3-gram=999", "fineweb.max-line-ends=0"), 2);
    EXPECT_EQ(readings_for("gopher-repetition.max-top-3-gram=999", "gopher-quality.min-stop-words=100"), 1);
    EXPECT_EQ(readings_for("fineweb.min-lines=1", "gopher-repetition.max-duplicate-lines=0"), 0);

    rule_choice choice;  // another text between them
    choice.add(
        "gopher-quality.min-words=1,refinedweb.one-word-lines,refinedweb.max-dropped-words=1,gopher-"
        "repetition.max-top-2-gram=0");
    words_in_small_parts in_parts;
    judge tested(choice, in_parts);
    const verdict found = tested.apply(text);
    ASSERT_TRUE(tested.is_changed());
    EXPECT_EQ(in_parts.readings, 2);
    choice = {};
    choice.add("gopher-repetition.max-top-2-gram=0");
    const std::string changed(tested.text());
    EXPECT_EQ(judge(choice, at_once).apply(changed).value.numerator, found.value.numerator);
}

TEST(text_quality, memory_for_a_text_is_that_of_the_rules) {
    const auto of = [](const std::string& rules) {
        rule_choice choice;
        choice.add(rules);
        return memory_of(choice);
    };
    EXPECT_TRUE(of("gopher-quality").finds_words);
    EXPECT_EQ(of("gopher-quality").a_word, 0U);
    EXPECT_EQ(of("gopher-quality,fineweb.min-lines=1").a_byte, 0U);
    EXPECT_GT(of("gopher-repetition").a_word, 0U);
    EXPECT_EQ(of("gopher-repetition.max-duplicate-lines").a_word, 0U);
    EXPECT_FALSE(of("gopher-repetition.max-duplicate-lines").finds_words);
    EXPECT_GT(of("gopher-repetition.max-duplicate-lines").a_line, 0U);
    EXPECT_GT(of("fineweb").a_line, 0U);
    EXPECT_TRUE(of("fineweb.max-line-ends=1").finds_words);
    EXPECT_GT(of("c4").a_byte, of("refinedweb").a_byte);
    EXPECT_GT(of("refinedweb").a_byte, 0U);
    EXPECT_EQ(of("c4-paragraphs").a_byte, 0U);
}

TEST(text_quality, the_first_failing_rule_is_that_of_the_reference_in_order) {
    const auto all = measures();
    std::mt19937_64 chance(8);
    blank_words words;
    rule_choice choice;
    choice.add("fineweb,gopher-repetition,gopher-quality");
    judge tested(choice, words);
    std::map<std::string, int> fired;
    for (int round = 0; round < 3000; ++round) {
        const std::string text = made_text(chance);
        const slow::points points = slow::decoded(text);
        std::string truth;
        for (const std::string group : {"fineweb", "gopher-repetition", "gopher-quality"}) {
            for (const quality_rule& rule : quality_rules()) {
                if (rule.group != group || !truth.empty()) continue;
                const auto at =
                    std::ranges::find(all, full_name(rule), [](const auto& m) { return m.first; });
                if (at == all.end()) continue;
                const ratio value = at->second(points);
                const std::uint64_t left = value.first * rule.limit->denominator,
                                    right = value.second * rule.limit->numerator;
                if (rule.kind == rule_kind::at_least ? left < right : left > right) truth = full_name(rule);
            }
        }
        const verdict found = tested.apply(text);
        ASSERT_EQ(found.rule ? full_name(quality_rules()[*found.rule]) : "", truth) << text;
        ++fired[truth];
    }
    EXPECT_GE(fired.size(), 8U);
}

std::string after(const std::string& rules, std::string_view text) {
    rule_choice choice;
    choice.add(rules);
    blank_words words;
    judge tested(choice, words);
    const verdict found = tested.apply(text);
    if (found.rule)
        return "removed by " + full_name(quality_rules()[*found.rule]) + " " +
               std::to_string(found.value.numerator);
    EXPECT_EQ(tested.is_changed(), tested.text() != text);
    return std::string(tested.text());
}

TEST(text_quality, c4_drops_lines) {
    const std::string c4 = "c4,c4.min-sentences=0";
    EXPECT_EQ(
        after(c4,
              "  A line with words.  \nno end of it\nToo short.\nAnd [12] this one[citation needed] too!\n"),
        "A line with words.\nAnd  this one too!");
    EXPECT_EQ(
        after(c4,
              "It goes on and on...\nWe use JavaScript here.\nRead our Privacy Policy now.\nSo \"it ends\""),
        "So \"it ends\"");
    EXPECT_EQ(after(c4, "One two three [edit].\r\nFour five six?\vSeven eight nine."),
              "One two three .\nFour five six?\nSeven eight nine.");
    EXPECT_EQ(after(c4, "a b " + std::string(1000, 'x') + ".\na b " + std::string(999, 'x') + "."),
              "a b " + std::string(999, 'x') + ".");
    std::string long_word;
    for (int i = 0; i < 1000; ++i) long_word += "é";
    EXPECT_EQ(after(c4, "a b " + long_word), "");
    EXPECT_EQ(after(c4, "a b " + long_word + "."), "");
    EXPECT_EQ(after("c4.max-word-length=1001", "a b " + long_word + "."), "a b " + long_word + ".");
    EXPECT_EQ(after(c4, "int main() {\nA sentence with words."), "A sentence with words.")
        << "a dropped line has no bracket";
    EXPECT_EQ(after(c4, "A sentence with {words}."), "removed by c4.curly-bracket 1");
    EXPECT_EQ(after("c4.curly-bracket", "int main() {\n  A"), "removed by c4.curly-bracket 1");
    EXPECT_EQ(after(c4, "Here is LOREM Ipsum again."), "removed by c4.lorem-ipsum 1");
    EXPECT_EQ(after("c4,c4.citations=off,c4.min-sentences=0", "See the mill [1] there."),
              "See the mill [1] there.");
    EXPECT_EQ(after("c4.lorem-ipsum", " text stays \n as it is"), " text stays \n as it is");
    EXPECT_EQ(after("c4", "One two three. Four five six. Seven eight nine. Ten eleven!"),
              "removed by c4.min-sentences 4");
    EXPECT_EQ(after("c4", "One two three. Four five six. Seven eight nine. Ten eleven! \"Twelve.\""),
              "One two three. Four five six. Seven eight nine. Ten eleven! \"Twelve.\"");
    EXPECT_EQ(after("c4.bad-words=list", "what the heck"), "removed by c4.bad-words 1");
}

TEST(text_quality, sentences_end_at_marks_before_blanks) {
    EXPECT_EQ(sentences(""), 0U);
    EXPECT_EQ(sentences("no end"), 1U);
    EXPECT_EQ(sentences("One. Two! Three?"), 3U);
    EXPECT_EQ(sentences("3.14 is example.com"), 1U);
    EXPECT_EQ(sentences("\"One.\" (Two!) Three"), 3U);
    EXPECT_EQ(sentences("What?! No..."), 2U);
    EXPECT_EQ(sentences("これは文。これも文。"), 2U);
    EXPECT_EQ(sentences("One.\u00a0Two. "), 2U);
}

TEST(text_quality, refinedweb_drops_lines) {
    const std::string lines =
        "This is a line of text.\nSHOUTING ALL DAY LONG\n123 / 456\n3 likes\nHome\n\nAnother line of text";
    EXPECT_EQ(after("refinedweb,refinedweb.max-dropped-words=1", lines),
              "This is a line of text.\n\nAnother line of text");
    EXPECT_EQ(after("refinedweb", lines), "removed by refinedweb.max-dropped-words 10");
    EXPECT_EQ(after("refinedweb.counter-lines", "1.2K views\n3 likes\n3 4\nlikes 3"), "3 4\nlikes 3");
    EXPECT_EQ(after("refinedweb", "Nothing to drop here at all"), "Nothing to drop here at all");
}

TEST(text_quality, later_groups_see_the_text_that_is_left) {
    const std::string text = "One two three four five.\nmenu\nmenu\nmenu\nmenu\n";
    EXPECT_EQ(after("fineweb.max-duplicate-line-characters=0.01", text),
              "removed by fineweb.max-duplicate-line-characters 12");
    EXPECT_EQ(after("c4.terminal-punctuation,fineweb.max-duplicate-line-characters=0.01", text),
              "One two three four five.");
}

TEST(text_quality, limits_are_exact) {
    // 3 of 10 lines are repeated: exactly 0.3 passes.
    const std::string text = "a\nb\nc\nd\ne\nf\ng\na\nb\nc";
    EXPECT_EQ(after("gopher-repetition.max-duplicate-lines=0.3", text), text);
    EXPECT_EQ(after("gopher-repetition.max-duplicate-lines=0.299999999", text),
              "removed by gopher-repetition.max-duplicate-lines 3");
    EXPECT_EQ(compare({UINT64_MAX, UINT64_MAX}, {999999999, 1000000000}), 1);
    EXPECT_EQ(compare({0, 0}, {1, 2}), -1);  // a ratio without a denominator is 0
    EXPECT_EQ(compare({3, 0}, {0, 1}), 0);
}

TEST(text_quality, empty_texts) {
    EXPECT_EQ(after("gopher-repetition", ""), "removed by gopher-repetition.min-characters 0");
    EXPECT_EQ(after("fineweb", " \n\t\n"), "removed by fineweb.min-lines 0");
    EXPECT_EQ(after("gopher-repetition.max-top-2-gram", ""), "");
    EXPECT_EQ(after("length.min-mean-word-length=3", "\n"), "removed by length.min-mean-word-length 0");
    EXPECT_EQ(after("fineweb.max-line-ends", "\n\n"), "\n\n");
    EXPECT_EQ(after("c4,c4.min-sentences=off", " \n "), "");
}

std::string refusal(const std::function<void(rule_choice&)>& what) {
    rule_choice choice;
    try {
        what(choice);
    } catch (const usage_error& refused) {
        return refused.what();
    }
    return "accepted";
}

TEST(text_quality, rules_are_chosen_by_name) {
    rule_choice choice;
    choice.add("fineweb.max-short-lines=0.8, c4.javascript");
    choice.add("fineweb,c4.javascript=off,length.min-words=7");
    EXPECT_EQ(choice.text(),
              "fineweb.min-lines=1,fineweb.min-line-punctuation=0.12,fineweb.max-short-lines=0.8,"
              "fineweb.max-duplicate-line-characters=0.01,fineweb.max-line-ends=0.3,fineweb.short-line-"
              "characters=30,"
              "length.min-words=7");
    rule_choice again;
    again.add(choice.text());
    EXPECT_EQ(again.text(), choice.text());
    EXPECT_TRUE(choice.has("fineweb"));
    EXPECT_TRUE(choice.has("length.min-words"));
    EXPECT_FALSE(choice.has("length.max-words"));
    EXPECT_FALSE(choice.has("gopher-quality"));
    const auto adding = [](std::string list) { return refusal([=](rule_choice& c) { c.add(list); }); };
    EXPECT_THAT(adding("gopher"),
                HasSubstr("there is no rule or group 'gopher' (expected one of length, gopher-quality"));
    EXPECT_THAT(adding("c4.javscript"), HasSubstr("c4 has no rule 'javscript' (expected one of bad-words, "));
    EXPECT_THAT(adding("c4,,fineweb"), HasSubstr("a name is empty"));
    EXPECT_THAT(
        adding("length"),
        HasSubstr("have no defaults (expected one of them with a value, such as length.min-characters=50)"));
    rule_choice with_length;
    with_length.add("length.min-words=3,length");
    EXPECT_EQ(with_length.text(), "length.min-words=3");
    EXPECT_THAT(adding("length.min-words"), HasSubstr("needs a value (expected length.min-words=VALUE)"));
    EXPECT_THAT(adding("c4.javascript=3"),
                HasSubstr("c4.javascript: invalid value '3' (expected on or off)"));
    EXPECT_THAT(adding("fineweb.max-short-lines=-1"),
                HasSubstr("invalid value '-1' (expected a number from 0"));
    EXPECT_THAT(adding("fineweb.short-line-characters=off"), HasSubstr("cannot be off"));
    EXPECT_THAT(adding("c4.bad-words"), HasSubstr("c4.bad-words needs a value"));
    EXPECT_THAT(refusal([](rule_choice& c) {
                    c.set("c4.bad-words", std::vector<std::string>{"a", ""});
                }),
                HasSubstr("expected at least one word, and no empty one"));
    EXPECT_THAT(refusal([](rule_choice& c) { c.set("c4.policy", std::vector<std::string>{"a"}); }),
                HasSubstr("c4.policy is no list of words"));
}

TEST(text_quality, stop_words_of_a_list) {
    rule_choice choice;
    choice.add("gopher-quality.min-stop-words=2");
    choice.set("gopher-quality.stop-words", std::vector<std::string>{"der", "und"});
    blank_words words;
    judge tested(choice, words);
    EXPECT_FALSE(tested.apply("der Bach und das Rad").rule);
    EXPECT_TRUE(tested.apply("der Bach der Bach").rule);
    EXPECT_TRUE(tested.apply("the wheel of and that").rule);
}

std::string emails_masked(const std::string& text) {
    std::string out;
    return mask_emails(text, is_ascii_word, out) == 0 ? text : out;
}
std::string ips_masked(const std::string& text) {
    std::string out;
    return mask_public_ips(text, out) == 0 ? text : out;
}

TEST(text_quality, emails_are_those_of_the_expression) {
    const std::regex expression(slow::email_expression);
    std::mt19937_64 chance(9);
    static constexpr std::string_view parts[] = {"a", "b.", ".",      "@",   "@",   "x@y.z", "-",
                                                 "[", "]",  "1.2.3.", "250", "256", "tag:]", "_",
                                                 "{", " ",  ".com",   "..",  "9",   "é"};
    std::uint64_t found = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (std::uint64_t i = chance() % 14; i > 0; --i) text += parts[chance() % (std::size(parts) - 1)];
        const std::string truth =
            slow::masked(text, expression, {"email@example.com", "firstname.lastname@example.org"});
        found += truth != text ? 1 : 0;
        ASSERT_EQ(emails_masked(text), truth) << text;
    }
    EXPECT_GT(found, 500U);
}

TEST(text_quality, public_addresses_are_masked) {
    EXPECT_EQ(ips_masked("ping 8.8.8.8, then 1.1.1.1."), "ping 22.214.171.124, then 126.96.36.199.");
    for (const std::string kept :
         {"10.1.2.3", "127.0.0.1", "192.168.0.255", "172.16.0.1", "172.31.255.255", "169.254.1.1",
          "100.64.0.1", "100.127.255.255", "0.1.2.3", "198.18.0.1", "203.0.113.9", "240.0.0.1",
          "255.255.255.255", "192.0.0.8", "08.8.8.8", "1.2.3", "1.2.3.", "a.b.c.d"})
        EXPECT_EQ(ips_masked(kept), kept);
    for (const std::string gone :
         {"172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.0.9", "224.0.0.1", "9.9.9.9"})
        EXPECT_EQ(ips_masked(gone), "22.214.171.124") << gone;
    EXPECT_EQ(ips_masked("1.2.3.4567"), "22.214.171.12467");
    EXPECT_EQ(ips_masked("1999.2.3.4"), "1922.214.171.124");
    EXPECT_EQ(ips_masked("1.2.3.4.5.6.7.8"), "22.214.171.124.126.96.36.199");
    EXPECT_EQ(ips_masked("10.0.0.1.2.3.4"), "10.0.0.1.2.3.4")
        << "what a private address has is not looked at again";
    EXPECT_EQ(ips_masked("11.0.0.1.2.3.4"), "22.214.171.124.2.3.4");
}

TEST(text_quality, public_addresses_are_those_of_the_expression) {
    std::mt19937_64 chance(10);
    static constexpr std::string_view parts[] = {"1", "2", "25", "255",     "256", "9",
                                                 ".", ".", ".",  "8.8.8.8", " ",   "99"};
    const std::regex expression("(?:" + slow::octet_expression + "\\.){3}" + slow::octet_expression),
        reserved("(^|[^0-9])?(25[0-9]|2[4-9][0-9])");
    std::uint64_t found = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (std::uint64_t i = chance() % 16; i > 0; --i) text += parts[chance() % std::size(parts)];
        const std::string truth = slow::masked(text, expression,
                                               {"22.214.171.124", "126.96.36.199", "188.8.131.52",
                                                "184.108.40.206", "220.127.116.11", "18.104.22.168"});
        found += truth != text ? 1 : 0;
        // What is reserved stays: these parts make 255.x and 25x.x of class E, from 240 on.
        if (std::regex_search(text, reserved)) continue;
        ASSERT_EQ(ips_masked(text), truth) << text;
    }
    EXPECT_GT(found, 500U);
}

}  // namespace
}  // namespace quern::text_quality::text_quality_test
