// SPDX-License-Identifier: Apache-2.0
// The reader on small dumps: the result for each kind of page, and the effects of damage.
#include "io/corpus/wikipedia.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/wikipedia/memory_source.hpp"

namespace quern::io::wikipedia_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const std::string head =
    "<mediawiki xml:lang=\"it\">\n  <siteinfo>\n    <case>first-letter</case>\n    <namespaces>\n"
    "      <namespace key=\"0\" />\n      <namespace key=\"6\">File</namespace>\n"
    "      <namespace key=\"14\">Categoria</namespace>\n    </namespaces>\n  </siteinfo>\n";
const std::string tail = "</mediawiki>\n";

std::string page(const std::string& title, const std::string& text, const std::string& more = "<ns>0</ns>") {
    return "<page>\n<title>" + title + "</title>" + more + "<revision><text>" + text +
           "</text></revision>\n</page>\n";
}

parsed_unit read(const std::string& bytes, std::uint64_t unit_bytes = 4 << 20, const std::string& damage = {},
                 std::uint64_t max_bytes = 1 << 30) {
    corpus_options options;
    options.unit_bytes = unit_bytes;
    options.max_document_bytes = max_bytes;
    const auto reader = read_wikipedia(std::make_unique<memory_source>(bytes, damage), options, context());
    parsed_unit all;
    while (const auto unit = reader->next()) {
        parsed_unit one = unit->parse();
        EXPECT_EQ(one.counts.documents, one.documents.size());
        EXPECT_EQ(one.counts.redirects, one.redirects.size());
        EXPECT_EQ(one.counts.rejected + one.counts.damaged, one.issues.size());
        all.counts += one.counts;
        std::move(one.documents.begin(), one.documents.end(), std::back_inserter(all.documents));
        std::move(one.redirects.begin(), one.redirects.end(), std::back_inserter(all.redirects));
        std::move(one.issues.begin(), one.issues.end(), std::back_inserter(all.issues));
    }
    EXPECT_EQ(reader->next(), nullptr);
    EXPECT_EQ(reader->consumed_bytes(), bytes.size());
    return all;
}

std::vector<std::string> ids(const parsed_unit& unit) {
    std::vector<std::string> out;
    for (const document& d : unit.documents) out.push_back(d.id);
    return out;
}

TEST(wikipedia_test, an_article_is_a_document) {
    const auto got = read(head + page("Antica Roma", "'''Roma''' &amp;amp; [[altro#x|altri]]") + tail);
    ASSERT_THAT(got.documents, SizeIs(1));
    EXPECT_EQ(got.documents[0].id, "Antica_Roma");
    EXPECT_EQ(got.documents[0].title, "Antica Roma");
    EXPECT_EQ(got.documents[0].path, "dump.xml");
    EXPECT_EQ(got.documents[0].line, 10);
    EXPECT_EQ(got.documents[0].text, "Roma & altri");
    EXPECT_THAT(got.documents[0].links, ElementsAre("Altro"));
    EXPECT_THAT(got.issues, IsEmpty());
}

TEST(wikipedia_test, an_empty_article_is_a_document_without_text) {
    const auto got =
        read(head + page("A", "") + "<page><title>B</title><ns>0</ns><revision><text /></revision></page>" +
             "<page><title>C</title><ns>0</ns></page>" + tail);
    EXPECT_THAT(ids(got), ElementsAre("A", "B", "C"));
    EXPECT_EQ(got.documents[1].text, "");
    EXPECT_THAT(got.issues, IsEmpty());
}

TEST(wikipedia_test, other_namespaces_and_models_are_skipped_and_counted) {
    const auto got = read(
        head + page("Categoria:A", "x", "<ns>14</ns>") + page("B", "x", "<ns>1</ns>") +
        "<page><title>C</title><ns>0</ns><revision><model>css</model><text>x</text></revision></page>" +
        "<page><title>D</title><ns>0</ns><revision><text>x</text><model>wikitext</model></revision></page>" +
        tail);
    EXPECT_THAT(ids(got), ElementsAre("D"));
    EXPECT_THAT(got.counts.skipped, UnorderedElementsAre(Pair("page of another namespace", 2),
                                                         Pair("page of another content model", 1)));
}

TEST(wikipedia_test, without_ns_the_title_tells) {
    const auto got = read(head + page("Categoria:A", "x", "") + page("Category:B", "x", "") +
                          page("C: D", "x", "") + tail);
    EXPECT_THAT(ids(got), ElementsAre("C:_D"));
    EXPECT_EQ(got.counts.skipped.at("page of another namespace"), 2);
}

