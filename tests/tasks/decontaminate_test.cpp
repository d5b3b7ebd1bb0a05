// SPDX-License-Identifier: Apache-2.0
// decontaminate() against the slow version over the analyser's words: hostile texts, every word rule, huge documents, any
// threads and memory; and what it passes on.
#include "quern/tasks/decontaminate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/document_source.hpp"
#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "reference/contamination_reference.hpp"
#include "report/json.hpp"
#include "tasks/decontaminate/kept_writer.hpp"
#include "tasks/decontaminate/leak_examples.hpp"
#include "temporary_folder.hpp"

namespace quern::decontaminate_test {
namespace {

using reference::contamination_words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::write_file;
using named_text = std::pair<std::string, std::string>;

std::string lines_of(const std::vector<named_text>& documents) {
    std::string lines;
    for (const auto& [id, text] : documents) {
        lines += "{\"id\": ";  // not as Quern would write it
        report::append_json_string(lines, id);
        lines += ",  \"text\":";
        report::append_json_string(lines, text);
        lines += ", \"more\":[1,2]}\n";
    }
    return lines;
}

/// A match with ids: item, document, found, of, begin, end.
using named_match =
    std::tuple<std::string, std::string, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

std::vector<named_match> named(const decontaminate_result& result) {
    std::vector<named_match> all;
    for (const contamination& m : result.matches())
        all.emplace_back(result.item(m.item).id, result.contaminated(m.document).id, m.found, m.of, m.begin,
                         m.end);
    return all;
}

/// The slow way, over whole texts.
std::vector<named_match> expected(const std::vector<named_text>& items,
                                  const std::vector<named_text>& documents,
                                  const decontaminate_options& options) {
    text::analyzer analyzer(options.text);
    std::map<std::string, std::uint32_t> numbers;
    const auto words_of = [&](const std::vector<named_text>& texts) {
        std::vector<contamination_words> all;
        for (const auto& [id, text] : texts) {
            text::token_list list;
            analyzer.analyze(text, list);
            contamination_words words;
            for (const text::token& t : list.tokens) {
                const auto next = static_cast<std::uint32_t>(numbers.size());
                words.words.push_back(numbers.emplace(list.word(t), next).first->second);
                words.begins.push_back(t.source_begin);
                words.ends.push_back(t.source_end);
            }
            all.push_back(std::move(words));
        }
        return all;
    };
    const auto item_words = words_of(items), document_words = words_of(documents);
    std::vector<named_match> all;
    for (const contamination& c :
         reference::contaminations(item_words, document_words, options.contamination))
        all.emplace_back(items[c.item].first, documents[c.document].first, c.found, c.of, c.begin, c.end);
    return all;
}

/// Few words, written in many ways, with separators of all kinds.
class text_maker {
  public:
    explicit text_maker(std::uint64_t seed) : next_(seed) {}

    std::string words(std::uint64_t count) {
        static constexpr std::string_view words[] = {"mill",
                                                     "Mill",
                                                     "MILL",
                                                     "corn",
                                                     "stra\u00dfe",
                                                     "STRASSE",
                                                     "\u00e9t\u00e9",
                                                     "e\u0301te\u0301",
                                                     "1\u202f000",
                                                     "a",
                                                     "\u4e2d\u6587\u5206\u8bcd",
                                                     "\ufdfa",
                                                     "don't",
                                                     "3.14"};
        static constexpr std::string_view gaps[] = {" ",        "\n\n",   ", ", "\t",
                                                    " \u202f ", "\u00a0", ". ", " \u2014 "};
        std::string text;
        for (; count > 0; --count) {
            text += words[next_(std::size(words))];
            text += gaps[next_(std::size(gaps))];
        }
        return text;
    }
    std::uint64_t operator()(std::uint64_t below) { return next_(below); }

  private:
    testing::made_numbers next_;
};

class decontaminate_test : public testing::corpus_fixture {
  protected:
    decontaminate_options options_for(const std::string& train, const std::string& eval) {
        decontaminate_options options;
        options.inputs = {written(train, "train.jsonl")};
        options.against.inputs = {written(eval, "eval.jsonl")};
        return options;
    }
    decontaminate_options options_for(const std::vector<named_text>& train,
                                      const std::vector<named_text>& eval) {
        return options_for(lines_of(train), lines_of(eval));
    }

