// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::tsv_lines_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(tsv, splits_at_the_first_tab) {
    const auto all = read_bytes("1\tone\r\n2\ttwo\tthree\n\n3\t\nlast\tno end", corpus_form::tsv);
    ASSERT_THAT(ids(all), ElementsAre("1", "2", "3", "last"));
    EXPECT_EQ(all.documents[0].text, "one");
    EXPECT_EQ(all.documents[1].text, "two\tthree");
    EXPECT_EQ(all.documents[2].text, "");
    EXPECT_EQ(all.documents[3].text, "no end");
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(tsv, rejects_lines_without_id_or_tab) {
    const auto all = read_bytes("1\ta\nno tab\n\tno id\n\xFF\tx\n2\tb\n", corpus_form::tsv);
    EXPECT_THAT(ids(all), ElementsAre("1", "2"));
    EXPECT_THAT(issues(all),
                ElementsAre("2: no tab between id and text", "3: the id is empty", "4: the id is not UTF-8"));
}

TEST(tsv, mends_text_that_is_not_utf8) {
    const auto all = read_bytes("1\tcaf\xE9 \x80\n2\tcaf\xC3\xA9 \xC3\xA9 \xE9\n", corpus_form::tsv);
    ASSERT_EQ(all.documents.size(), 2u);
    EXPECT_EQ(all.documents[0].text, "café €");
    EXPECT_EQ(all.documents[1].text, "café é \uFFFD");
    EXPECT_THAT(issues(all), ElementsAre("mended 1: not UTF-8: read as Windows-1252",
                                         "mended 2: 1 ill-formed UTF-8 sequence replaced"));
}

TEST(lines, documents_end_at_empty_lines) {
    const auto all = read_bytes("\n\none\nTwo words\n\n\r\n\nthree\r\nfour\r\n\r\nfive", corpus_form::lines);
    ASSERT_THAT(ids(all), ElementsAre("0", "1", "2"));
    EXPECT_EQ(all.documents[0].text, "one\nTwo words");
    EXPECT_EQ(all.documents[1].text, "three\nfour");
    EXPECT_EQ(all.documents[2].text, "five");
    EXPECT_TRUE(all.documents[0].verbatim);
}

TEST(lines, numbers_run_over_all_inputs) {
    const temporary_folder folder;
    corpus_options options;
    options.form = corpus_form::lines;
    const auto a = folder.write("a", "x\n\ny\n"), b = folder.write("b", "\nz\n\n\n"),
               c = folder.write("c", "w");
    for (const std::uint64_t unit : {1, 3, 1000}) {
        options.unit_bytes = unit;
        EXPECT_THAT(ids(read_all({a, b, c}, options)), ElementsAre("0", "1", "2", "3"));
    }
}

TEST(lines, a_rejected_document_keeps_its_number) {
    corpus_options options;
    options.max_document_bytes = 20;
    const std::string bytes = "a\n\n" + std::string(50, 'b') + "\nbb\n\nc\n\n";
    for (const std::uint64_t unit : {1, 2, 3, 5, 8, 21, 1000}) {
        options.unit_bytes = unit;
        const auto all = read_bytes(bytes, corpus_form::lines, options);
        EXPECT_THAT(ids(all), ElementsAre("0", "2")) << unit;
        EXPECT_THAT(issues(all), ElementsAre("3: larger than the limit of 20 bytes a document")) << unit;
    }
}

TEST(text_lines, are_documents) {
    const std::string bytes =
        "\xEF\xBB\xBFone\ttext\r\n\n \t\r\ncaf\xE9 \x80\n" + std::string(40, 'x') + "\nno end";
    corpus_options options;
    options.max_document_bytes = 20;
    options.keep_records = true;
    for (const std::uint64_t unit : {1, 3, 1000}) {
        options.unit_bytes = unit;
        const auto all = read_bytes(bytes, corpus_form::text_lines, options);
        ASSERT_THAT(ids(all), ElementsAre("input:1", "input:4", "input:6"));
        EXPECT_EQ(all.documents[0].text, "one\ttext");
        EXPECT_EQ(all.documents[0].record, "one\ttext\r\n");
        EXPECT_TRUE(all.documents[0].is_numbered);
        EXPECT_EQ(all.documents[1].text, "café €");
        EXPECT_EQ(all.documents[1].record, "caf\xE9 \x80\n");
        EXPECT_EQ(all.documents[2].record, "no end");
        EXPECT_THAT(issues(all),
                    ::testing::UnorderedElementsAre("mended 4: not UTF-8: read as Windows-1252",
                                                    "5: larger than the limit of 20 bytes a document"));
        EXPECT_EQ(all.counts.skipped.at("empty line"), 2u);
    }
}

TEST(text_paragraphs, documents_end_at_empty_lines) {
    const std::string bytes = "\n\none\nTwo words\n\n\r\n \n\nthree\r\nfour\r\n\r\nfive";
    corpus_options options;
    options.keep_records = true;
    for (const std::uint64_t unit : {1, 5, 1000}) {
        options.unit_bytes = unit;
        const auto all = read_bytes(bytes, corpus_form::text_paragraphs, options);
        ASSERT_THAT(ids(all), ElementsAre("input:3", "input:9", "input:12"));
        EXPECT_EQ(all.documents[0].text, "one\nTwo words");
        EXPECT_EQ(all.documents[0].record, "one\nTwo words\n\n");
        EXPECT_EQ(all.documents[1].text, "three\nfour");
        EXPECT_EQ(all.documents[1].record, "three\r\nfour\r\n\r\n");
        EXPECT_EQ(all.documents[2].record, "five\n\n");
        EXPECT_FALSE(all.documents[0].verbatim);
        EXPECT_EQ(all.counts.skipped.at("empty line"), 1u);
    }
}

TEST(text_lines, of_utf16) {
    const auto all = read_bytes(std::string("\xFF\xFE"
                                            "a\0\n\0\xE9\0",
                                            8),
                                corpus_form::text_lines);
    ASSERT_THAT(ids(all), ElementsAre("input:1", "input:2"));
    EXPECT_EQ(all.documents[1].text, "é");
}

TEST(records, are_kept_byte_for_byte_on_request) {
    const std::string tsv = "\na\tone\r\nno tab\nb\ttw\xFFo\n\nc\tlast",
                      jsonl = "{\"id\": 1, \"text\":\"x\" , \"more\":[]}\r\n {\"id\":2,\"text\":\"\"} \n";
    corpus_options options;
    for (const std::uint64_t unit : {1, 4, 1000}) {
        options.unit_bytes = unit;
        options.keep_records = true;
        const auto rows = read_bytes(tsv, corpus_form::tsv, options);
        ASSERT_THAT(ids(rows), ElementsAre("a", "b", "c"));
        EXPECT_EQ(rows.documents[0].record, "a\tone\r\n");
        EXPECT_EQ(rows.documents[1].record, "b\ttw\xFFo\n");
        EXPECT_EQ(rows.documents[2].record, "c\tlast");
        const auto objects = read_bytes(jsonl, corpus_form::jsonl, options);
        ASSERT_THAT(ids(objects), ElementsAre("1", "2"));
        EXPECT_EQ(objects.documents[0].record + objects.documents[1].record, jsonl);
        options.keep_records = false;
        EXPECT_EQ(read_bytes(tsv, corpus_form::tsv, options).documents[0].record, "");
    }
}

}  // namespace
}  // namespace quern::io::testing::tsv_lines_test
