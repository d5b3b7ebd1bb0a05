// SPDX-License-Identifier: Apache-2.0
// WARC files, plain and compressed: any bytes, cut into any units, give the same documents.
#include "corpus_input.hpp"
#include "io/corpus/warc.hpp"

namespace {

using namespace quern::io;

std::string reading(std::string_view bytes, std::uint64_t unit_bytes, std::uint64_t limit, bool is_packed) {
    corpus_options options;
    options.unit_bytes = unit_bytes;
    options.max_document_bytes = limit;
    options.document_memory = 64 << 20;
    options.fields.kept = {"*"};
    quern::context ctx;
    ctx.threads = 1;
    auto source =
        is_packed ? open_bytes_memory(bytes, "input", ctx) : std::make_unique<fuzzing::memory_source>(bytes);
    const auto reader = read_warc(std::move(source), options, ctx);
    std::string out, issues;
    while (const auto unit = reader->next()) {
        parsed_unit part;
        const reading_budget small{1 << 20, false}, all{64 << 20, true};
        if (!unit->parse_within(small, part)) fuzzing::require(unit->parse_within(all, part));
        fuzzing::require(part.counts.documents == part.documents.size());
        fuzzing::require(part.counts.rejected + part.counts.damaged == part.issues.size());
        for (const auto& each : part.documents) {
            fuzzing::require(!each.id.empty() && is_utf8(each.id) && is_utf8(each.title) &&
                             is_utf8(each.text));
            fuzzing::require(is_utf8(each.fields));
            out += each.id + '\1' + each.title + '\1' + each.text + '\1' + each.fields +
                   std::to_string(each.line);
            for (const auto& link : each.links) {
                fuzzing::require(is_utf8(link));
                out += link + '\1';
            }
        }
        for (const auto& each : part.issues) issues += std::to_string(each.line) + each.reason + '\1';
    }
    return out + issues;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const bool is_packed = is_compressed(bytes.substr(0, 6));
    for (const std::uint64_t limit : {std::uint64_t{1} << 30, std::uint64_t{60}}) {
        try {
            const std::string whole = reading(bytes, 1 << 20, limit, is_packed);
            fuzzing::require(whole == reading(bytes, 1, limit, is_packed));
        } catch (const quern::out_of_memory&) {  // of the decompression
        }
    }
    return 0;
}