    /// The result, the documents passed on and the report.
    struct outcome {
        std::vector<named_match> matches;
        std::string kept, report;
        friend bool operator==(const outcome&, const outcome&) = default;
    };
    static outcome outcome_of(decontaminate_options options, const context& ctx) {
        outcome all;
        options.kept = [&](std::string_view bytes) { all.kept += bytes; };
        options.keep_examples = true;
        const decontaminate_result result = decontaminate(options, ctx);
        all.matches = named(result);
        result.write_report([&](std::string_view bytes) { all.report += bytes; });
        return all;
    }
};

std::vector<named_text> made_items(text_maker& make, std::uint64_t count) {
    std::vector<named_text> items;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::string text = i % 7 == 3 ? "" : i % 7 == 5 ? " ... !" : make.words(make(12));
        if (i % 5 == 4) text = items[make(i)].second;
        items.emplace_back("q" + std::to_string(i), text);
    }
    return items;
}

TEST_F(decontaminate_test, equals_the_reference_for_hostile_texts_threads_and_memory) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        text_maker make(seed);
        const auto items = made_items(make, 40);
        std::vector<named_text> documents;
        for (int d = 0; d < 120; ++d) {
            std::string text = make.words(make(30));
            for (std::uint64_t parts = make(3); parts > 0; --parts)
                text += items[make(items.size())].second + "\n\n" + make.words(make(4));
            documents.emplace_back("d" + std::to_string(d),
                                   d % 10 == 9 ? items[make(items.size())].second : text);
        }
        decontaminate_options options = options_for(documents, items);
        options.contamination.ngram = seed % 3 == 0 ? 2 : seed % 3 == 1 ? 5 : 7;
        options.contamination.overlap = seed % 2 == 0 ? decimal{5, 10} : decimal{8, 10};
        if (seed % 4 == 1) options.text.tokens = token_rule::ascii;
        if (seed % 4 == 2) options.text.stem = stemmer::porter;
        if (seed % 4 == 3) options.text.min_length = 2;
        const outcome one = outcome_of(options, context_with(1));
        ASSERT_EQ(one.matches, expected(items, documents, options)) << "seed " << seed;
        EXPECT_FALSE(one.matches.empty());
        for (const unsigned threads : {2U, 8U})
            for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{4} << 20})
                ASSERT_EQ(outcome_of(options, context_with(threads, memory)), one)
                    << threads << ", " << memory;

        std::map<std::string, bool> is_contaminated;
        for (const named_match& m : one.matches) is_contaminated[std::get<1>(m)] = true;
        std::vector<named_text> kept;
        for (const named_text& d : documents)
            if (!is_contaminated[d.first]) kept.push_back(d);
        EXPECT_EQ(one.kept, lines_of(kept));
    }
}

TEST_F(decontaminate_test, invalid_utf8_separates_words_as_everywhere) {
    const std::vector<named_text> items = {{"q", "\u00e9t\u00e9 \u00e9t\u00e9 one two \xff\xfe three four"}},
                                  documents = {
                                      {"other",
                                       "one two thr\xff"
                                       "ee four"},
                                      {"same", "\u00e9t\u00e9 \u00e9t\u00e9 one two \xc3 three four five"}};
    range_source train(documents), eval(items);
    decontaminate_options options;
    options.source = &train;
    options.against.source = &eval;
    const auto result = decontaminate(options, context_with());
    ASSERT_EQ(result.matches().size(), 1U);
    EXPECT_EQ(result.contaminated(0).id, "same");
    EXPECT_EQ(result.contaminated(0).position, 1U);
}

TEST_F(decontaminate_test, a_document_of_many_pieces_is_found_across_them) {
    // Words are analysed in pieces of about 256 KiB; the items stand at every place around the borders.
    std::string huge;
    std::vector<named_text> items;
    for (int i = 0; huge.size() < (3 << 18); ++i) {
        const std::string word = "w" + std::to_string(i) + " ";
        huge += word;
        if (i % 5 == 0) items.emplace_back("q" + std::to_string(i), "");
        for (std::size_t back = 1; back <= 3 && back <= items.size(); ++back)
            items[items.size() - back].second += word;
    }
    const std::vector<named_text> documents = {{"small", items[7].second}, {"huge", huge}};
    for (const unsigned ngram : {13U, 20U}) {
        decontaminate_options options = options_for(documents, items);
        options.contamination = {ngram, {1, 1}};
        const auto result = decontaminate(options, context_with());
        EXPECT_EQ(result.found.found_items, items.size());
        EXPECT_EQ(result.matches().size(), items.size() + 1);
        EXPECT_EQ(result.found.contaminated, 2U);
        for (const contamination& m : result.matches()) {
            const std::string_view text = documents[m.document].second;
            EXPECT_EQ(std::string(text.substr(m.begin, m.end - m.begin)) + " ", items[m.item].second);
        }
    }
}