TEST(wikipedia_test, redirects_by_element_and_by_word) {
    const auto got =
        read(head + page("A", "#REDIRECT [[x]]", "<ns>0</ns><redirect title=\"B c\" />") +
             page("D", "#rinvia[[e f#g]]") + page("H", "\n#Doorverwijzing: [[i|j]]") +
             page("K", "#ĐỔI [[L]]") + page("M", "#weiterleitung [[N]]") + page("O", "#転送 [[P]]") +
             page("Q", "#ΑΝΑΚΑΤΕΥΘΥΝΣΗ [[R]]") + page("S", "#whatever [[T]]", "<redirect />") +
             page("U", "#punto [[V]]") + page("W", "#REDIRECT") + tail);
    std::vector<std::string> pairs;
    for (const redirect& r : got.redirects) pairs.push_back(r.from + ">" + r.to);
    EXPECT_THAT(pairs, ElementsAre("A>B_c", "D>E_f", "H>I", "K>L", "M>N", "O>P", "Q>R", "S>T"));
    EXPECT_THAT(ids(got), ElementsAre("U", "W"));
}

TEST(wikipedia_test, the_last_revision_counts) {
    std::string dump = head + "<page>\n<title>A</title>\n<ns>0</ns>\n";
    for (int i = 0; i < 50; ++i) {
        dump += "<revision>\n<model>" + std::string(i == 49 ? "wikitext" : "css") + "</model><text>t" +
                std::to_string(i) + std::string(100, '\n') + "</text></revision>\n";
    }
    dump += "</page>\n" + page("B", "b") + tail;
    // A history may be larger than a document: only the kept part counts.
    const auto got = read(dump, 4 << 20, {}, 1000);
    EXPECT_THAT(ids(got), ElementsAre("A", "B"));
    EXPECT_EQ(got.documents[0].text, "t49");
}

TEST(wikipedia_test, lines_are_right_after_dropped_revisions) {
    const auto got = read(
        "<mediawiki>\n<page>\n<title>A</title>\n<revision>\n<text>x</text></revision>\n"
        "<revision>\n<text>\x02</text></revision>\n</page></mediawiki>");
    ASSERT_THAT(got.issues, SizeIs(1));
    EXPECT_EQ(got.issues[0].line, 7);
}

TEST(wikipedia_damage_test, forbidden_characters_are_repaired) {
    const auto got = read(head + page("A", "a\x02\xFF & b <c> &nbsp; &#0;d") + page("B", "b") + tail);
    EXPECT_THAT(ids(got), ElementsAre("A", "B"));
    EXPECT_EQ(got.documents[0].text, "a\xEF\xBF\xBD & b <c> \xC2\xA0 d");
    ASSERT_THAT(got.issues, SizeIs(1));
    EXPECT_EQ(got.issues[0].path, "dump.xml");
    EXPECT_EQ(got.issues[0].line, 11);
    EXPECT_FALSE(got.issues[0].rejected);
    EXPECT_THAT(got.issues[0].reason, HasSubstr("page \"A\""));
    EXPECT_EQ(got.counts.damaged, 1);
}

TEST(wikipedia_damage_test, an_unclosed_page_ends_where_the_next_begins) {
    const auto got = read(head + "<page><title>A</title><ns>0</ns><revision><text>a b\n" + page("B", "b") +
                          "<page><title>C</title>" + page("D", "d") + tail);
    EXPECT_THAT(ids(got), ElementsAre("A", "B", "D"));
    EXPECT_EQ(got.documents[0].text, "a b");
    EXPECT_EQ(got.counts.damaged, 1);
    EXPECT_EQ(got.counts.rejected, 1);
}

TEST(wikipedia_damage_test, a_truncated_dump_keeps_what_it_has) {
    const std::string whole = head + page("A", "a") + page("B", "some text of b") + tail;
    const auto in_text = read(whole.substr(0, whole.find("text of b")));
    EXPECT_THAT(ids(in_text), ElementsAre("A", "B"));
    EXPECT_EQ(in_text.documents[1].text, "some");
    EXPECT_EQ(in_text.counts.damaged, 1);
    const auto in_title = read(whole.substr(0, whole.find("B</title>")));
    EXPECT_THAT(ids(in_title), ElementsAre("A"));
    EXPECT_EQ(in_title.counts.rejected, 1);
    const auto between = read(whole.substr(0, whole.find("<page>\n<title>B")));
    EXPECT_THAT(ids(between), ElementsAre("A"));
    EXPECT_EQ(between.counts.damaged, 1);
    for (std::size_t n = 0; n <= whole.size(); ++n) {
        const auto part = read(whole.substr(0, n));
        EXPECT_LE(part.issues.size(), 1u) << n;
        // The number of pages lost is unknown. Before the end of its root tag it is not yet a dump.
        if (n >= whole.find('>') + 1 && n <= whole.rfind("</")) {
            EXPECT_EQ(part.counts.incomplete, 1) << n;
        }
    }
    EXPECT_EQ(read(whole).counts.incomplete, 0);
    EXPECT_EQ(read(page("A", "a") + "<page><title>B").counts.incomplete,
              0);  // pages without a dump around them
}

