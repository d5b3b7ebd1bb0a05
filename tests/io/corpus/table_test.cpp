// SPDX-License-Identifier: Apache-2.0
// Tables with a heading: columns in any order, RFC 4180's quotes, and the same documents for any cut of the input.
#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"
#include "io/corpus/table_columns.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::table_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

parsed_unit read_file(const std::string& name, std::string_view bytes, const corpus_options& options = {}) {
    const temporary_folder folder;
    return read_all({folder.write(name, bytes)}, options);
}

TEST(table, tsv_columns_stand_in_any_order) {
    const auto all = read_file("a.tsv", "Title\ttext\tID\nOne\tfirst text\t7\nTwo\tsecond\tb\n");
    EXPECT_THAT(ids(all), ElementsAre("7", "b"));
    EXPECT_EQ(all.documents[0].title, "One");
    EXPECT_EQ(all.documents[0].text, "first text");
    EXPECT_EQ(all.documents[1].line, 3u);
    EXPECT_THAT(all.issues, IsEmpty());
    // The last column takes the rest, as without a heading.
    EXPECT_EQ(read_file("a.tsv", "id\ttext\n1\ta\tb\n").documents.at(0).text, "a\tb");
    // A table without an id, and a line that is too short.
    const auto two = read_file("two.tsv", "title\turl\ttext\nA\tx\tone\nB\ty\n");
    EXPECT_THAT(ids(two), ElementsAre("two.tsv:2"));
    EXPECT_THAT(issues(two), ElementsAre("3: 2 fields, where the heading has 3"));
    // Not column names: an id and a text as usual.
    EXPECT_THAT(ids(read_file("a.tsv", "id\tthe text\nb\tc\n")), ElementsAre("id", "b"));
}

TEST(table, csv_is_read_as_rfc_4180_has_it) {
    const auto all = read_file("a.csv",
                               "\xEF\xBB\xBFid,text,title\r\n"
                               "1,plain,T\r\n"
                               "2,\"a, \"\"b\"\"\r\nc\",\"\"\r\n"
                               "\r\n"
                               "\"3\",5\" disk,\"x\"\n"
                               "4,,last");
    EXPECT_THAT(all.issues, IsEmpty());
    ASSERT_THAT(ids(all), ElementsAre("1", "2", "3", "4"));
    EXPECT_EQ(all.documents[1].text, "a, \"b\"\r\nc");
    EXPECT_EQ(all.documents[1].line, 3u);
    EXPECT_EQ(all.documents[2].text, "5\" disk");
    EXPECT_EQ(all.documents[2].line, 6u);
    EXPECT_EQ(all.documents[2].title, "x");
    EXPECT_EQ(all.documents[3].title, "last");
}

TEST(table, a_first_line_names_the_separator) {
    const auto all = read_file("a.csv", "\xEF\xBB\xBFsep=;\r\nid;te,xt;text\r\n1;2;\"a;\r\nb\"\r\n2;3\r\n");
    EXPECT_THAT(ids(all), ElementsAre("1"));
    EXPECT_EQ(all.documents[0].text, "a;\r\nb");
    EXPECT_THAT(issues(all), ElementsAre("5: 2 fields, where the heading has 3"));
    EXPECT_THAT(ids(read_file("a.csv", "sep=|\nid|text\nx|y\n")), ElementsAre("x"));
    EXPECT_THAT(ids(read_file("a.csv", "\"sep=,\"\nid,text\nx,y")), ElementsAre("x"));
    EXPECT_THAT(ids(read_file("a.csv", "\"id\",\"a\nb\",text\n1,2,3\n")), ElementsAre("1"));
}

TEST(table, csv_says_what_is_wrong) {
    const auto all = read_file("a.csv", "id,text\n1,a\n2\n3,b,c\n,d\n5,e\n6,\"open\n7,f\n");
    EXPECT_THAT(ids(all), ElementsAre("1", "5"));
    EXPECT_THAT(issues(all),
                ElementsAre("3: 1 fields, where the heading has 2", "4: 3 fields, where the heading has 2",
                            "5: the id is empty", "7: a quoted field has no closing quote"));
    EXPECT_EQ(all.counts.incomplete, 1u);
    corpus_options options;
    options.form = corpus_form::csv;
    EXPECT_THROW(read_file("a", "1,2\n", options), invalid_input);
}

TEST(table, csv_is_the_same_however_it_is_cut) {
    std::string bytes = "text,id\n";
    for (int i = 0; i < 60; ++i) {
        bytes += i % 3 == 0 ? "\"line\nline, \"\"" + std::string(static_cast<std::size_t>(i), 'x') + "\"\"\""
                            : "plain " + std::to_string(i);
        bytes += "," + std::to_string(i) + (i % 2 == 0 ? "\n" : "\r\n");
    }
    const std::string expected = shown(read_file("a.csv", bytes));
    EXPECT_NE(expected.find("id=2:59"), std::string::npos);
    for (const std::uint64_t unit : {1, 5, 64, 1000}) {
        corpus_options options;
        options.unit_bytes = unit;
        EXPECT_EQ(shown(read_file("a.csv", bytes, options)), expected) << unit;
    }
}

TEST(table, a_folder_takes_tables_with_a_heading_and_leaves_others) {
    const temporary_folder folder;
    folder.write("a.csv", "id,text\n1,a\n");
    folder.write("b.csv", "price,count\n1,2\n");
    folder.write("c.txt", "title, text\nThis is prose, really, is it not\n");
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("1", "c.txt"));
    EXPECT_EQ(all.counts.skipped.at("file: .csv"), 1u);
}

TEST(table, records_and_fields_agree_on_hard_bytes) {
    EXPECT_EQ(csv_record_end("a,\"b\n\",c\nd", ','), 9u);
    EXPECT_EQ(csv_record_end("a,\"b\n", ','), 0u);
    EXPECT_EQ(csv_record_end("a\"b\nc", ','), 4u);
    EXPECT_EQ(csv_record_end("\"a\"\"\n\"x\n", ','), 8u);
    EXPECT_EQ(csv_record_end("", ','), 0u);
    std::vector<std::string> fields;
    EXPECT_EQ(csv_record_end("a;\"b\n\";c,\"\nd", ';'), 11u);
    EXPECT_EQ(csv_separator("id;text\n1;a, b\n"), ';');
    EXPECT_EQ(csv_separator("id;text,more\n"), ',');
    EXPECT_EQ(csv_separator("text"), ',');
    EXPECT_EQ(csv_separator("sep=;\r\nid,text\r\n"), ';');
    EXPECT_EQ(csv_separator("\"sep=|\"\nid,text\n"), '|');
    EXPECT_EQ(csv_separator("sep=a\nid;text\n"), ',');
    EXPECT_TRUE(split_csv("", ',', fields));
    EXPECT_THAT(fields, ElementsAre(""));
    EXPECT_TRUE(split_csv("a,", ',', fields));
    EXPECT_THAT(fields, ElementsAre("a", ""));
    EXPECT_TRUE(split_csv("\"a\"x,\"\"", ',', fields));
    EXPECT_THAT(fields, ElementsAre("ax", ""));
    EXPECT_FALSE(split_csv("a,\"", ',', fields));
}

}  // namespace
}  // namespace quern::io::testing::table_test