TEST_F(decontaminate_test, word_lines_are_found_across_pieces) {
    std::string lines;
    std::vector<named_text> items;
    for (int i = 0; lines.size() < (3 << 18); ++i) {
        const std::string word = "w" + std::to_string(i);
        lines += word + '\n';
        if (i % 4 == 0) items.emplace_back("q" + std::to_string(i), "");
        for (std::size_t back = 1; back <= 4 && back <= items.size(); ++back)
            items[items.size() - back].second += word + " ";
    }
    decontaminate_options options = options_for({}, items);
    options.inputs = {written(lines, "train.txt")};
    options.input_format = "lines";
    const auto result = decontaminate(options, context_with());
    ASSERT_EQ(result.matches().size(), items.size());
    for (const contamination& m : result.matches()) {
        std::string found = lines.substr(m.begin, m.end - m.begin) + " ";
        std::ranges::replace(found, '\n', ' ');
        ASSERT_EQ(found, items[m.item].second);
    }
}

TEST_F(decontaminate_test, counts_items_documents_and_sets) {
    write_file(folder_ / "a.jsonl",
               lines_of({{"1", "one two three four"}, {"2", "..."}, {"3", ""}, {"4", "five six"}}));
    write_file(folder_ / "b.jsonl", lines_of({{"1", "seven eight nine ten"}, {"5", "one two three four"}}));
    decontaminate_options options =
        options_for({{"x", "zero one two three four five"}, {"y", "nothing"}, {"x2", "five six"}}, {});
    options.against.inputs = {folder_ / "a.jsonl", folder_ / "b.jsonl"};
    options.contamination.ngram = 3;
    options.keep_examples = true;
    const auto result = decontaminate(options, context_with());
    EXPECT_EQ(result.found.items, 6U);
    EXPECT_EQ(result.found.empty_items, 2U);
    EXPECT_EQ(result.found.short_items, 1U);
    EXPECT_EQ(result.found.found_items, 3U);
    EXPECT_EQ(result.found.documents, 3U);
    EXPECT_EQ(result.found.contaminated, 2U);
    EXPECT_THAT(named(result),
                ElementsAre(named_match{"1", "x", 2, 2, 5, 23}, named_match{"4", "x2", 1, 1, 0, 8},
                            named_match{"5", "x", 2, 2, 5, 23}));
    EXPECT_EQ(result.item(4).id, (folder_ / "b.jsonl:1").string());
    EXPECT_EQ(result.item(4).set, 1U);
    EXPECT_EQ(result.item(1).words, 0U);
    EXPECT_EQ(result.contaminated(1).position, 2U);
    std::string page;
    result.write_report([&](std::string_view bytes) { page += bytes; });
    EXPECT_THAT(
        page,
        HasSubstr("a.jsonl</td><td class=\"n\">4</td><td class=\"n\">2</td><td class=\"n\">50.00%</td>"));
    EXPECT_THAT(page, HasSubstr("b.jsonl</td><td class=\"n\">2</td><td class=\"n\">1</td>"));
    EXPECT_THAT(page, HasSubstr("<b>1</b> of " + (folder_ / "a.jsonl").string() +
                                ", in <b>x</b>: 2 of 2 n-grams, bytes 5 to 23"));
}

TEST_F(decontaminate_test, documents_from_memory_give_the_same) {
    text_maker make(3);
    const auto items = made_items(make, 20);
    std::vector<named_text> documents;
    for (int d = 0; d < 30; ++d)
        documents.emplace_back("d" + std::to_string(d), make.words(make(20)) + items[make(20)].second);
    decontaminate_options options = options_for(documents, items);
    options.contamination.ngram = 3;
    const auto from_files = named(decontaminate(options, context_with()));
    EXPECT_FALSE(from_files.empty());
    range_source train(documents);
    range_source eval(items);
    decontaminate_options in_memory;
    in_memory.contamination = options.contamination;
    in_memory.source = &train;
    in_memory.against.source = &eval;
    EXPECT_EQ(named(decontaminate(in_memory, context_with())), from_files);
}

