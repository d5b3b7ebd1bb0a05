// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::jsonl_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

parsed_unit read(std::string_view bytes, const corpus_options& options = {}) {
    return read_bytes(bytes, corpus_form::jsonl, options);
}

TEST(jsonl, reads_every_member) {
    const auto all = read(R"({"id":"a","title":"A page","text":"one\ntwo","links":["b",7],"other":{"id":1}})"
                          "\n"
                          R"({"text":"x","id":18446744073709551615})"
                          "\n");
    ASSERT_THAT(ids(all), ElementsAre("a", "18446744073709551615"));
    EXPECT_EQ(all.documents[0].title, "A page");
    EXPECT_EQ(all.documents[0].text, "one\ntwo");
    EXPECT_THAT(all.documents[0].links, ElementsAre("b", "7"));
    EXPECT_FALSE(all.documents[0].verbatim);
    EXPECT_EQ(all.documents[1].title, "");
    EXPECT_THAT(all.documents[1].links, IsEmpty());
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(jsonl, takes_integers_of_any_size_as_they_are_written) {
    const auto all = read(
        "{\"id\":-5,\"text\":\"\"}\n{\"id\":123456789012345678901234567890,\"text\":\"\"}\n"
        "{\"id\":\"a\",\"n\":123456789012345678901234567890,\"text\":\"t\",\"links\":[99999999999999999999]}"
        "\n");
    EXPECT_THAT(ids(all), ElementsAre("-5", "123456789012345678901234567890", "a"));
    EXPECT_THAT(all.documents[2].links, ElementsAre("99999999999999999999"));
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(jsonl, says_why_a_line_is_rejected_and_goes_on) {
    const auto all = read(
        "{\"ids\":7,\"txt\":\"no text\"}\n"               // 1
        "{\"id\":\"\",\"text\":\"\"}\n"                   // 2
        "{\"id\":1.5,\"text\":\"\"}\n"                    // 3
        "{\"id\":[7],\"text\":\"\"}\n"                    // 4
        "{\"id\":\"a\"}\n"                                // 5
        "{\"id\":\"a\",\"text\":7}\n"                     // 6
        "\n"                                              // 7
        "{\"id\":\"a\",\"text\":\"\",\"title\":[]}\n"     // 8
        "{\"id\":\"a\",\"text\":\"\",\"links\":\"b\"}\n"  // 9
        "{\"id\":\"a\",\"text\":\"\",\"links\":[1.5]}\n"  // 10
        "{\"id\":\"a\",\"text\":\"\"\n"                   // 11
        "{\"id\":\"a\",\"text\":\"\xC3\"}\n"              // 12
        "[1]\n"                                           // 13
        "{\"id\":\"a\",\"text\":\"\"} {}\n"               // 14
        "{\"id\":\"last\",\"text\":\"kept\"}");           // 15
    EXPECT_THAT(ids(all), ElementsAre("last"));
    const auto said = issues(all);
    ASSERT_EQ(said.size(), 13u);
    EXPECT_EQ(said[0],
              "1: no text: expected \"text\" (or \"contents\", \"content\", \"body\", \"document\", "
              "\"passage\", \"segment\", \"abstract\", \"raw_content\"), found \"ids\", \"txt\" "
              "(--text-field names another)");
    EXPECT_EQ(said[1], "2: the id is empty");
    EXPECT_EQ(said[2], "3: the id is neither a string nor an integer");
    EXPECT_EQ(said[3], "4: the id is neither a string nor an integer");
    EXPECT_EQ(said[4],
              "5: no text: expected \"text\" (or \"contents\", \"content\", \"body\", \"document\", "
              "\"passage\", \"segment\", \"abstract\", \"raw_content\"), found \"id\" (--text-field names "
              "another)");
    EXPECT_EQ(said[5], "6: the text is not a string");
    EXPECT_EQ(said[6], "8: the title is not a string");
    EXPECT_EQ(said[7], "9: the links are not an array of strings or integers");
    EXPECT_EQ(said[8], "10: the links are not an array of strings or integers");
    EXPECT_TRUE(said[9].starts_with("11: malformed JSON")) << said[9];
    EXPECT_EQ(said[10], "12: not valid UTF-8");
    EXPECT_EQ(said[11], "13: not a JSON object");
    EXPECT_TRUE(said[12].starts_with("14: malformed JSON")) << said[12];
    EXPECT_EQ(all.counts.rejected, 13u);
}

TEST(jsonl, a_line_without_an_id_goes_by_its_place) {
    const auto all =
        read("{\"text\":\"one\"}\n\n{\"id\":null,\"text\":\"two\"}\n{\"id\":\"a\",\"text\":\"three\"}\n");
    EXPECT_THAT(ids(all), ElementsAre("input:1", "input:3", "a"));
    EXPECT_TRUE(all.documents[0].is_numbered);
    EXPECT_FALSE(all.documents[2].is_numbered);
    EXPECT_THAT(all.issues, IsEmpty());
    const temporary_folder folder;
    folder.write("in/b.jsonl", "{\"text\":\"one\",\"url\":\"x\"}\n{\"text\":\"two\",\"url\":\"y\"}\n");
    EXPECT_THAT(ids(read_all({folder.path()})), ElementsAre("in/b.jsonl:1", "in/b.jsonl:2"));
}

TEST(jsonl, takes_the_common_names_of_ids_and_texts_in_order) {
    const auto all = read(
        "{\"_id\":\"1\",\"title\":\"T\",\"text\":\"a\",\"metadata\":{\"text\":5}}\n"
        "{\"docid\":2,\"contents\":\"b\"}\n"
        "{\"body\":\"c\",\"content\":\"d\",\"doc_id\":\"3\",\"docid\":\"4\"}\n"
        "{\"text\":\"e\",\"content\":{},\"id\":5,\"_id\":[]}\n"
        "{\"content\":{},\"id\":6,\"_id\":[],\"text\":\"f\"}\n"
        "{\"content\":7,\"id\":7}\n"
        // The same by the slow reader.
        "{\"_id\":[],\"content\":{},\"id\":8,\"text\":\"g\",\"n\":1e400}\n");
    EXPECT_THAT(ids(all), ElementsAre("1", "2", "4", "5", "6", "8"));
    std::string texts;
    for (const document& d : all.documents) texts += d.text;
    EXPECT_EQ(texts, "abdefg");
    EXPECT_EQ(all.documents[0].title, "T");
    EXPECT_THAT(issues(all), ElementsAre("6: the text is not a string"));
}

TEST(jsonl, a_number_beyond_a_double_in_another_member_does_no_harm) {
    const std::string digits(400, '9');
    const auto all = read(
        "{\"id\":1,\"text\":\"1e400\",\"n\":1e400}\n{\"n\":[-1.5E+999,{\"m\":1e-999}],\"id\":\"2\",\"text\":"
        "\"b\"}\n"
        "{\"id\":3,\"n\":" +
        digits + ",\"text\":\"c\"}\n{\"id\":4,\"n\":" + digits +
        ".5e99,\"text\":\"\\\"1e400\"}\n"
        "{\"id\":5,\"n\":1e400e5,\"text\":\"\"}\n{\"id\":6,\"n\":01e400,\"text\":\"\"}\n{\"id\":7,\"n\":1."
        "e400,\"text\":\"\"}\n"
        "{\"id\":1e400,\"text\":\"\"}\n");
    EXPECT_THAT(ids(all), ElementsAre("1", "2", "3", "4"));
    EXPECT_EQ(all.documents[0].text, "1e400");
    EXPECT_EQ(all.documents[3].text, "\"1e400");
    EXPECT_EQ(all.counts.rejected, 4u);
    EXPECT_EQ(issues(all).back(), "8: the id is neither a string nor an integer");
}

TEST(jsonl, malformed_values_of_ignored_members_are_malformed_lines) {
    const auto all =
        read("{\"id\":\"a\",\"text\":\"\",\"x\":tru}\n{\"id\":\"a\",\"text\":\"\",\"x\":[1,]}\n");
    EXPECT_EQ(all.counts.rejected, 2u);
    EXPECT_THAT(all.documents, IsEmpty());
}

// The slow reader's parser takes a NUL for the end of the text.
TEST(jsonl, a_nul_does_not_end_a_line) {
    using namespace std::string_literals;
    const auto all = read("{\"id\":1,\"text\":\"a\",\"n\":1e400}\0 {\"id\":9}\n{\"id\":2,\"text\":\"b\"}\n"s);
    EXPECT_THAT(ids(all), ElementsAre("2"));
    EXPECT_THAT(issues(all), ElementsAre("1: malformed JSON"));
}

TEST(jsonl, the_error_for_an_object_over_several_lines_says_what_to_do) {
    corpus_options options;
    options.form = corpus_form::jsonl;
    const temporary_folder folder;
    const auto first_issue = [&](std::string_view bytes) {
        return issues(read_all({folder.write("input", bytes)}, options)).front();
    };
    EXPECT_TRUE(first_issue("{\r\n  \"text\": \"a\"\n}\n")
                    .ends_with("; an object must be on one line (jq -c . writes it so)"));
    EXPECT_FALSE(first_issue("{}x\n").ends_with(")"));
}

TEST(jsonl, null_is_no_title_and_no_links) {
    const auto all = read("{\"id\":\"a\",\"text\":\"\",\"title\":null,\"links\":null}\n");
    EXPECT_THAT(ids(all), ElementsAre("a"));
}

TEST(jsonl, tolerates_marks_line_ends_and_white_space) {
    const auto all = read(
        "\xEF\xBB\xBF{\"id\":\"a\",\"text\":\"\"}\r\n  \t\r\n\r\n { \"id\" : \"b\" , \"text\" : \"\" } \n");
    EXPECT_THAT(ids(all), ElementsAre("a", "b"));
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(jsonl, keeps_escapes_and_zero_bytes) {
    const auto all = read(R"({"id":"a","text":"\u0000\u00e9\ud83d\ude00\\ud800"})"
                          "\n");
    ASSERT_EQ(all.documents.size(), 1u);
    EXPECT_EQ(all.documents[0].text, std::string("\0é😀\\ud800", 13));
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(jsonl, mends_halves_of_surrogate_pairs) {
    const auto all = read(R"({"id":"a","text":"x\ud800y"})"
                          "\n"
                          R"({"id":"b","text":"\udc00\ud83d\ude00\uD83D"})"
                          "\n"
                          R"({"id":"c","n":99999999999999999999999,"text":"\udfff"})"
                          "\n");
    ASSERT_THAT(ids(all), ElementsAre("a", "b", "c"));
    EXPECT_EQ(all.documents[0].text, "x\uFFFDy");
    EXPECT_EQ(all.documents[1].text, "\uFFFD😀\uFFFD");
    EXPECT_EQ(all.documents[2].text, "\uFFFD");
    EXPECT_THAT(issues(all), ElementsAre("mended 1: an escaped lone surrogate replaced",
                                         "mended 2: an escaped lone surrogate replaced",
                                         "mended 3: an escaped lone surrogate replaced"));
}

TEST(jsonl, takes_values_nested_deeper_than_the_fast_parser_goes) {
    const std::string deep = std::string(5000, '[') + std::string(5000, ']');
    const auto all = read("{\"x\":" + deep + ",\"id\":\"a\",\"text\":\"t\"}\n{\"x\":" + deep +
                          "],\"id\":\"b\",\"text\":\"\"}\n");
    EXPECT_THAT(ids(all), ElementsAre("a"));
    EXPECT_EQ(all.counts.rejected, 1u);
}

TEST(jsonl, the_last_of_equal_members_counts) {
    const auto all = read("{\"id\":\"a\",\"text\":\"1\",\"id\":\"b\",\"text\":\"2\"}\n");
    ASSERT_THAT(ids(all), ElementsAre("b"));
    EXPECT_EQ(all.documents[0].text, "2");
}

TEST(jsonl, rejects_documents_beyond_the_limit_whatever_the_units) {
    const std::string large = "{\"id\":\"large\",\"text\":\"" + std::string(500, 'x') + "\"}\n";
    const std::string small = "{\"id\":\"small\",\"text\":\"\"}\n";
    std::string first;
    for (const std::uint64_t unit : {1, 7, 64, 100, 4096}) {
        corpus_options options;
        options.unit_bytes = unit;
        options.max_document_bytes = 100;
        const auto all = read(small + large + small + large + large + small + large, options);
        EXPECT_THAT(ids(all), ElementsAre("small", "small", "small"));
        EXPECT_THAT(issues(all), ElementsAre("2: larger than the limit of 100 bytes a document",
                                             "4: larger than the limit of 100 bytes a document",
                                             "5: larger than the limit of 100 bytes a document",
                                             "7: larger than the limit of 100 bytes a document"));
    }
}

TEST(jsonl, a_last_line_beyond_the_limit_ends_the_reading) {
    corpus_options options;
    options.unit_bytes = 1;
    options.max_document_bytes = 10;
    const auto all = read("{}\n" + std::string(100, 'x'), options);
    EXPECT_EQ(all.counts.rejected, 2u);
    EXPECT_EQ(issues(all)[1], "2: larger than the limit of 10 bytes a document");
}

TEST(jsonl, names_a_json_array) {
    const auto all = read("[{\"id\":\"a\",\"text\":\"\"},\n{\"id\":\"b\",\"text\":\"\"}]\n");
    ASSERT_EQ(all.issues.size(), 2u);
    EXPECT_EQ(issues(all)[0], "1: a JSON array; JSON lines have one object a line");
}

}  // namespace
}  // namespace quern::io::testing::jsonl_test
