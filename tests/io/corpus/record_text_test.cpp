// SPDX-License-Identifier: Apache-2.0
// A record with another text: the reader finds that text and everything else as before, and no other byte changed.
#include "io/corpus/record_text.hpp"

#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::record_text_test {
namespace {

parsed_unit read(std::string_view bytes, corpus_form form) {
    corpus_options options;
    options.keep_records = true;
    return read_bytes(bytes, form, options);
}

/// The only document of `corpus`, with another text.
std::string edited(std::string_view corpus, corpus_form form, std::string_view text) {
    const parsed_unit all = read(corpus, form);
    EXPECT_EQ(all.documents.size(), 1U) << corpus;
    const document& d = all.documents.at(0);
    const std::string heading = d.record_heading ? *d.record_heading : "";
    const std::string made = with_text(d.record, d.record_kind, heading, text);
    const parsed_unit again = read(heading + made, form);
    EXPECT_EQ(again.documents.size(), 1U) << made;
    EXPECT_EQ(again.documents.at(0).text, text) << made;
    EXPECT_EQ(again.documents.at(0).id, d.id) << made;
    EXPECT_EQ(again.documents.at(0).title, d.title) << made;
    EXPECT_EQ(again.documents.at(0).links, d.links) << made;
    return made;
}

TEST(record_text, json_changes_only_the_value) {
    EXPECT_EQ(edited("{\"id\":7,\"text\":\"old\"}\n", corpus_form::jsonl, "new"),
              "{\"id\":7,\"text\":\"new\"}\n");
    EXPECT_EQ(edited(" { \"n\" : 1.50 ,\"text\" :\t\"o\\\"ld\\\\\" , \"id\":\"a\"} \r\n", corpus_form::jsonl,
                     "a\n\"\\\x01 \xC3\xA4"),
              " { \"n\" : 1.50 ,\"text\" :\t\"a\\n\\\"\\\\\\u0001 \xC3\xA4\" , \"id\":\"a\"} \r\n");
    EXPECT_EQ(edited(R"({"id":"a","x":{"text":"no","y":["}",{"text":"{"}]},"text":"","z":[]})",
                     corpus_form::jsonl, "t"),
              R"({"id":"a","x":{"text":"no","y":["}",{"text":"{"}]},"text":"t","z":[]})");
    // The name written otherwise; the preferred of several names; the last of equal ones.
    EXPECT_EQ(edited(R"({"id":"a","te\u0078t":"old"})", corpus_form::jsonl, "t"),
              R"({"id":"a","te\u0078t":"t"})");
    EXPECT_EQ(edited(R"({"body":"b","contents":"c","id":"a","content":"d"})", corpus_form::jsonl, "t"),
              R"({"body":"b","contents":"t","id":"a","content":"d"})");
    EXPECT_EQ(edited(R"({"text":"1","body":"b","text":"2","id":"a","a\"b":null,"\\":true})",
                     corpus_form::jsonl, "t"),
              R"({"text":"1","body":"b","text":"t","id":"a","a\"b":null,"\\":true})");
    // Lines that only the slow reader takes.
    EXPECT_EQ(edited(R"({"n":1e999,"text":"1","id":"a","m":123456789012345678901234567890})",
                     corpus_form::jsonl, "t"),
              R"({"n":1e999,"text":"t","id":"a","m":123456789012345678901234567890})");
    EXPECT_EQ(edited(R"({"text":"\ud800","\ud800":1,"id":"a"})", corpus_form::jsonl, "t"),
              R"({"text":"t","\ud800":1,"id":"a"})");
}

TEST(record_text, plain_text_stays_one_record) {
    EXPECT_EQ(edited("old\ttext\r\n", corpus_form::text_lines, "new\ttext"), "new\ttext\r\n");
    EXPECT_EQ(edited("old\n\n", corpus_form::text_paragraphs, "new\ntext"), "new\ntext\n\n");
    const document line = read("old", corpus_form::text_lines).documents.at(0),
                   paragraph = read("old\nmore", corpus_form::text_paragraphs).documents.at(0);
    EXPECT_EQ(with_text(line.record, line.record_kind, "", "a\nb"), "a b");
    EXPECT_EQ(with_text(paragraph.record, paragraph.record_kind, "", "\na\n\nb\n"), "a\nb\n\n");
}

TEST(record_text, tsv_changes_what_follows_the_first_tab) {
    EXPECT_EQ(edited("a\told\ttext\r\n", corpus_form::tsv, "new"), "a\tnew\r\n");
    EXPECT_EQ(edited("a\told", corpus_form::tsv, "n\tew"), "a\tn\tew");
}

TEST(record_text, a_row_of_a_table_changes_one_field) {
    EXPECT_EQ(edited("id\ttext\turl\na\told\tu\n", corpus_form::tsv, "new"), "a\tnew\tu\n");
    EXPECT_EQ(edited("id\turl\ttext\na\tu\told\tv\r\n", corpus_form::tsv, "n\tew"), "a\tu\tn\tew\r\n");
    EXPECT_EQ(edited("id,text,url\na,old,u\n", corpus_form::csv, "new"), "a,\"new\",u\n");
    EXPECT_EQ(edited("id,url,text\n\"a,\"\"b\",\"u\nv\"w,\"old\n\"\r\n", corpus_form::csv, "n\"ew,\n"),
              "\"a,\"\"b\",\"u\nv\"w,\"n\"\"ew,\n\"\r\n");
    EXPECT_EQ(edited("text,id\n,a", corpus_form::csv, "t"), "\"t\",a");
}

}  // namespace
}  // namespace quern::io::testing::record_text_test
