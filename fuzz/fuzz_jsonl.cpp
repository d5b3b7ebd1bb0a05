// SPDX-License-Identifier: Apache-2.0
// JSON lines: any bytes, cut into any units, give the same documents, all of them valid UTF-8.
#include "corpus_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::jsonl_form());
    return 0;
}
