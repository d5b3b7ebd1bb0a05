// SPDX-License-Identifier: Apache-2.0
// Office documents: what is read of them, and that no archive takes more than a document may.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

#include "io/compression/packers.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/documents/zip_archive.hpp"
#include "io/corpus/reading.hpp"
#include "io/corpus/zip_maker.hpp"

namespace quern::io::testing::office_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

document only(const temporary_folder& folder) {
    const auto all = read_all({folder.path()});
    EXPECT_EQ(all.documents.size(), 1U);
    EXPECT_THAT(issues(all), IsEmpty());
    EXPECT_THAT(all.counts.skipped, IsEmpty());
    return all.documents.empty() ? document{} : all.documents[0];
}

document read_as(const std::string& name, std::string_view bytes) {
    const temporary_folder folder;
    folder.write(name, bytes);
    return only(folder);
}

/// Why a file of a folder is skipped.
std::string why_skipped(const std::string& name, std::string_view bytes, const corpus_options& options = {}) {
    const temporary_folder folder;
    folder.write(name, bytes);
    folder.write("z.txt", "another");
    const auto all = read_all({folder.path()}, options);
    EXPECT_THAT(ids(all), ElementsAre("z.txt"));
    EXPECT_EQ(all.counts.rejected, 0U);
    EXPECT_EQ(all.counts.skipped.size(), 1U);
    return all.counts.skipped.empty() ? std::string() : all.counts.skipped.begin()->first;
}

/// Why a file that is named directly is rejected.
std::string why_rejected(const std::string& name, std::string_view bytes,
                         const corpus_options& options = {}) {
    const temporary_folder folder;
    const auto all = read_all({folder.write(name, bytes)}, options);
    EXPECT_EQ(all.counts.rejected, 1U);
    return all.issues.empty() ? std::string() : all.issues[0].reason;
}

std::string paragraph(std::string_view text) {
    return "<w:p><w:r><w:t>" + std::string(text) + "</w:t></w:r></w:p>";
}

TEST(office, word_shows_what_prints) {
    const std::string body =
        "<w:p><w:pPr><w:tabs><w:tab w:val='x'/></w:tabs></w:pPr><w:r><w:t>One</w:t><w:tab/><w:t "
        "xml:space='preserve'>two "
        "</w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old"
        "</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></"
        "w:moveFrom><w:hyperlink><w:r><w:t>"
        "link</w:t></w:r></w:hyperlink><w:r><w:instrText>PAGE</w:instrText><w:br/><w:t>next</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc>" +
        paragraph("a") + paragraph("b") + "</w:tc><w:tc>" + paragraph("c") + "</w:tc></w:tr><w:tr><w:tc>" +
        paragraph("d") + "</w:tc><w:tc>" + paragraph("e &amp; f") +
        "</w:tc></w:tr></w:tbl><w:p><w:r><w:t>Host</w:t></"
        "w:r><mc:AlternateContent><mc:Choice><w:txbxContent>" +
        paragraph("box") + "</w:txbxContent></mc:Choice><mc:Fallback>" + paragraph("box") +
        "</mc:Fallback></mc:AlternateContent><w:r><w:t>goes on</w:t></w:r></w:p>"
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>i</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></"
        "w:pPr><w:r><w:t>ii"
        "</w:t></w:r></w:p>";
    const document read = read_as("a.docx", zip_of(word_members(body, "The title")));
    EXPECT_EQ(read.title, "The title");
    EXPECT_EQ(read.text, "One\ttwo newlink\nnext\n\na b\tc\nd\te & f\n\nHost\n\nbox\n\ngoes on\n\ni\nii");
}

