// SPDX-License-Identifier: Apache-2.0
// Office documents: any bytes as an archive, and any bytes as the XML of each kind of document in a sound archive, give
// valid UTF-8 or a refusal, within a small budget.
#include <string_view>

#include "corpus_input.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/zip_maker.hpp"
#include "quern/base/error.hpp"

namespace {

void convert_within(std::string_view bytes, const char* name, std::uint64_t budget) {
    using namespace quern::io;
    using fuzzing::require;
    const memory_bytes_at stored(bytes);
    const quern::context ctx;
    const convertible file{name, {}, &stored, {budget, true}, 1 << 20, ctx};
    try {
        const converted made = convert(file_kind::office, file);
        require(is_utf8(made.text) && is_utf8(made.title) && made.text.size() <= (2 << 20));
    } catch (const not_convertible& why) {
        require(!why.category().empty());
    } catch (const quern::out_of_memory&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern::io::testing;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    convert_within(bytes, "a.docx", 16 << 20);
    convert_within(bytes, "a.docx", 1000);
    const std::string xml(bytes);
    const auto related = [](const std::string& id, const std::string& type, const std::string& part) {
        return "<R><Relationship Id='" + id + "' Type='/" + type + "' Target='" + part + "'/></R>";
    };
    const zip_member word = {"_rels/.rels", related("a", "officeDocument", "word/d.xml"), false},
                     book = {"_rels/.rels", related("a", "officeDocument", "xl/w.xml"), false},
                     slides = {"_rels/.rels", related("a", "officeDocument", "ppt/p.xml"), false};
    const std::string list = "<w xmlns:r='relationships'><sheet name='S' r:id='r1'/><sldId r:id='r1'/></w>";
    const zip_member open = {"mimetype", "application/vnd.oasis.opendocument.text", false};
    for (const std::vector<zip_member>& members : std::vector<std::vector<zip_member>>{
             {word, {"word/d.xml", xml, false}},
             {book,
              {"xl/w.xml", list, false},
              {"xl/_rels/w.xml.rels", related("r1", "worksheet", "s"), false},
              {"xl/s", xml, false}},
             {book,
              {"xl/w.xml", list, false},
              {"xl/_rels/w.xml.rels", related("r1", "sharedStrings", "s"), false},
              {"xl/s", xml, false}},
             {book,
              {"xl/w.xml", xml, false},
              {"xl/_rels/w.xml.rels", related("r1", "styles", "w.xml"), false}},
             {slides,
              {"ppt/p.xml", list, false},
              {"ppt/_rels/p.xml.rels", related("r1", "slide", "s"), false},
              {"ppt/s", xml, false}},
             {open, {"content.xml", xml, false}},
             {{"META-INF/container.xml", "<c><rootfile full-path='b'/></c>", false},
              {"b", xml, false},
              {"x", "<p>page", false}}}) {
        convert_within(zip_of(members), "a", 16 << 20);
    }
    return 0;
}
