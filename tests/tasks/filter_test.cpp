// SPDX-License-Identifier: Apache-2.0
// filter(): what it passes on, in which form, for any threads and memory; words of Unicode; files of rules; languages.
#include "quern/tasks/filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "corpus_fixture.hpp"
#include "ops/text_quality/judge_memory.hpp"
#include "quern/base/error.hpp"
#include "report/json.hpp"
#include "tasks/filter/document_filter.hpp"
#include "tasks/filter/filter_words.hpp"
#include "tasks/filter/removed_examples.hpp"

namespace quern::filter_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_file;
using testing::write_file;

std::string line_of(const std::string& id, const std::string& text) {
    std::string line = "{\"id\": ";  // not as Quern would write it
    report::append_json_string(line, id);
    line += ",  \"text\":";
    report::append_json_string(line, text);
    return line + ", \"more\":[1,2]}\n";
}

std::string made_text(testing::made_numbers& chance) {
    static constexpr std::string_view words[] = {"the",      "mill", "of",    "Wheel", "été",
                                                 "中文分词", "3.14", "don't", "…",     "#"};
    static constexpr std::string_view gaps[] = {" ",  " ",    " ",  ". ",   ".\n",
                                                "\n", "\n\n", ", ", "\r\n", " - "};
    std::string text;
    for (std::uint64_t i = chance(80); i > 0; --i) {
        text += words[chance(std::size(words))];
        text += gaps[chance(std::size(gaps))];
    }
    if (chance(9) == 0) text += " write to joe@example.org or 8.8.8.8.";
    return text;
}

class filter_test : public testing::corpus_fixture {
  protected:
    struct outcome {
        std::string kept, report;
        std::vector<std::string> removed;
        std::uint64_t changed = 0, emails = 0, ips = 0;
        friend bool operator==(const outcome&, const outcome&) = default;
    };
    static outcome outcome_of(filter_options options, const context& ctx) {
        outcome all;
        options.kept = [&](std::string_view bytes) { all.kept += bytes; };
        options.keep_examples = true;
        std::uint64_t next = 0;
        options.decided = [&](const filter_decision& d) {
            EXPECT_EQ(d.position, next++);
            if (!d.is_kept)
                all.removed.push_back(std::string(d.id) + " " + std::string(d.rule) + " " +
                                      std::string(d.value) + " " + std::string(d.limit));
        };
        const filter_result result = filter(options, ctx);
        EXPECT_EQ(result.found.documents, next);
        EXPECT_EQ(result.found.removed, all.removed.size());
        std::uint64_t by_rule = 0;
        for (const removed_by_rule& rule : result.removed_by()) by_rule += rule.documents;
        EXPECT_EQ(by_rule, all.removed.size());
        result.write_report([&](std::string_view bytes) { all.report += bytes; });
        all.changed = result.found.changed;
        all.emails = result.found.emails;
        all.ips = result.found.ips;
        return all;
    }
    filter_options options_for(const std::string& corpus, const std::string& rules,
                               const std::string& name = "c.jsonl") {
        filter_options options;
        options.inputs = {written(corpus, name)};
        if (!rules.empty()) options.rules.add(rules);
        return options;
    }
    std::string refusal(const std::string& toml) {
        write_file(folder_ / "rules.toml", toml);
        try {
            read_rules(folder_ / "rules.toml");
        } catch (const usage_error& refused) {
            std::string text = refused.what();
            const std::string path = (folder_ / "rules.toml").string();
            EXPECT_TRUE(text.starts_with(path)) << text;
            return text.substr(std::min(path.size(), text.size()));
        }
        return "accepted";
    }
};

TEST_F(filter_test, words_of_a_long_text_in_parts_are_those_of_the_whole) {
    testing::made_numbers chance(8);
    std::string text;
    while (text.size() < 1'200'000) text += made_text(chance);
    const bad_words none({});
    for (const word_split split : {word_split::unicode, word_split::whitespace}) {
        filter_words words(split, none);
        std::vector<text_quality::quality_word> parts;
        std::size_t count = 0;
        words.words_in_parts(text, [&](std::span<const text_quality::quality_word> some) {
            parts.insert(parts.end(), some.begin(), some.end());
            ++count;
        });
        EXPECT_GT(count, 3U);
        const auto whole = words.words_of(text);
        ASSERT_EQ(parts.size(), whole.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& a = parts[i];
            const auto& b = whole[i];
            ASSERT_EQ(std::tie(a.begin, a.end, a.characters, a.has_letter, a.is_symbol),
                      std::tie(b.begin, b.end, b.characters, b.has_letter, b.is_symbol));
        }
    }
}

