// SPDX-License-Identifier: Apache-2.0
// dedup_parts(): the cuts are those of the slow version, the output has the rest of every document and all other bytes, in
// every form; sets, threads, memory, whole words, and what is refused.
#include "quern/tasks/dedup_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"
#include "reference/repeated_text_reference.hpp"

namespace quern::dedup_parts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct named_cut {
    std::string id;
    std::uint64_t begin = 0, end = 0;
    std::string first;
    friend bool operator==(const named_cut&, const named_cut&) = default;
};

void PrintTo(const named_cut& cut, std::ostream* out) {
    *out << cut.id << " [" << cut.begin << ", " << cut.end << ") from " << cut.first;
}

std::vector<named_cut> named(const dedup_parts_result& result) {
    std::vector<named_cut> out;
    for (const text_cut& cut : result.cuts())
        out.push_back(
            {std::string(result.id(cut.document)), cut.begin, cut.end, std::string(result.id(cut.first))});
    return out;
}

std::string written_by(const dedup_parts_result& result) {
    std::string out;
    result.write_kept([&](std::string_view bytes) { out += bytes; });
    return out;
}

std::string json_of(const std::string& text) {
    return nlohmann::json(text).dump();
}

/// Texts of few sentences and odd characters, some of them copies of earlier ones.
std::vector<std::string> generated(std::uint64_t seed, std::size_t count) {
    testing::made_numbers next(seed);
    const std::string pieces[] = {"The mill stands by the river. ",
                                  "Its wheel turns all night.\n",
                                  "\n\n",
                                  "\r\n",
                                  "\"quoted\" \\ and \t tab",
                                  "M\xC3\xA4rz \xE2\x82\xAC 5 \xF0\x9F\x98\x80 ",
                                  "\x01",
                                  "\xE2\x80\xA8",
                                  "a",
                                  "b",
                                  " "};
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
        std::string text = i > 2 && next(4) == 0 ? texts[next(i)] : "";
        for (std::uint64_t length = next(12); length > 0; --length) text += pieces[next(std::size(pieces))];
        texts.push_back(text);
    }
    return texts;
}

class dedup_parts_test : public testing::corpus_fixture {
  protected:
    dedup_parts_options options_for(const std::string& corpus, dedup_level level, std::uint32_t length,
                                    const std::string& name = "corpus.jsonl") {
        dedup_parts_options options;
        options.inputs = {written(corpus, name)};
        options.level = level;
        options.min_length = length;
        options.keep_records = true;
        return options;
    }
    std::string kept(const std::string& corpus, dedup_level level, const std::string& name) {
        return written_by(dedup_parts(options_for(corpus, level, 10, name), context_with()));
    }
};

TEST_F(dedup_parts_test, cuts_and_output_are_those_of_the_slow_version) {
    const std::pair<dedup_level, text_part> levels[] = {{dedup_level::paragraph, text_part::paragraph},
                                                        {dedup_level::line, text_part::line},
                                                        {dedup_level::substring, text_part::substring}};
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        const auto texts = generated(seed, 40);
        std::vector<std::string> before, after;
        std::string corpus;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            before.push_back(R"({ "id":"d)" + std::to_string(i) + R"(" ,"n":1.50, "text" : )");
            after.push_back(i % 2 == 0 ? ",\"x\":[\"}\"] }\n" : "}\r\n");
            corpus += before[i] + json_of(texts[i]) + after[i];
        }
        for (const auto& [level, part] : levels) {
            for (const std::uint32_t length : {1U, 8U, 30U}) {
                const auto spans = reference::repeated_text(texts, 0, {part, length});
                std::vector<named_cut> cuts;
                std::vector<std::string> rests = texts;
                std::vector<bool> changed(texts.size());
                for (auto at = spans.rbegin(); at != spans.rend(); ++at) {
                    cuts.insert(cuts.begin(), {"d" + std::to_string(at->text), at->begin, at->end,
                                               "d" + std::to_string(at->first)});
                    rests[at->text].erase(at->begin, at->end - at->begin);
                    changed[at->text] = true;
                }
                std::string expected;
                for (std::size_t i = 0; i < texts.size(); ++i) {
                    if (changed[i] && reference::without_space(rests[i]).empty()) continue;
                    expected += before[i] + json_of(rests[i]) + after[i];
                }
                const auto options = options_for(corpus, level, length);
                for (const unsigned threads : {1U, 2U, 8U}) {
                    const dedup_parts_result result = dedup_parts(
                        options, context_with(threads, threads == 8 ? std::uint64_t{64} << 20 : 0));
                    EXPECT_EQ(named(result), cuts);
                    EXPECT_EQ(written_by(result), expected);
                }
            }
        }
    }
}

TEST_F(dedup_parts_test, counts) {
    const std::string corpus =
        "{\"id\":1,\"text\":\"The m\xC3\xA4rz line.\\n\"}\n{\"id\":2,\"text\":\"The m\xC3\xA4rz "
        "line.\\n\\t\\n\"}\n"
        "{\"id\":3,\"text\":\"The m\xC3\xA4rz line.\\nMore.\\n\"}\n{\"id\":4,\"text\":\"\"}\n";
    const auto result = dedup_parts(options_for(corpus, dedup_level::line, 10), context_with());
    EXPECT_EQ(result.documents(), 4U);
    EXPECT_EQ(result.changed(), 2U);
    EXPECT_EQ(result.dropped(), 1U);
    EXPECT_EQ(result.characters(), 15U + 17U + 21U);
    EXPECT_EQ(result.characters_cut(), 30U);
    EXPECT_EQ(written_by(result),
              "{\"id\":1,\"text\":\"The m\xC3\xA4rz "
              "line.\\n\"}\n{\"id\":3,\"text\":\"More.\\n\"}\n{\"id\":4,\"text\":\"\"}\n");
}