TEST(wikipedia_damage_test, a_damaged_archive_is_an_issue) {
    const auto got = read(head + page("A", "a"), 1, "bzip2 data is damaged");
    EXPECT_THAT(ids(got), ElementsAre("A"));
    ASSERT_THAT(got.issues, SizeIs(1));
    EXPECT_EQ(got.issues[0].reason, "bzip2 data is damaged");
    EXPECT_EQ(got.counts.incomplete, 1);
    EXPECT_EQ(read(head + page("A", "a") + "<page><title>B", 1, "bzip2 data is damaged").counts.incomplete,
              1);
}

TEST(wikipedia_damage_test, junk_between_pages_is_one_issue) {
    const auto got = read(head + page("A", "a") + "junk <b> junk\n" + page("B", "b") +
                          "<pag><title>C</title></page>\n" + page("D", "d") + tail);
    EXPECT_THAT(ids(got), ElementsAre("A", "B", "D"));
    ASSERT_THAT(got.issues, SizeIs(2));
    EXPECT_EQ(got.issues[0].line, 13);
    EXPECT_FALSE(got.issues[0].rejected);
    EXPECT_TRUE(got.issues[1].rejected);
}

TEST(wikipedia_damage_test, a_page_without_title_is_rejected) {
    const auto got =
        read(head + "<page><ns>0</ns><revision><text>x</text></revision></page>" + page(" ", "x") + tail);
    EXPECT_THAT(got.documents, IsEmpty());
    EXPECT_EQ(got.counts.rejected, 2);
}

TEST(wikipedia_damage_test, misnested_elements_cut_one_page_only) {
    const auto got = read(head + "<page><title>A</title><ns>0</ns><revision><text>a</revision></page>" +
                          page("B", "b") + tail);
    EXPECT_THAT(ids(got), ElementsAre("A", "B"));
    EXPECT_EQ(got.counts.damaged, 1);
}

TEST(wikipedia_damage_test, a_page_beyond_the_limit_is_rejected) {
    const auto got =
        read(head + page("A", std::string(2000, 'x')) + page("B", "b") + tail, 4 << 20, {}, 1000);
    EXPECT_THAT(ids(got), ElementsAre("B"));
    ASSERT_THAT(got.issues, SizeIs(1));
    EXPECT_EQ(got.issues[0].reason, "a page of more than 1000 bytes");
    EXPECT_EQ(got.issues[0].line, 10);
}

TEST(wikipedia_forms_test, heads_in_every_shape) {
    const std::string a = page("A", "a");
    EXPECT_THAT(
        ids(read("<?xml version=\"1.0\"?>\n<!-- <page> c -->\n<!DOCTYPE mediawiki>" + head + a + tail)),
        ElementsAre("A"));
    EXPECT_THAT(ids(read("<mediawiki>" + a + tail)), ElementsAre("A"));
    EXPECT_THAT(ids(read(a + page("B", "b"))), ElementsAre("A", "B"));
    EXPECT_THAT(read(a).issues, IsEmpty());
    EXPECT_THAT(read("<mediawiki>" + a + tail).issues, IsEmpty());
    EXPECT_THAT(read("").issues, IsEmpty());
    EXPECT_THAT(read("<mediawiki><siteinfo><case>x" + a + tail).issues, SizeIs(1));
}

TEST(wikipedia_forms_test, several_dumps_in_a_row_keep_their_own_settings) {
    const std::string cased =
        "<mediawiki><siteinfo><case>case-sensitive</case><namespaces><namespace key=\"14\">Rubrik</namespace>"
        "</namespaces></siteinfo>";
    const auto got =
        read(head + page("A", "[[b]] [[Rubrik:c]]") + tail + cased + page("D", "[[b]] [[Rubrik:c]]") + tail);
    ASSERT_THAT(ids(got), ElementsAre("A", "D"));
    EXPECT_THAT(got.documents[0].links, ElementsAre("B", "Rubrik:c"));
    EXPECT_THAT(got.documents[1].links, ElementsAre("b"));
    EXPECT_THAT(got.issues, IsEmpty());
}