TEST_F(filter_test, a_text_has_no_more_words_than_counted_for_its_memory) {
    static constexpr std::string_view parts[] = {
        "a",  "Z",  "7",  "_",  "été", "ß",    "Ω",      "ж",      "س",      "א",      "中",
        "の", "カ", "한", "ก",  ".",   "'",    ":",      ",",      "-",      "!",      "·",
        "×",  "÷",  " ",  "\n", "\t",  "\r\n", "\u0301", "\u200d", "\u00ad", "\u00a0", "🙂",
        "İ",  "ŉ",  "ﬁ",  "①",  "½",   "ŀ",    "\x01",   "e",      "e",      " "};
    testing::made_numbers chance(5);
    const bad_words none({});
    for (int round = 0; round < 20'000; ++round) {
        const std::uint64_t kinds = 1 + chance(std::size(parts)), first = chance(std::size(parts));
        std::string text;
        for (std::uint64_t i = chance(60); i > 0; --i)
            text += parts[(first + chance(kinds)) % std::size(parts)];
        for (const word_split split : {word_split::unicode, word_split::whitespace}) {
            filter_words words(split, none);
            ASSERT_LE(words.words_of(text).size(), text_quality::words_at_most(text).words) << text;
        }
    }
    EXPECT_EQ(text_quality::words_at_most("The mill's wheel, 3 times.").words, 9U);
    EXPECT_EQ(text_quality::words_at_most("Мельница été").words, 2U);
    EXPECT_EQ(text_quality::words_at_most("").words, 0U);
}

TEST_F(filter_test, memory_for_a_document_is_that_of_its_words) {
    filter_options options = options_for("", "gopher-repetition");
    const work_on_document work = work_of(options);
    std::string prose, symbols(3 << 20, '!');
    while (prose.size() < 3 << 20) prose += "wheels of the water mill turn slowly ";
    EXPECT_LT(work.of_text(prose), work.a_byte * prose.size() / 5);
    EXPECT_LE(work.of_text(symbols), work.a_byte * symbols.size());
    EXPECT_GT(work.of_text(symbols), 60 * symbols.size());
    options.rules = {};
    options.rules.add("gopher-quality");
    EXPECT_LT(work_of(options).of_text(prose), 8 * prose.size());
    options.mask_emails = true;
    EXPECT_EQ(
        work_of(options).of_text(prose) -
            [&] {
                filter_options without = options;
                without.mask_emails = false;
                return work_of(without).of_text(prose);
            }(),
        2 * prose.size());
}

TEST_F(filter_test, the_same_for_any_threads_and_memory) {
    testing::made_numbers chance(4);
    std::string corpus;
    for (int i = 0; i < 3000; ++i) corpus += line_of("d" + std::to_string(i), made_text(chance));
    filter_options options = options_for(corpus,
                                         "gopher-quality.min-words=5,gopher-repetition,c4.citations,c4.min-"
                                         "line-words=2,fineweb.max-line-ends=0.2");
    options.mask_emails = options.mask_ips = true;
    options.sample_removed = 3;
    const outcome one = outcome_of(options, context_with(1));
    EXPECT_GT(one.removed.size(), 500U);
    EXPECT_GT(one.changed, 100U);
    EXPECT_GT(one.emails, 10U);
    EXPECT_EQ(one.emails, one.ips);
    for (const unsigned threads : {2U, 8U})
        for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{8} << 20})
            ASSERT_TRUE(outcome_of(options, context_with(threads, memory)) == one)
                << threads << ", " << memory;
}