TEST_F(dedup_parts_test, every_form_keeps_its_other_bytes) {
    EXPECT_EQ(kept("a\tsome text that is long\r\nb\tand some text that is long\r\n", dedup_level::substring,
                   "c.tsv"),
              "a\tsome text that is long\r\nb\tand \r\n");
    EXPECT_EQ(kept("id,text,n\na,\"one long line\",1\nb,\"rest\none long line\n\",\"2\"\n", dedup_level::line,
                   "c.csv"),
              "id,text,n\na,\"one long line\",1\nb,\"rest\n\",\"2\"\n");
    const auto lines = written("a\tsome text that is long\nb\tand some text that is long\n", "m.tsv");
    auto options = options_for("{\"id\":\"c\",\"n\":1,\"text\":\"some text that is long, and more\"}\n",
                               dedup_level::substring, 10);
    options.inputs.insert(options.inputs.begin(), lines);
    EXPECT_EQ(written_by(dedup_parts(options, context_with())),
              "{\"id\":\"a\",\"text\":\"some text that is long\"}\n{\"id\":\"b\",\"text\":\"and \"}\n"
              "{\"id\":\"c\",\"n\":1,\"text\":\", and more\"}\n");
    std::filesystem::create_directories(folder_ / "folder");
    testing::write_file(folder_ / "folder/1.txt", "one long line of text\nrest\n");
    testing::write_file(folder_ / "folder/2.txt", "one long line of text\nother\n");
    options.inputs = {folder_ / "folder"};
    options.level = dedup_level::line;
    EXPECT_EQ(written_by(dedup_parts(options, context_with())),
              "{\"id\":\"1.txt\",\"title\":\"1.txt\",\"text\":\"one long line of "
              "text\\nrest\\n\"}\n{\"id\":\"2.txt\",\"title\":\"2.txt\",\"text\":\"other\\n\"}\n");
}

TEST_F(dedup_parts_test, what_a_set_has_is_cut_and_the_set_stays) {
    const auto set =
        written("{\"id\":\"a\",\"text\":\"a line of the test set\\nA line of both.\\nA line of both.\"}\n",
                "set.jsonl");
    const std::string corpus =
        "{\"id\":\"a\",\"text\":\"new text\\na line of the test set\\n\"}\n{\"id\":\"b\",\"text\":\"new "
        "text, and more\\nA line of both.\"}\n"
        "{\"id\":\"c\",\"text\":\"new text, and more\\nrest\"}\n";
    auto options = options_for(corpus, dedup_level::line, 10);
    const std::vector<named_cut> expected{{"a", 8, 31, "a"}, {"b", 18, 34, "a"}, {"c", 0, 19, "b"}};
    options.against = {set};
    const auto result = dedup_parts(options, context_with());
    EXPECT_EQ(result.earlier(), 1U);
    EXPECT_EQ(named(result), expected);
    EXPECT_EQ(written_by(result),
              "{\"id\":\"a\",\"text\":\"new text\\n\"}\n{\"id\":\"b\",\"text\":\"new text, and "
              "more\"}\n{\"id\":\"c\",\"text\":\"rest\"}\n");
    // The same set as a store of dedup().
    dedup_options stored;
    stored.inputs = {set};
    stored.store = folder_ / "seen";
    dedup(stored, context_with());
    options.against = {folder_ / "seen"};
    EXPECT_EQ(named(dedup_parts(options, context_with())), expected);
}

TEST_F(dedup_parts_test, whole_words) {
    const std::string corpus =
        "{\"id\":1,\"text\":\"xx the mill by the river turns yy\"}\n{\"id\":2,\"text\":\"a breathe mill by "
        "the riverbank\"}\n"
        "{\"id\":3,\"text\":\"ngth mill by the rim\"}\n";
    auto options = options_for(corpus, dedup_level::substring, 14);
    EXPECT_THAT(named(dedup_parts(options, context_with())),
                ElementsAre(named_cut{"2", 6, 27, "1"}, named_cut{"3", 4, 19, "1"}));
    options.whole_words = true;
    EXPECT_THAT(named(dedup_parts(options, context_with())), IsEmpty());
    options.min_length = 12;
    EXPECT_THAT(named(dedup_parts(options, context_with())),
                ElementsAre(named_cut{"2", 9, 22, "1"}, named_cut{"3", 4, 17, "1"}));
}

TEST_F(dedup_parts_test, refuses) {
    auto options = options_for("{\"id\":1,\"text\":\"a\"}\n", dedup_level::document, 10);
    const auto refusal = [&] {
        try {
            dedup_parts(options, context_with());
        } catch (const usage_error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal(), HasSubstr("expected paragraph, line or substring"));
    options.level = dedup_level::line;
    EXPECT_EQ(refusal(), "");
    options.whole_words = true;
    EXPECT_THAT(refusal(), HasSubstr("whole_words requires level substring"));
    options.whole_words = false;
    options.min_length = 0;
    EXPECT_THAT(refusal(), HasSubstr("min_length"));
    options.min_length = 10;
    options.input_format = "lines";
    EXPECT_THAT(refusal(), HasSubstr("lines"));
    options.input_format.clear();
    options.against = {folder_ / "none"};
    EXPECT_THAT(refusal(), HasSubstr("no such file"));
    options.against.clear();
    options.keep_records = false;
    const auto result = dedup_parts(options, context_with());
    EXPECT_THROW(written_by(result), usage_error);
}

}  // namespace
}  // namespace quern::dedup_parts_test
