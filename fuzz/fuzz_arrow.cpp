// SPDX-License-Identifier: Apache-2.0
// Arrow files and streams: any bytes, cut into any units, give the same documents; or the file is refused.
#include "corpus_input.hpp"
#include "io/corpus/arrow_corpus.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    io::fuzzing::read_columns_in_any_units([&](const io::corpus_options& options) {
        return io::read_arrow(io::arrow::ipc_file::over(bytes, "input", 1 << 20), options, context{});
    });
    return 0;
}
