// SPDX-License-Identifier: Apache-2.0
// Arrow files and streams: any bytes, cut into any units, give the same documents; or the file is refused.
#include <cstdint>
#include <string>
#include <string_view>

#include "corpus_input.hpp"
#include "io/corpus/arrow_corpus.hpp"
#include "quern/base/error.hpp"

namespace {

using namespace quern;

std::string reading(std::string_view bytes, std::uint64_t unit_bytes, bool everything) {
    io::corpus_options options;
    options.unit_bytes = unit_bytes;
    options.document_memory = 16 << 20;
    options.max_document_bytes = 1 << 20;
    options.keep_records = everything;
    if (everything) options.fields.kept = {"*"};
    const auto file = io::arrow::ipc_file::over(bytes, "input", 1 << 20);
    const auto reader = io::read_arrow(file, options, context{});
    constexpr std::uint64_t max_documents = 4000;  // a few bytes may stand for many rows
    std::uint64_t documents = 0;
    std::string out, issues;
    while (const auto unit = reader->next()) {
        io::parsed_unit part;
        if (!unit->parse_within({1 << 20, false}, part)) unit->parse_within({16 << 20, true}, part);
        io::fuzzing::require(part.counts.documents == part.documents.size());
        for (const auto& each : part.documents) {
            io::fuzzing::require(!each.id.empty() && io::is_utf8(each.id) && io::is_utf8(each.title));
            io::fuzzing::require(io::is_utf8(each.text) && io::is_utf8(each.fields) &&
                                 io::is_utf8(each.record));
            if (documents++ > max_documents) continue;
            out += each.id + '\1' + each.title + '\1' + each.text + '\1' + each.fields + '\1' + each.record +
                   std::to_string(each.line) + '\1';
            for (const auto& link : each.links) out += link + '\1';
        }
        for (const auto& each : part.issues) issues += std::to_string(each.line) + each.reason + '\1';
        if (documents > max_documents) return out.substr(0, 1000);
    }
    return out + issues;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    for (const bool everything : {false, true}) {
        try {
            const std::string whole = reading(bytes, 1 << 20, everything);
            io::fuzzing::require(whole == reading(bytes, 1, everything));
            io::fuzzing::require(whole == reading(bytes, 700, everything));
        } catch (const invalid_input&) {
        } catch (const out_of_memory&) {
        }
    }
    return 0;
}