TEST(office, word_titles_are_properties_then_headings_then_the_name) {
    std::vector<zip_member> members = word_members(
        "<w:p><w:r><w:t>Before</w:t></w:r></w:p><w:p><w:pPr><w:pStyle "
        "w:val='berschrift1'/></w:pPr><w:r><w:t>Of "
        "mills</w:t></w:r></w:p><w:p><w:pPr><w:pStyle w:val='V1'/></w:pPr><w:r><w:t>Of mills "
        "1</w:t></w:r></w:p>"
        "<w:p><w:r><w:t>After</w:t></w:r></w:p>");
    members.push_back(
        {"word/_rels/document.xml.rels",
         "<Relationships><Relationship Id='a' Type='t/styles' Target='styles.xml'/><Relationship "
         "Id='b' Type='t/footnotes' Target='/word/footnotes.xml'/></Relationships>"});
    members.push_back({"word/styles.xml",
                       "<w:styles xmlns:w='http://w'><w:style w:styleId='berschrift1'><w:name w:val='heading "
                       "1'/></w:style><w:style w:styleId='V1'><w:name w:val='toc 1'/></w:style></w:styles>"});
    members.push_back(
        {"word/footnotes.xml", "<w:footnotes xmlns:w='http://w'><w:footnote w:type='separator'>" +
                                   paragraph("sep") + "</w:footnote><w:footnote>" + paragraph("A note.") +
                                   "</w:footnote></w:footnotes>"});
    const document read = read_as("a.docx", zip_of(members));
    EXPECT_EQ(read.title, "Of mills");
    EXPECT_EQ(read.text, "Before\n\nOf mills\n\nAfter\n\nA note.");
    EXPECT_EQ(read_as("b.docx", zip_of(word_members(paragraph("x")))).title, "b.docx");
}

TEST(office, a_workbook_shows_its_cells) {
    const std::vector<zip_member> members = {
        {"[Content_Types].xml", "<Types/>"},
        {"_rels/.rels",
         "<Relationships><Relationship Id='a' Type='x/officeDocument' "
         "Target='/xl/workbook.xml'/></Relationships>"},
        {"xl/workbook.xml",
         "<workbook xmlns:r='http://x/relationships'><sheets><sheet name='Second' sheetId='2' "
         "r:id='r2'/><sheet "
         "name='First' r:id='r1'/></sheets></workbook>"},
        {"xl/_rels/workbook.xml.rels",
         "<Relationships><Relationship Id='r1' Type='x/worksheet' "
         "Target='worksheets/sheet1.xml'/><Relationship "
         "Id='r2' Type='x/worksheet' Target='worksheets/sheet2.xml'/><Relationship Id='r3' "
         "Type='x/sharedStrings' "
         "Target='sharedStrings.xml'/><Relationship Id='r4' Type='x/styles' "
         "Target='styles.xml'/></Relationships>"},
        {"xl/sharedStrings.xml",
         "<sst><si><t>shared</t></si><si><r><rPr/><t>rich "
         "</t></r><r><t>text</t></r><rPh><t>no</t></rPh></si></sst>"},
        {"xl/styles.xml",
         "<styleSheet><numFmts><numFmt numFmtId='170' formatCode='[$-407]d/\\m/yyyy;@'/><numFmt "
         "numFmtId='171' "
         "formatCode='0 \"days\"'/><numFmt numFmtId='172' formatCode='yyyy-mm-dd "
         "hh:mm:ss'/></numFmts><cellStyleXfs><xf "
         "numFmtId='14'/></cellStyleXfs><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/><xf "
         "numFmtId='170'/><xf "
         "numFmtId='171'/><xf numFmtId='172'/><xf numFmtId='20'/></cellXfs></styleSheet>"},
        {"xl/worksheets/sheet1.xml",
         "<worksheet><sheetData><row><c t='s'><v>0</v></c><c t='s'><v>1</v></c><c "
         "t='inlineStr'><is><t>in</t></is>"
         "</c></row><row><c><v>3.3000000000000003</v></c><c t='b'><v>1</v></c><c t='e'><v>#REF!</v></c><c "
         "t='str'><f>A1&amp;B1</f><v>made</v></c><c t='s'><v>99</v></c></row></sheetData></worksheet>"},
        {"xl/worksheets/sheet2.xml",
         "<worksheet><sheetData><row><c s='1'><v>45351</v></c><c s='2'><v>1</v></c><c s='3'><v>7</v></c><c "
         "s='4'><v>45351.75</v></c><c s='5'><v>0.5</v></c><c "
         "s='1'><v>1e300</v></c></row></sheetData></worksheet>"}};
    EXPECT_EQ(read_as("a.xlsx", zip_of(members)).text,
              "Second\n2024-02-29\t1900-01-01\t7\t2024-02-29T18:00\t12:00\t1e+300\n\nFirst\nshared\trich "
              "text\tin\n3.3\tTRUE\t#REF!\tmade");
}