TEST(wikipedia_forms_test, cdata_and_comments_are_no_pages) {
    const auto got = read(head + page("A", "<![CDATA[<page> & </page>]]> b<!-- <page> -->c") + tail);
    EXPECT_THAT(ids(got), ElementsAre("A"));
    EXPECT_EQ(got.documents[0].text, "<page> & </page> bc");
    EXPECT_THAT(got.issues, IsEmpty());
}

TEST(wikipedia_forms_test, markup_larger_than_a_read) {
    const std::string filler(700000, 'x');
    const auto got = read(head + page("A", "a<!-- " + filler + "-->b<![CDATA[" + filler + "]]>") +
                          page("B", "b<!-- " + filler + filler) + page("C", "c") + tail);
    EXPECT_THAT(ids(got), ElementsAre("A", "B", "C"));
    EXPECT_EQ(got.documents[0].text, "ab" + filler);
    EXPECT_THAT(got.issues, SizeIs(1));
}

TEST(wikipedia_forms_test, entities_of_a_dtd_are_not_expanded) {
    const auto got = read("<!DOCTYPE m [<!ENTITY a \"aaaa\"><!ENTITY b SYSTEM \"file:///etc/passwd\">]>" +
                          head + page("A", "&a;&b;") + tail);
    ASSERT_THAT(ids(got), ElementsAre("A"));
    EXPECT_EQ(got.documents[0].text, "&a;&b;");
}

std::string utf16(std::string_view ascii_and_eszett, bool big_endian, bool mark) {
    std::string out;
    const auto unit = [&](unsigned u) {
        const char high = static_cast<char>(u >> 8);
        const char low = static_cast<char>(u & 0xFF);
        out += big_endian ? high : low;
        out += big_endian ? low : high;
    };
    if (mark) unit(0xFEFF);
    for (const char c : ascii_and_eszett) unit(c == '$' ? 0xDF : static_cast<unsigned char>(c));
    return out;
}

TEST(wikipedia_forms_test, every_encoding) {
    const std::string dump = head + page("A", "Ma$") + tail;
    for (const bool big : {false, true}) {
        for (const bool mark : {false, true}) {
            const auto got = read(utf16(dump, big, mark));
            ASSERT_THAT(ids(got), ElementsAre("A"));
            EXPECT_EQ(got.documents[0].text, "Maß");
            EXPECT_THAT(got.issues, IsEmpty());
        }
    }
    const auto latin =
        read("<?xml version='1.0' encoding='ISO-8859-1'?>" + head + page("A", "Ma\xDF") + tail);
    ASSERT_THAT(ids(latin), ElementsAre("A"));
    EXPECT_EQ(latin.documents[0].text, "Maß");
    EXPECT_EQ(read("\xEF\xBB\xBF" + head + page("A", "Maß") + tail).documents.at(0).text, "Maß");
}

TEST(wikipedia_forms_test, damaged_utf16_is_repaired_and_reported) {
    std::string bytes = utf16(head + page("A", "a$b") + tail, false, true);
    const std::size_t at = bytes.find(utf16("$", false, false));
    bytes[at + 1] = '\xD8';  // half a surrogate pair
    const auto got = read(bytes);
    ASSERT_THAT(ids(got), ElementsAre("A"));
    EXPECT_EQ(got.documents[0].text,
              "a\xEF\xBF\xBD"
              "b");
    EXPECT_THAT(got.issues, SizeIs(1));
}

TEST(wikipedia_forms_test, an_unknown_encoding_is_reported_and_read_as_utf8) {
    const auto got = read("<?xml version='1.0' encoding='x-none'?>" + head + page("A", "ß") + tail);
    ASSERT_THAT(ids(got), ElementsAre("A"));
    EXPECT_EQ(got.documents[0].text, "ß");
    EXPECT_THAT(got.issues, SizeIs(1));
}

TEST(wikipedia_units_test, hold_pages_up_to_their_size) {
    std::string dump = head;
    for (int i = 0; i < 100; ++i) dump += page("A" + std::to_string(i), std::string(100, 'x'));
    corpus_options options;
    options.unit_bytes = 1000;
    const auto reader = read_wikipedia(std::make_unique<memory_source>(dump + tail), options, context());
    std::size_t units = 0;
    while (const auto unit = reader->next()) {
        EXPECT_LT(unit->raw_bytes(), 1400u);
        ++units;
    }
    EXPECT_GT(units, 10u);
}

TEST(wikipedia_units_test, stop_when_requested) {
    const std::atomic<int> signal = 2;
    context ctx;
    ctx.stop_signal = &signal;
    const auto reader = read_wikipedia(std::make_unique<memory_source>(head + tail), {}, ctx);
    EXPECT_THROW(reader->next(), interrupted);
}

}  // namespace
}  // namespace quern::io::wikipedia_test
