// SPDX-License-Identifier: Apache-2.0
// WikiExtractor's output: any bytes, cut into any units, give the same documents.
#include "corpus_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::wikiextractor_form());
    return 0;
}