TEST(office, slides_come_in_order_with_notes) {
    const auto slide = [](const std::string& type, const std::string& text) {
        return "<p:sp xmlns:p='p' xmlns:a='a'><p:nvSpPr><p:nvPr><p:ph type='" + type +
               "'/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>" + text +
               "</a:t></a:r></a:p></p:txBody></p:sp>";
    };
    const std::vector<zip_member> members = {
        {"[Content_Types].xml", "<Types/>"},
        {"_rels/.rels",
         "<Relationships><Relationship Id='a' Type='x/officeDocument' "
         "Target='ppt/presentation.xml'/></Relationships>"},
        {"ppt/presentation.xml",
         "<p xmlns:r='http://x/relationships'><sldIdLst><sldId id='256' r:id='r9'/><sldId id='257' "
         "r:id='r1'/></sldIdLst></p>"},
        {"ppt/_rels/presentation.xml.rels",
         "<Relationships><Relationship Id='r1' Type='x/slide' Target='slides/slide1.xml'/><Relationship "
         "Id='r9' "
         "Type='x/slide' Target='slides/slide9.xml'/></Relationships>"},
        {"ppt/slides/slide1.xml", "<s>" + slide("body", "later") + "</s>"},
        {"ppt/slides/slide9.xml",
         "<s>" + slide("title", "Of wind") + slide("body", "sails") + slide("sldNum", "9") + "</s>"},
        {"ppt/slides/_rels/slide9.xml.rels",
         "<Relationships><Relationship Id='n' Type='x/notesSlide' Target='../notes/n.xml'/></Relationships>"},
        {"ppt/notes/n.xml", "<n>" + slide("sldImg", "no") + slide("body", "say this") + "</n>"}};
    const document read = read_as("a.pptx", zip_of(members));
    EXPECT_EQ(read.title, "Of wind");
    EXPECT_EQ(read.text, "Of wind\n\nsails\n\nsay this\n\nlater");
}

constexpr std::string_view open_text =
    "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b'><office:body><office:text>"
    "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h>Of "
    "<text:span>water</text:span>"
    "</text:h><text:p>The<text:s text:c='2'/>wheel<text:note><text:note-citation>1</text:note-citation>"
    "<text:note-body><text:p>Small print.</text:p></text:note-body></text:note> "
    "turns.<text:line-break/>On</text:p>"
    "<text:list><text:list-item><text:p>one</text:p></text:list-item><text:list-item><text:p>two</text:p>"
    "</text:list-item></text:list><table:table "
    "table:name='T'><table:table-row><table:table-cell><text:p>a</text:p>"
    "<text:p>b</text:p></table:table-cell><table:table-cell><text:p>c</text:p></table:table-cell></"
    "table:table-row>"
    "</table:table></office:text></office:body></office:document-content>";

