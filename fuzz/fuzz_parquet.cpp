// SPDX-License-Identifier: Apache-2.0
// Parquet: any bytes, cut into any units, give the same documents; or the file is refused.
#include <memory>

#include "corpus_input.hpp"
#include "io/corpus/parquet_corpus.hpp"

namespace {

/// Whether a file that says to have so many rows is read here: a few bytes may stand for billions.
bool is_small(const quern::io::parquet::file_metadata& metadata) {
    constexpr std::uint64_t max_rows = 4000;
    if (metadata.rows > max_rows) return false;
    for (const auto& group : metadata.groups)
        for (const auto& chunk : group.chunks)
            if (chunk.values > max_rows) return false;
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    io::fuzzing::read_columns_in_any_units(
        [&](const io::corpus_options& options) -> std::unique_ptr<io::corpus_reader> {
            const auto file = io::parquet::parquet_file::over(bytes, "input", 1 << 20);
            if (!is_small(file->metadata())) return nullptr;
            return io::read_parquet(file, options, context{});
        });
    return 0;
}
