// SPDX-License-Identifier: Apache-2.0
// Mail: any bytes, cut into any units, give the same documents, as an mbox and as one message.
#include "corpus_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    quern::document_fields keep_all;
    keep_all.kept = {"*"};
    for (const bool is_mbox : {true, false})
        quern::io::fuzzing::read_in_any_units(bytes, quern::io::mail_form(is_mbox, keep_all));
    return 0;
}