TEST(office, open_documents_show_what_prints) {
    const std::string shown = "Of water\n\nThe wheel turns.\nOn\n\none\ntwo\n\na b\tc\n\nSmall print.";
    const document packed =
        read_as("a.odt", zip_of({{"mimetype", "application/vnd.oasis.opendocument.text", false},
                                 {"content.xml", std::string(open_text)},
                                 {"meta.xml", "<m><title>Mills</title></m>"}}));
    EXPECT_EQ(packed.text, shown);
    EXPECT_EQ(packed.title, "Mills");
    const document flat = read_as("a.fodt", "<?xml version='1.0'?>" + std::string(open_text));
    EXPECT_EQ(flat.text, shown);
    EXPECT_EQ(flat.title, "Of water");
    EXPECT_EQ(why_skipped("a.odt", zip_of({{"mimetype", "application/vnd.oasis.opendocument.text", false},
                                           {"META-INF/manifest.xml", "<m><encryption-data/></m>"},
                                           {"content.xml", "\1\2"}})),
              "file: .odt (encrypted)");
}

std::vector<zip_member> book() {
    return {{"mimetype", "application/epub+zip", false},
            {"META-INF/container.xml", "<c><rootfile full-path='O/b.opf'/></c>"},
            {"O/b.opf",
             "<package xmlns:dc='d'><metadata><dc:title>A book</dc:title></metadata><manifest><item id='n' "
             "href='nav.xhtml' properties='nav' media-type='application/xhtml+xml'/><item id='a' "
             "href='a%20b.xhtml' "
             "media-type='application/xhtml+xml'/><item id='c' href='../c.html' "
             "media-type='text/html'/></manifest>"
             "<spine><itemref idref='n'/><itemref idref='c'/><itemref idref='a'/></spine></package>"},
            {"O/nav.xhtml", "<html><body>Contents</body></html>"},
            {"O/a b.xhtml",
             "<?xml version='1.0'?><html><body><h1>Last</h1><script src='x'/><p>of two</p></body></html>"},
            {"c.html", "<p>First"}};
}

TEST(office, a_book_is_read_by_its_spine) {
    const document read = read_as("a.epub", zip_of(book()));
    EXPECT_EQ(read.title, "A book");
    EXPECT_EQ(read.text, "First\n\nLast\n\nof two");
    auto locked = book();
    locked.push_back({"META-INF/encryption.xml", "<e><CipherReference URI='O/a%20b.xhtml'/></e>"});
    EXPECT_EQ(why_skipped("a.epub", zip_of(locked)), "file: .epub (encrypted)");
}

TEST(office, content_decides_where_extensions_are_wrong) {
    const std::string word = zip_of(word_members(paragraph("text")));
    for (const char* const name : {"a.doc", "a.docx", "a.docx.gz", "noextension", "a.pages", "a.xlsx"}) {
        const bool packed = std::string_view(name).ends_with(".gz");
        EXPECT_EQ(read_as(name, packed ? test::pack_gzip(word) : word).text, "text") << name;
    }
    EXPECT_EQ(read_as("b.xls", "<html><title>T</title><body><p>page").text, "page");
    EXPECT_EQ(read_as("b.doc", "{\\rtf1 rich}").text, "rich");
    EXPECT_EQ(why_skipped("a.zip", zip_of({{"x.txt", "x"}})), "file: .zip");
    // A file that is named is read, too; before the archive may be other bytes.
    const temporary_folder folder;
    const auto all =
        read_all({folder.write("letter.docx", "#!/bin/sh\n" + word), folder.write("b.bin", word)});
    ASSERT_EQ(all.documents.size(), 2U);
    EXPECT_EQ(all.documents[0].text, "text");
    EXPECT_EQ(all.documents[1].text, "text");
}