TEST_F(filter_test, kept_lines_stay_byte_for_byte_unless_their_text_changes) {
    const std::string a = line_of("a", "short"), b = line_of("b", "long enough to stay"),
                      c = line_of("c", "write to joe@example.org, \"please\"\n");
    filter_options options = options_for(a + b + c, "length.min-characters=6");
    EXPECT_EQ(outcome_of(options, context_with()).kept, b + c);
    EXPECT_THAT(outcome_of(options, context_with()).removed, ElementsAre("a length.min-characters 5 6"));
    options.mask_emails = true;
    EXPECT_EQ(
        outcome_of(options, context_with()).kept,
        b + "{\"id\": \"c\",  \"text\":\"write to email@example.com, \\\"please\\\"\\n\", \"more\":[1,2]}\n");
    options.wants_texts = true;
    std::vector<std::string> texts;
    options.decided = [&](const filter_decision& d) { texts.emplace_back(d.text); };
    filter(options, context_with());
    EXPECT_THAT(texts, ElementsAre("", "long enough to stay", "write to email@example.com, \"please\"\n"));
}

TEST_F(filter_test, lines_of_tables_keep_their_form) {
    filter_options tsv =
        options_for("a\tjoe@example.org here\nb\tgone\nc\tstays here\n", "length.min-characters=5", "t.tsv");
    tsv.mask_emails = true;
    EXPECT_EQ(outcome_of(tsv, context_with()).kept, "a\temail@example.com here\nc\tstays here\n");
    filter_options csv = options_for("id,year,text\na,1,\"Joe, joe@example.org\"\nb,2,gone\nc,3,stays\n",
                                     "length.min-characters=5", "t.csv");
    csv.mask_emails = true;
    EXPECT_EQ(outcome_of(csv, context_with()).kept,
              "id,year,text\na,1,\"Joe, email@example.com\"\nc,3,stays\n");
    // The line separator of Unicode is a line end for C4, and cannot be one in a line of TSV.
    filter_options c4 = options_for(
        "a\tOne two three.\xe2\x80\xa8"
        "Four five six.\nb\tx\n",
        "c4,c4.min-sentences=2", "s.tsv");
    EXPECT_EQ(outcome_of(c4, context_with()).kept, "a\tOne two three. Four five six.\n");
}

