// SPDX-License-Identifier: Apache-2.0
// Detecting the format of a file, and decoding it: any bytes, under any name.
#include "corpus_input.hpp"
#include "io/corpus/detect.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern::io;
    using fuzzing::require;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    for (const char* name : {"a", "a.txt", "a.html.gz", "a.py", "a.tsv", "a.json", "a.xyz"}) {
        std::string why;
        for (const bool whole : {false, true}) {
            static_cast<void>(detect(bytes, whole, name, why));
            static_cast<void>(detect_collection(bytes, whole, name));
        }
    }
    std::string done;
    const std::string text = decode_text(bytes, done);
    require(is_utf8(text));
    const byte_order order = byte_order_of(bytes);
    if (order != byte_order::none && order != byte_order::utf8) {
        const auto source = as_utf8(std::make_unique<fuzzing::memory_source>(bytes), order);
        std::string streamed;
        char piece[7];
        while (const std::size_t got = source->read(piece)) streamed.append(piece, got);
        require(streamed == text);
    }
    return 0;
}