TEST(office, old_and_encrypted_documents_are_named) {
    using namespace std::string_literals;
    const auto compound = [](const std::string& stream) {
        std::string bytes = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + std::string(600, '\0');
        for (const char c : stream) (bytes += c) += '\0';
        return bytes;
    };
    EXPECT_EQ(why_skipped("a.doc", compound("WordDocument")), "file: .doc (old Word format: save as .docx)");
    EXPECT_EQ(why_skipped("a.xls", compound("Workbook")), "file: .xls (old Excel format: save as .xlsx)");
    EXPECT_EQ(why_skipped("a.ppt", compound("PowerPoint Document")),
              "file: .ppt (old PowerPoint format: save as .pptx)");
    EXPECT_EQ(why_skipped("a.docx", compound("EncryptedPackage")), "file: .docx (encrypted)");
    EXPECT_THAT(why_rejected("a.doc", compound("WordDocument")), HasSubstr("save it as .docx"));
    auto members = word_members(paragraph("x"));
    for (auto& each : members) each.flags = 1;
    EXPECT_EQ(why_rejected("a.docx", zip_of(members)), "encrypted");
}

TEST(office, damaged_archives_are_named_and_cost_little) {
    const std::string good = zip_of(word_members(paragraph("text")));
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        const temporary_folder folder;
        folder.write("a.docx", std::string_view(good).substr(0, cut));
        const auto all = read_all({folder.path()});
        ASSERT_THAT(ids(all), IsEmpty()) << cut;
        ASSERT_THAT(all.counts.skipped, ElementsAre(Pair("file: .docx (damaged)", 1))) << cut;
    }
    const auto changed = [](auto&& change) {
        auto members = word_members(paragraph("text"));
        change(members[2]);
        return why_rejected("a.docx", zip_of(members));
    };
    EXPECT_THAT(changed([](zip_member& m) { m.checksum_change = 1; }),
                HasSubstr("wrong checksum: word/document.xml"));
    EXPECT_THAT(changed([](zip_member& m) { m.declared_bytes = 10; }), HasSubstr("larger than it declares"));
    EXPECT_THAT(changed([](zip_member& m) { m.declared_bytes = 100'000; }),
                HasSubstr("smaller than it declares"));
    EXPECT_THAT(changed([](zip_member& m) { m.declared_bytes = UINT32_MAX - 1; }), HasSubstr("more than"));
    EXPECT_THAT(changed([](zip_member& m) { m.position = 0; }), HasSubstr("entries that overlap"));
    EXPECT_THAT(changed([](zip_member& m) { m.position = 1 << 30; }), HasSubstr("outside of the file"));
    EXPECT_THAT(changed([](zip_member& m) { m.bytes.resize(m.bytes.size() - 3); }),
                HasSubstr("not well-formed"));
    EXPECT_THAT(changed([](zip_member& m) { m.name = "x"; }),
                HasSubstr("without the part word/document.xml"));
    // zip64 values that lead out of the file.
    std::string lies = good;
    lies.replace(lies.size() - 12, 8, std::string(8, '\xFF'));
    EXPECT_THAT(why_rejected("a.docx", lies), HasSubstr("central directory outside"));
}

TEST(office, names_of_entries_lead_nowhere_and_archives_within_stay_closed) {
    const temporary_folder folder;
    folder.write("secret.txt", "a secret");
    std::filesystem::create_directory(folder.path() / "in");
    auto members = word_members(paragraph("text"));
    members.push_back({"../escaped.txt", "out"});
    members.push_back({"/tmp/../" + (folder.path() / "absolute.txt").string(), "out"});
    members.push_back({"word\\..\\..\\escaped.txt", "out"});
    members.push_back({"inner.docx", zip_of(word_members(paragraph("inner"))), false});
    folder.write("in/a.docx", zip_of(members));
    EXPECT_EQ(read_all({folder.path() / "in"}).documents.at(0).text, "text");
    // The main part is a file outside of the archive.
    auto outside = word_members(paragraph("text"));
    for (zip_member& each : outside) {
        const std::size_t at = each.bytes.find("word/document.xml");
        if (each.name == "_rels/.rels" && at != std::string::npos)
            each.bytes.replace(at, 17, "../../secret.txt");
    }
    EXPECT_THAT(why_rejected("b.docx", zip_of(outside)), HasSubstr("no known office document"));
    std::size_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder.path()))
        files += each.is_regular_file() ? 1 : 0;
    EXPECT_EQ(files, 2U);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "absolute.txt"));
}

