// SPDX-License-Identifier: Apache-2.0
// JSON lines: any bytes, cut into any units, give the same documents, all of them valid UTF-8; also with named members,
// and with kept ones, which are valid JSON.
#include "corpus_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::jsonl_form());
    const quern::document_fields some{.id = "links.id",
                                      .text = {"title", "a.text"},
                                      .title = "a.b",
                                      .links = "id",
                                      .kept = {"a.b.c", "text"}};
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::jsonl_form(some));
    const quern::document_fields all{.id = {}, .text = {}, .title = {}, .links = {}, .kept = {"*"}};
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::jsonl_form(all));
    return 0;
}
