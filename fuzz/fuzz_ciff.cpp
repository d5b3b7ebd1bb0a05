// SPDX-License-Identifier: Apache-2.0
// An index (CIFF): any bytes give the same documents for any memory, all of them valid UTF-8, with counts of at least 1;
// or the file is refused.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/listed_words.hpp"
#include "corpus_input.hpp"
#include "io/corpus/ciff.hpp"
#include "io/retrieval/ciff_reader.hpp"
#include "quern/base/error.hpp"

namespace {

using namespace quern;
using io::fuzzing::require;

std::string reading(std::string_view bytes, std::uint64_t memory) {
    context ctx;
    ctx.memory_bytes = memory;
    const auto reader = io::read_ciff(std::make_unique<io::fuzzing::memory_source>(bytes), {}, ctx);
    std::string out;
    while (const auto unit = reader->next()) {
        const io::parsed_unit part = unit->parse();
        require(part.counts.documents == part.documents.size());
        for (const document& each : part.documents) {
            require(!each.id.empty() && io::is_utf8(each.id) && io::is_utf8(each.text));
            require(each.listed == word_listing::counts);
            each_listed<std::uint32_t>(each.text, [](std::string_view word, std::uint32_t count) {
                require(word.empty() || count != 0);
            });
            out += each.id + '\1' + each.text + '\1';
        }
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    io::opens_as_ciff(bytes.substr(0, 65536));
    // The numbers of a few bytes may stand for billions of documents: those are refused where their records are missing.
    try {
        const std::string read = reading(bytes, std::uint64_t{64} << 20);
        require(read == reading(bytes, std::uint64_t{8} << 20));
    } catch (const invalid_input&) {
    } catch (const out_of_memory&) {
    }
    return 0;
}
