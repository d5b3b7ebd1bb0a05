// SPDX-License-Identifier: Apache-2.0
// A dump of any bytes: no crash, consistent counts, and the same documents for any unit size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/corpus/wikipedia.hpp"
#include "io/wikipedia/memory_source.hpp"

namespace {

std::string read_all(const std::string& bytes, std::uint64_t unit_bytes) {
    quern::io::corpus_options options;
    options.unit_bytes = unit_bytes;
    options.max_document_bytes = 4096;
    const auto reader = quern::io::read_wikipedia(std::make_unique<quern::io::memory_source>(bytes), options,
                                                  quern::context());
    std::string all;
    while (const auto unit = reader->next()) {
        const auto part = unit->parse();
        if (part.counts.documents != part.documents.size()) std::abort();
        if (part.counts.redirects != part.redirects.size()) std::abort();
        if (part.counts.rejected + part.counts.damaged != part.issues.size()) std::abort();
        for (const auto& d : part.documents) {
            if (d.id.empty()) std::abort();
            all += d.id + '\0' + d.title + '\0' + d.text + '\0' + std::to_string(d.line);
            for (const auto& link : d.links) all += '\0' + link;
        }
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    if (read_all(bytes, 1) != read_all(bytes, 1 << 20)) std::abort();
    return 0;
}