TEST_F(decontaminate_test, tsv_is_passed_on_unchanged_unless_mixed) {
    const std::string tsv = "a\tone two three\r\nb\tfour five six\nc\tseven";
    write_file(folder_ / "t.tsv", tsv);
    decontaminate_options options = options_for({}, {{"q", "four five six"}});
    options.inputs = {folder_ / "t.tsv"};
    EXPECT_EQ(outcome_of(options, context_with()).kept, "a\tone two three\r\nc\tseven\n");
    write_file(folder_ / "j.jsonl", R"({"id":"c","text":"eight"})");
    options.inputs = {folder_ / "t.tsv", folder_ / "j.jsonl"};
    EXPECT_EQ(outcome_of(options, context_with()).kept,
              "{\"id\":\"a\",\"text\":\"one two three\"}\n{\"id\":\"c\",\"text\":\"seven\"}\n"
              "{\"id\":\"c\",\"text\":\"eight\"}\n");
    options.inputs = {folder_ / "j.jsonl", folder_ / "t.tsv"};
    EXPECT_EQ(outcome_of(options, context_with()).kept,
              "{\"id\":\"c\",\"text\":\"eight\"}\n{\"id\":\"a\",\"text\":\"one two three\"}\n"
              "{\"id\":\"" +
                  (folder_ / "t.tsv").string() + ":c\",\"text\":\"seven\"}\n");
}

TEST_F(decontaminate_test, refuses_bad_requests_and_too_much_evaluation_data) {
    const decontaminate_options fine = options_for({{"d", "one"}}, {{"q", "two"}});
    decontaminate_options options = fine;
    options.against.inputs.clear();
    EXPECT_THROW(decontaminate(options, context_with()), usage_error);
    options = fine;
    options.against.inputs = {folder_ / "missing"};
    EXPECT_THROW(decontaminate(options, context_with()), usage_error);
    options = fine;
    options.contamination.overlap = {0, 1};
    EXPECT_THROW(decontaminate(options, context_with()), usage_error);
    options = fine;
    options.inputs = {written("", "empty.jsonl")};
    options.input_format = "jsonl";
    EXPECT_THROW(decontaminate(options, context_with()), invalid_input);
    options = fine;
    EXPECT_THROW(decontaminate(fine, context_with()).write_report([](std::string_view) {}), usage_error);
    options.kept = [](std::string_view) { throw std::runtime_error("the receiver failed"); };
    EXPECT_THROW(decontaminate(options, context_with()), std::runtime_error);

    text_maker make(1);
    std::vector<named_text> many;
    for (int i = 0; i < 4000; ++i)
        many.emplace_back("q" + std::to_string(i), make.words(40) + std::to_string(i));
    options = options_for({{"d", "one"}}, many);
    EXPECT_EQ(decontaminate(options, context_with(2, std::uint64_t{256} << 20)).found.items, 4000U);
    try {
        decontaminate(options, context_with(2, std::uint64_t{4} << 20));
        FAIL() << "too much evaluation data was accepted";
    } catch (const out_of_memory& e) {
        EXPECT_THAT(e.what(), HasSubstr("the evaluation data, which may take half of the budget, needs"));
    }
}

TEST_F(decontaminate_test, nothing_found_keeps_everything) {
    const std::vector<named_text> documents = {{"a", "one two"}, {"b", ""}, {"c", "three"}};
    const outcome all = outcome_of(options_for(documents, {{"q", "four five"}, {"r", ""}}), context_with());
    EXPECT_THAT(all.matches, IsEmpty());
    EXPECT_EQ(all.kept, lines_of(documents));
    EXPECT_THAT(all.report, Not(HasSubstr("largest leaks")));
}