TEST_F(filter_test, a_folder_gets_one_output_for_each_input) {
    write_file(folder_ / "in" / "a.jsonl", line_of("1", "stays here") + line_of("2", "gone"));
    write_file(folder_ / "in" / "b.tsv", "3\tgone\n4\tstays, too\n");
    write_file(folder_ / "in" / "c.txt", "a text that stays\n");
    write_file(folder_ / "in" / "d.txt", "no\n");
    write_file(folder_ / "in" / "e.jsonl", line_of("5", "gone"));
    filter_options options;
    options.inputs = {folder_ / "in"};
    options.rules.add("length.min-characters=6");
    options.kept_folder = folder_ / "out";
    filter(options, context_with());
    std::map<std::string, std::string> outputs = testing::files_of(folder_ / "out");
    EXPECT_EQ(outputs.erase("manifest.json"), 1U);
    EXPECT_EQ(outputs, (std::map<std::string, std::string>{{"a.jsonl", line_of("1", "stays here")},
                                                           {"b.tsv", "4\tstays, too\n"},
                                                           {"c.txt", "a text that stays\n"},
                                                           {"e.jsonl", ""}}));
    write_file(folder_ / "in" / "c.txt", "a text of joe@example.org\n");
    options.mask_emails = true;
    options.kept_folder = folder_ / "other";
    try {
        filter(options, context_with());
        FAIL() << "accepted";
    } catch (const usage_error& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("c.txt: a rule or a mask changes the text of this document"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
    options.kept_folder.clear();
    EXPECT_THAT(outcome_of(options, context_with()).kept,
                HasSubstr("\"text\":\"a text of email@example.com"));
}

TEST_F(filter_test, a_run_that_failed_goes_on_after_the_files_that_were_read) {
    std::filesystem::create_directory(folder_ / "in");
    testing::made_numbers chance(11);
    for (int file = 0; file < 6; ++file) {
        std::string lines;
        for (int i = 0; i < 20; ++i)
            lines += line_of(std::to_string(file) + "-" + std::to_string(i), made_text(chance));
        write_file(folder_ / "in" / (std::to_string(file) + ".jsonl"), lines);
    }
    filter_options options;
    options.inputs = {folder_ / "in"};
    options.rules.add("length.min-words=30,c4");
    options.mask_emails = true;
    options.kept_folder = folder_ / "whole";
    std::vector<std::string> rows, again;
    options.decided = [&](const filter_decision& d) {
        rows.push_back(std::string(d.id) + " " + std::string(d.rule) + " " + std::string(d.value));
    };
    const filter_result whole = filter(options, context{});
    options.kept_folder = folder_ / "out";
    options.resume = true;
    options.part_bytes = 1;
    bool fails = true;
    options.decided = [&](const filter_decision& d) {
        if (fails && d.position == 70) throw invalid_input("x", 0, "stopped");
        again.push_back(std::string(d.id) + " " + std::string(d.rule) + " " + std::string(d.value));
    };
    EXPECT_THROW(filter(options, context{}), invalid_input);
    EXPECT_FALSE(is_kept_folder_complete(options));
    again.clear();
    fails = false;
    const filter_result resumed = filter(options, context{});
    EXPECT_EQ(again, rows);
    EXPECT_EQ(resumed.found.changed, whole.found.changed);
    EXPECT_EQ(resumed.found.emails, whole.found.emails);
    for (int file = 0; file < 6; ++file) {
        const std::string name = std::to_string(file) + ".jsonl";
        EXPECT_EQ(read_file(folder_ / "out" / name), read_file(folder_ / "whole" / name));
    }
    EXPECT_TRUE(is_kept_folder_complete(options));
    options.rules.set("length.min-words", "31");
    EXPECT_FALSE(is_kept_folder_complete(options));
}

TEST_F(filter_test, languages_come_first) {
    const std::string german = "Das Rad der alten Mühle dreht sich langsam im Wasser des kleinen Baches.",
                      english = "The wheel of the old mill turns slowly in the water of the little stream.",
                      hebrew = "הגלגל של הטחנה הישנה מסתובב לאט במים של הנחל הקטן.";
    const std::string corpus = line_of("de", german) + line_of("en", english) + line_of("he", hebrew) +
                               line_of("both", german + " " + english) + line_of("none", "12345 67890") +
                               line_of("controls", german + "\x01");
    filter_options options = options_for(corpus, "length.min-characters=3");
    options.languages = {"de", "iw"};
    options.language_score = {90, 100};
    const outcome found = outcome_of(options, context_with());
    ASSERT_EQ(found.removed.size(), 3U);
    EXPECT_EQ(found.removed[0], "en language en de,he");
    EXPECT_THAT(found.removed[1],
                ::testing::AnyOf(HasSubstr("both language-score 0."), HasSubstr("both language en de,he")));
    EXPECT_EQ(found.removed[2], "none language und de,he");
    EXPECT_THAT(found.report, HasSubstr("language-score"));
    options.languages = {"xx"};
    EXPECT_THROW(filter(options, context_with()), usage_error);
    EXPECT_EQ(detectable_languages().size(), 84U);
    for (const std::string_view code : detectable_languages()) EXPECT_EQ(detectable_language(code), code);
}

TEST_F(filter_test, lists_of_words) {
    write_file(folder_ / "bad.txt", "# a comment\nHeck\nvery bad\n:-(\nстрашно\n");
    const std::string corpus = line_of("a", "What the heck?") + line_of("b", "hecks and Heckler") +
                               line_of("c", "this is VERY BAD!") + line_of("d", "very badly") +
                               line_of("e", "oh :-(") + line_of("f", "x:-(") + line_of("g", "это СТРАШНО.") +
                               line_of("h", "heck_");
    const outcome found =
        outcome_of(options_for(corpus, "c4.bad-words=" + (folder_ / "bad.txt").string()), context_with());
    EXPECT_THAT(found.removed, ElementsAre("a c4.bad-words 1 ", "c c4.bad-words 1 ", "e c4.bad-words 1 ",
                                           "g c4.bad-words 1 "));
    filter_options missing = options_for(corpus, "c4.bad-words=" + (folder_ / "none.txt").string());
    EXPECT_THROW(filter(missing, context_with()), usage_error);
    const outcome stop =
        outcome_of(options_for(line_of("a", "der Bach und das Rad") + line_of("b", "the wheel and that"),
                               "gopher-quality.min-stop-words=2,gopher-quality.stop-words=de"),
                   context_with());
    EXPECT_THAT(stop.removed, ElementsAre("b gopher-quality.min-stop-words 0 2"));
}

TEST_F(filter_test, words_of_unicode_and_symbols) {
    const bad_words none({});
    filter_words unicode(word_split::unicode, none), blanks(word_split::whitespace, none);
    const std::string text = "Don't stop\u2014now! 3.14\u00a0e.g. \u4e2d\u6587 \u00adx_1 ...";
    std::vector<std::string> words;
    for (const auto& w : unicode.words_of(text))
        words.push_back(text.substr(w.begin, w.end - w.begin) + (w.has_letter ? "+" : "") +
                        (w.is_symbol ? "#" : "") + std::to_string(w.characters));
    EXPECT_THAT(words, ElementsAre("Don't+5", "stop+4", "\u2014#1", "now+3", "!#1", "3.144", "e.g+3", ".#1",
                                   "\u4e2d\u6587+2", "\u00ad1", "x_1+3", ".#1", ".#1", ".#1"));
    words.clear();
    for (const auto& w : blanks.words_of(text)) words.push_back(text.substr(w.begin, w.end - w.begin));
    EXPECT_THAT(words,
                ElementsAre("Don't", "stop\u2014now!", "3.14", "e.g.", "\u4e2d\u6587", "\u00adx_1", "..."));
    // Every character that is not white space is in exactly one word, in order.
    testing::made_numbers chance(11);
    for (int round = 0; round < 300; ++round) {
        const std::string made = made_text(chance) + "\ufdfa\u1e9e\u0130 e\u0301\u200d\U0001f642";
        std::string joined, solid;
        std::uint32_t end = 0;
        for (const auto& w : unicode.words_of(made)) {
            ASSERT_GE(w.begin, end);
            end = w.end;
            joined += made.substr(w.begin, w.end - w.begin);
        }
        for (const auto& w : blanks.words_of(made)) solid += made.substr(w.begin, w.end - w.begin);
        ASSERT_EQ(joined, solid) << made;
    }
}

TEST_F(filter_test, files_of_rules) {
    write_file(folder_ / "r.toml",
               "rules = [\n  \"fineweb.max-short-lines\",\n  "
               "\"gopher-quality\",\n]\n[gopher-quality]\nmin-words = 20\n"
               "max-hashes = 0.25\nmin-stop-words = false\nstop-words = [\"der\", \"und\"]\n[fineweb]\n"
               "short-line-characters = 10\n");
    EXPECT_EQ(read_rules(folder_ / "r.toml").text(),
              "fineweb.max-short-lines=0.67,fineweb.short-line-characters=10,gopher-quality.min-words=20,"
              "gopher-quality.max-words=100000,gopher-quality.min-mean-word-length=3,"
              "gopher-quality.max-mean-word-length=10,gopher-quality.max-hashes=0.25,gopher-quality.max-"
              "ellipses=0.1,"
              "gopher-quality.max-bullet-lines=0.9,gopher-quality.max-ellipsis-lines=0.3,"
              "gopher-quality.min-words-with-letter=0.8,gopher-quality.stop-words=(2 words)");
    write_file(
        folder_ / "r.toml",
        "# order of the tables\n[length]\nmin-words = 5\n[c4]\ncitations = false\nbad-words = 'b.txt'\n");
    const rule_choice rules = read_rules(folder_ / "r.toml");
    EXPECT_TRUE(rules.text().starts_with("length.min-words=5,c4.bad-words=" + (folder_ / "b.txt").string() +
                                         ",c4.max-word"))
        << rules.text();
    EXPECT_FALSE(rules.has("c4.citations"));

    // A group without defaults takes its place from the list, and its rules from its table.
    const auto text_of = [&](const std::string& bytes) {
        write_file(folder_ / "r.toml", bytes);
        return read_rules(folder_ / "r.toml").text();
    };
    const std::string paragraphs = text_of("[c4-paragraphs]\n");
    EXPECT_EQ(text_of("rules = ['c4-paragraphs', ' length ']\n[length]\nmin-words = 5\n[c4-paragraphs]\n"),
              paragraphs + ",length.min-words=5");
    EXPECT_EQ(text_of("rules = 'length,c4-paragraphs'\n[length]\nmin-words = 5\n"),
              "length.min-words=5," + paragraphs);
    EXPECT_THAT(refusal("rules = ['length']\n[length]\nmin-words = -5\n"),
                HasSubstr(":3: length.min-words: invalid value '-5'"));
    EXPECT_THAT(refusal("rules = ['length']\n[length]\n"), HasSubstr(":1: the rules of length have no"));

    EXPECT_THAT(refusal("[gopher-quality]\nmin-words = = 3\n"), HasSubstr(":2: "));
    EXPECT_THAT(refusal("\n[gopher-qualty]\n"), HasSubstr(":2: there is no rule or group 'gopher-qualty'"));
    EXPECT_THAT(refusal("[c4]\n\njavscript = true\n"), HasSubstr(":3: c4 has no rule 'javscript'"));
    EXPECT_THAT(refusal("[c4]\njavascript = 2\n"), HasSubstr(":2: c4.javascript: invalid value '2'"));
    EXPECT_THAT(refusal("[fineweb]\nmin-lines = -2\n"),
                HasSubstr(":2: fineweb.min-lines: invalid value '-2'"));
    EXPECT_THAT(refusal("[fineweb]\nmin-lines = 1979-05-27\n"),
                HasSubstr(":2: fineweb.min-lines: expected a number"));
    EXPECT_THAT(refusal("[fineweb]\nmin-lines = nan\n"),
                HasSubstr(":2: fineweb.min-lines: invalid value 'nan'"));
    EXPECT_THAT(refusal("rules = [\"c4\",\n \"c5\"]\n"), HasSubstr(":2: there is no rule or group 'c5'"));
    EXPECT_THAT(refusal("rules = [\"c4\",\n 5]\n"),
                HasSubstr(":2: rules: expected names of rules in quotes"));
    EXPECT_THAT(refusal("rules = [\"c4\"]\n[fineweb]\nmin-lines = 2\n"),
                HasSubstr(":2: [fineweb] is not among the rules"));
    EXPECT_THAT(refusal("c4 = 3\n"), HasSubstr(":1: c4: expected rules = [...], or a table"));
    EXPECT_THAT(refusal("[gopher-quality]\nstop-words = [\"a\",\n3]\n"),
                HasSubstr(":3: gopher-quality.stop-words: expected words"));
    EXPECT_THAT(refusal("[length]\n"), HasSubstr(":1: the rules of length have no defaults"));
    EXPECT_THAT(refusal("# nothing\n"), HasSubstr(": there is no rule in the file"));
    EXPECT_THAT(refusal("rules = []\n"), HasSubstr(": there is no rule in the file"));
    EXPECT_THAT(refusal(std::string(2 << 20, '#')), HasSubstr(": the file is too large"));
    EXPECT_THAT(refusal("a = " + std::string(100'000, '[')), HasSubstr(":1: "));
    EXPECT_THROW(read_rules(folder_ / "missing.toml"), usage_error);
}

TEST_F(filter_test, refuses_what_makes_no_sense) {
    filter_options options = options_for(line_of("a", "x"), "");
    EXPECT_THROW(filter(options, context_with()), usage_error);
    options.rules.add("c4");
    options.language_score = {2, 1};
    EXPECT_THROW(filter(options, context_with()), usage_error);
    options.language_score = {1, 2};
    options.kept = [](std::string_view) {};
    options.kept_folder = folder_ / "out";
    EXPECT_THROW(filter(options, context_with()), usage_error);
    options.kept_folder.clear();
    options.inputs = {folder_ / "missing"};
    EXPECT_THROW(filter(options, context_with()), usage_error);
    EXPECT_THROW(filter(options_for("", "c4", "empty.jsonl"), context_with()), error);
}

TEST_F(filter_test, examples_are_the_first_and_some_by_hash) {
    removed_examples examples(2, 2);
    for (int i = 0; i < 100; ++i)
        examples.consider(1, static_cast<std::uint64_t>(i), "d" + std::to_string(i), "0.5", "text");
    const auto all = examples.of_rule(1);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].id, "d0");
    EXPECT_EQ(all[1].id, "d1");
    EXPECT_LT(all[2].position, all[3].position);
    EXPECT_TRUE(examples.of_rule(0).empty());
    const std::string longer = std::string(removed_examples::text_bytes - 1, 'x') + "é and more";
    examples.consider(0, 0, "cut", "1", longer);
    EXPECT_EQ(examples.of_rule(0)[0].text.size(), removed_examples::text_bytes - 1);
    EXPECT_EQ(examples.of_rule(0)[0].bytes, longer.size());
}

}  // namespace
}  // namespace quern::filter_test
