// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::trec_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

parsed_unit read(std::string_view bytes, const corpus_options& options = {}) {
    return read_bytes(bytes, corpus_form::trec, options);
}

TEST(trec, takes_number_title_and_text) {
    const auto all = read(
        "<DOC>\n<DOCNO> AP-1 </DOCNO>\n<HEAD>First\n head</HEAD>\n<HEADLINE>A <P>headline</P></HEADLINE>\n"
        "<TITLE>not this</TITLE>\n<TEXT>\n<P>\nOne &amp; two.\nA second line.\n</P>\n<P>\nThree < four <F "
        "P=1>five</F>.\n</P>\n"
        "</TEXT>\n</DOC>\n<doc><docno>2</docno><text>lower</text></doc>");
    ASSERT_THAT(ids(all), ElementsAre("AP-1", "2")) << shown(all);
    EXPECT_EQ(all.documents[0].title, "A headline");
    EXPECT_EQ(
        all.documents[0].text,
        "First\n head\n\nA\n\nheadline\n\nnot this\n\nOne & two.\nA second line.\n\nThree < four  five .");
    EXPECT_EQ(all.documents[1].text, "lower");
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(trec, reports_what_is_missing) {
    const auto all = read(
        "<DOC>\n<TEXT>no number</TEXT>\n</DOC>\n"  // 1 to 3
        "stray text\n"                             // 4
        "<DOC>\n<DOCNO>a</DOCNO>kept\n</DOC>\n"    // 5 to 7
        "</DOC>\n"                                 // 8
        "<DOC>\n<DOCNO>b</DOCNO>unclosed\n"        // 9
        "<DOC>\n<DOCNO>c</DOCNO>closed\n</DOC>\n"  // 11
        "<DOC>\n<DOCNO>d</DOCNO>cut of");          // 14
    EXPECT_THAT(ids(all), ElementsAre("a", "b", "c", "d"));
    EXPECT_EQ(all.documents[3].text, "cut of");
    EXPECT_THAT(issues(all), ElementsAre("1: no DOCNO", "3: text outside of <DOC> … </DOC>",
                                         "8: a closing tag without <DOC>", "mended 9: truncated: no </DOC>",
                                         "mended 14: truncated: no </DOC>"));
}

TEST(trec, reads_reuters) {
    const auto all = read(
        "<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n<DATA>\n"
        "<REUTERS TOPICS=\"YES\" OLDID=\"5544\" "
        "NEWID=\"7\">\n<DATE>26-FEB-1987</DATE>\n<TOPICS><D>cocoa</D></TOPICS>\n"
        "<UNKNOWN>&#5;C T</UNKNOWN>\n<TEXT>&#2;\n<TITLE>COCOA &lt;SRD> UP</TITLE>\n<DATELINE> SALVADOR - "
        "</DATELINE><BODY>Showers\n"
        "    New.\n&#3;</BODY></TEXT>\n</REUTERS>\n<REUTERS X=\"1\">\n</REUTERS>\n</DATA>\n");
    ASSERT_THAT(ids(all), ElementsAre("7"));
    EXPECT_EQ(all.documents[0].title, "COCOA <SRD> UP");
    EXPECT_THAT(all.documents[0].text, ::testing::HasSubstr("Showers\n    New."));
    EXPECT_THAT(all.documents[0].text, ::testing::Not(::testing::HasSubstr("cocoa")));
    EXPECT_THAT(issues(all), ElementsAre("13: no NEWID"));
}

TEST(trec, reads_web_pages_as_pages) {
    const auto all = read(
        "<DOC>\n<DOCNO>G1</DOCNO>\n<DOCHDR>\nhttp://x/\nContent-Type: text/html\n</DOCHDR>\n"
        "<html><head><title>Page</title></head><body><nav>menu</nav><p>One<p>two</body></html>\n</DOC>\n");
    ASSERT_EQ(all.documents.size(), 1u);
    EXPECT_EQ(all.documents[0].title, "Page");
    EXPECT_EQ(all.documents[0].text, "One\n\ntwo");
}

TEST(trec, is_detected_from_content) {
    const temporary_folder folder;
    const auto all =
        read_all({folder.write("a", "<DOC>\n<DOCNO>1</DOCNO></DOC>"),
                  folder.write("b.sgm", "<data>\n<REUTERS NEWID=\"2\"></REUTERS>"),
                  folder.write("c", "<!doctype LEWIS system \"x\">\n<reuters newid=3></reuters>")});
    EXPECT_THAT(ids(all), ElementsAre("1", "2", "3"));
}

TEST(trec, rejects_documents_beyond_the_limit_whatever_the_units) {
    const std::string bytes = "<DOC><DOCNO>1</DOCNO></DOC>\n<DOC><DOCNO>2</DOCNO>" + std::string(300, 'x') +
                              "\n</DOC>\n<DOC><DOCNO>3</DOCNO></DOC>\n";
    for (const std::uint64_t unit : {1, 5, 30, 60, 200, 1000}) {
        corpus_options options;
        options.unit_bytes = unit;
        options.max_document_bytes = 100;
        const auto all = read(bytes, options);
        EXPECT_THAT(ids(all), ElementsAre("1", "3")) << unit;
        EXPECT_THAT(issues(all), ElementsAre("1: larger than the limit of 100 bytes a document")) << unit;
    }
}

}  // namespace
}  // namespace quern::io::testing::trec_test