TEST_F(decontaminate_test, a_folder_gets_one_output_for_each_file_and_a_run_goes_on_after_any_part) {
    namespace fs = std::filesystem;
    const std::string leak = "the wheel turns nine times";
    write_file(folder_ / "in/a.jsonl", lines_of({{"1", "stays"}, {"2", "that " + leak + " an hour"}}));
    write_file(folder_ / "in/b.tsv", "3\t" + leak + "\n4\tstays, too\n");
    write_file(folder_ / "in/c.txt", "a page that stays\n");
    write_file(folder_ / "in/d.txt", "a page where " + leak + "\n");
    write_file(folder_ / "in/e.jsonl", lines_of({{"2", "how " + leak + ", and who counts them"}}));
    write_file(folder_ / "test.jsonl", lines_of({{"x", leak}, {"y", "who counts them"}}));
    decontaminate_options options;
    options.inputs = {folder_ / "in"};
    options.against.inputs = {folder_ / "test.jsonl"};
    options.contamination.ngram = 3;
    options.kept_folder = folder_ / "whole";
    const decontaminate_result whole = decontaminate(options, context_with());
    EXPECT_FALSE(fs::exists(folder_ / "whole"));
    whole.write_kept_folder(context_with());
    std::map<std::string, std::string> expected = testing::files_of(folder_ / "whole");
    std::map<std::string, std::string> outputs = expected;
    EXPECT_EQ(outputs.erase("manifest.json"), 1U);
    EXPECT_EQ(outputs, (std::map<std::string, std::string>{{"a.jsonl", lines_of({{"1", "stays"}})},
                                                           {"b.tsv", "4\tstays, too\n"},
                                                           {"c.txt", "a page that stays\n"},
                                                           {"e.jsonl", ""}}));

    options.kept_folder = folder_ / "out";
    options.resume = true;
    options.part_bytes = 1;  // a part for each file with records
    const auto work = [&] {
        for (const auto& entry : fs::directory_iterator(folder_.path()))
            if (entry.is_directory() && entry.path().filename().native().starts_with(".out.quern-"))
                return entry.path();
        return fs::path();
    };
    const auto leave = [&] { decontaminate(options, context_with()); };
    leave();
    unsigned parts = 0;
    const auto part = [&](unsigned number) { return work() / ("00000" + std::to_string(number) + ".json"); };
    while (fs::exists(part(parts))) ++parts;
    ASSERT_GE(parts, 3U);
    for (unsigned kept = 0; kept <= parts; ++kept) {
        SCOPED_TRACE(kept);
        if (work().empty()) leave();
        for (unsigned p = kept; p < parts; ++p) fs::remove(part(p));
        EXPECT_FALSE(is_kept_folder_complete(options));
        const decontaminate_result resumed = decontaminate(options, context_with());
        EXPECT_EQ(named(resumed), named(whole));
        EXPECT_EQ(resumed.found.documents, whole.found.documents);
        EXPECT_EQ(resumed.contaminated(2).position, whole.contaminated(2).position);
        resumed.write_kept_folder(context_with());
        EXPECT_EQ(testing::files_of(folder_ / "out"), expected);
        EXPECT_TRUE(is_kept_folder_complete(options));
        EXPECT_EQ(work(), fs::path());
        fs::remove_all(folder_ / "out");
    }

    leave();
    write_file(folder_ / "test.jsonl", lines_of({{"x", "stays"}}));
    try {
        decontaminate(options, context_with());
        FAIL() << "another set was accepted";
    } catch (const usage_error& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("test.jsonl was changed"));
    }
    options.kept_folder.clear();
    EXPECT_THROW(decontaminate(options, context_with()), usage_error);
    options.resume = false;
    EXPECT_THROW(decontaminate(options, context_with()).write_kept_folder(context_with()), usage_error);
    options.kept_folder = folder_ / "out";
    options.kept = [](std::string_view) {};
    EXPECT_THROW(decontaminate(options, context_with()), usage_error);
}

TEST(leak_examples_test, keeps_the_largest_of_each_item_in_any_order) {
    testing::made_numbers next(5);
    for (int round = 0; round < 20; ++round) {
        leak_examples examples;
        std::map<std::uint32_t, contamination> best;
        for (std::uint32_t d = 0; d < 300; ++d) {
            const contamination leak{
                static_cast<std::uint32_t>(next(60)), d, static_cast<std::uint32_t>(1 + next(20)), 20, 2, 5};
            examples.consider(leak, "ab\u00e9cdefghij");
            const auto at = best.emplace(leak.item, leak).first;
            if (leak.found > at->second.found) at->second = leak;
        }
        std::vector<contamination> all;
        for (const auto& [item, leak] : best) all.push_back(leak);
        std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.found > b.found; });
        all.resize(leak_examples::kept);
        std::vector<contamination> kept;
        for (const leak_example& e : examples.examples()) kept.push_back(e.leak);
        ASSERT_EQ(kept, all);
        EXPECT_EQ(examples.examples()[0].before, "ab");
        EXPECT_EQ(examples.examples()[0].leaked, "\u00e9c");
        EXPECT_EQ(examples.examples()[0].after, "defghij");
    }
}

}  // namespace
}  // namespace quern::decontaminate_test