TEST(office, bombs_are_refused) {
    using namespace std::chrono;
    const auto begin = steady_clock::now();
    // One part that inflates to 300 MB.
    auto members = word_members("");
    members[2].bytes =
        "<w:document xmlns:w='w'><w:p>" + std::string(300'000'000, ' ') + "</w:p></w:document>";
    EXPECT_EQ(why_skipped("a.docx", zip_of(members)), "file: .docx (too large)");
    // Entities that grow by references; entities at all.
    const auto refused = [](const std::string& xml) {
        auto other = word_members("");
        other[2].bytes = xml;
        return why_rejected("a.docx", zip_of(other));
    };
    EXPECT_THAT(refused("<!DOCTYPE x [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;'>]><x>&b;</x>"),
                HasSubstr("declares entities"));
    EXPECT_THAT(refused("<!DOCTYPE x [<!ENTITY a SYSTEM '/etc/passwd'>]><x>&a;</x>"),
                HasSubstr("declares entities"));
    std::string deep;
    for (int i = 0; i < 1100; ++i) deep += "<w:p xmlns:w='w'>";
    EXPECT_THAT(refused(deep), HasSubstr("nested more than 1,000 deep"));
    EXPECT_THAT(refused("<x a='" + std::string(5 << 20, 'y') + "'/>"), HasSubstr("a tag of more than 2 MiB"));
    // Many entries.
    const std::string many = zip_of(std::vector<zip_member>(11, {"x", "", false}));
    EXPECT_THROW(zip_archive(memory_bytes_at(many), {}, {.entries = 10}), not_convertible);
    EXPECT_EQ(zip_archive(memory_bytes_at(many), {}, {.entries = 11}).entries().size(), 11U);
    // Names that a parser keeps: beyond a document's memory.
    std::string names = "<x>";
    for (int i = 0; i < 200'000; ++i) names += "<n" + std::to_string(i) + "/>";
    auto other = word_members("");
    other[2].bytes = names + "</x>";
    corpus_options options;
    options.document_memory = 8 << 20;
    EXPECT_THAT(why_rejected("a.docx", zip_of(other), options), HasSubstr("the names of the XML"));
    // A text that is repeated by reference: a megabyte, a thousand times.
    const std::vector<zip_member> sheets = {
        {"[Content_Types].xml", "<Types/>"},
        {"_rels/.rels",
         "<Relationships><Relationship Id='a' Type='x/officeDocument' "
         "Target='xl/workbook.xml'/></Relationships>"},
        {"xl/workbook.xml", "<w xmlns:r='http://x/relationships'><sheet name='S' r:id='r1'/></w>"},
        {"xl/_rels/workbook.xml.rels",
         "<Relationships><Relationship Id='r1' Type='x/worksheet' Target='s.xml'/><Relationship Id='r3' "
         "Type='x/sharedStrings' Target='t.xml'/></Relationships>"},
        {"xl/t.xml", "<sst><si><t>" + std::string(1 << 20, 'x') + "</t></si></sst>"},
        {"xl/s.xml", [] {
             std::string out = "<s><row>";
             for (int i = 0; i < 5000; ++i) out += "<c t='s'><v>0</v></c>";
             return out + "</row></s>";
         }()}};
    options.document_memory = 64 << 20;
    EXPECT_THAT(why_rejected("a.xlsx", zip_of(sheets), options), HasSubstr("the text of the document"));
    options = {};
    options.max_document_bytes = 10 << 20;
    EXPECT_THAT(why_rejected("a.xlsx", zip_of(sheets), options),
                HasSubstr("larger than the limit of 10485760"));
    EXPECT_LT(duration_cast<seconds>(steady_clock::now() - begin).count(), 120);
}

}  // namespace
}  // namespace quern::io::testing::office_test
