// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::wikiextractor_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

parsed_unit read(std::string_view bytes, const corpus_options& options = {}) {
    return read_bytes(bytes, corpus_form::wikiextractor, options);
}

TEST(wikiextractor, takes_id_title_and_text) {
    const auto all = read(
        "<doc id=\"12\" url=\"https://x?curid=12\" title=\"AT&amp;T\">\nAT&amp;T\n\nA &lt;b&gt; "
        "company.\n\nMore.\n\n</doc>\n"
        "<doc id=\"13\" revid=\"5\" url=\"u\" title=\"The \"quoted\" one\">\r\nThe \"quoted\" "
        "one\r\n\r\nText\r\n</doc>\r\n"
        "<doc id=\"14\" url=\"u\" title=\"Empty\">\nEmpty\n\n\n\n</doc>\n"
        "<doc id=\"15\" url=\"u\" title=\"Other\">\nNot the title\n</doc>");
    ASSERT_THAT(ids(all), ElementsAre("12", "13", "14", "15"));
    EXPECT_EQ(all.documents[0].title, "AT&T");
    EXPECT_EQ(all.documents[0].text, "A <b> company.\n\nMore.");
    EXPECT_EQ(all.documents[1].title, "The \"quoted\" one");
    EXPECT_EQ(all.documents[1].text, "Text");
    EXPECT_EQ(all.documents[2].text, "");
    EXPECT_EQ(all.documents[3].text, "Not the title");
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(wikiextractor, links_name_titles) {
    const auto all = read(
        "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\nSee <a href=\"New%20York%23History\">the "
        "<b>city</b></a>, "
        "&lt;a href=\"Caf%C3%A9\"&gt;caf\xC3\xA9s&lt;/a&gt; and <a href=\"http://x.org\">this</a>. a </a> <a "
        "href=\"open\n</doc>\n");
    ASSERT_EQ(all.documents.size(), 1u);
    EXPECT_EQ(all.documents[0].text, "See the <b>city</b>, cafés and this. a </a> <a href=\"open");
    EXPECT_THAT(all.documents[0].links, ElementsAre("New_York", "Café"));
}

TEST(wikiextractor, closes_only_on_a_line_of_its_own) {
    const auto all = read(
        "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\nThe tag </doc> ends it.\n </doc>\n</doc> here\n</doc>\n");
    ASSERT_EQ(all.documents.size(), 1u);
    EXPECT_EQ(all.documents[0].text, "The tag </doc> ends it.\n </doc>\n</doc> here");
}

TEST(wikiextractor, reports_what_is_missing) {
    const auto all = read(
        "stray\n"                                                 // 1
        "<doc id=\"1\" url=\"u\" title=\"A\">\nA\n\nkept\n"       // 2 to 5
        "<doc id=\"2\" url=\"u\" title=\"B\">\nB\n\nb\n</doc>\n"  // 6
        "<doc id=\"\" url=\"u\" title=\"C\">\nC\n</doc>\n"        // 11
        "\n<doc id=\"3\" url=\"u\" title=\"D\">\nD\n\ncut");      // 15
    EXPECT_THAT(ids(all), ElementsAre("1", "2", "3"));
    EXPECT_EQ(all.documents[0].text, "kept");
    EXPECT_EQ(all.documents[2].text, "cut");
    EXPECT_THAT(issues(all),
                ElementsAre("1: text outside of <doc> … </doc>", "mended 2: truncated: no </doc>",
                            "11: the id is missing or empty", "mended 15: truncated: no </doc>"));
}

TEST(wikiextractor, is_detected_from_content_alone_and_in_folders) {
    const temporary_folder folder;
    const std::string_view one = "<doc id=\"7\" url=\"u\" title=\"T\">\nT\n\nx\n</doc>\n";
    folder.write("AA/wiki_00", one);
    folder.write("AB/wiki_00.txt", "\n<doc id=\"8\" url=\"u\" title=\"T\">\nT\n\nx\n</doc>\n");
    folder.write("AC/wiki_00",
                 "{\"id\": \"9\", \"revid\": \"1\", \"url\": \"u\", \"title\": \"T\", \"text\": \"x\"}\n");
    EXPECT_THAT(ids(read_all({folder.path()})), ElementsAre("7", "8", "9"));
    EXPECT_THAT(ids(read_all({folder.path() / "AA/wiki_00", folder.path() / "AC/wiki_00"})),
                ElementsAre("7", "9"));
}

TEST(wikiextractor, rejects_documents_beyond_the_limit_whatever_the_units) {
    const std::string head = "<doc id=\"1\" url=\"u\" title=\"T\">\n";
    const std::string bytes =
        head + "</doc>\n" + head + std::string(300, 'x') + "\n</doc>\n" + head + "</doc>\n";
    for (const std::uint64_t unit : {1, 5, 30, 60, 200, 1000}) {
        corpus_options options;
        options.unit_bytes = unit;
        options.max_document_bytes = 100;
        const auto all = read(bytes, options);
        EXPECT_EQ(all.documents.size(), 2u) << unit;
        EXPECT_THAT(issues(all), ElementsAre("3: larger than the limit of 100 bytes a document")) << unit;
    }
}

}  // namespace
}  // namespace quern::io::testing::wikiextractor_test
