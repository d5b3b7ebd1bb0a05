// SPDX-License-Identifier: Apache-2.0
// TSV, tables with a heading, word lines and lines and paragraphs of text: any bytes, cut into any units, give the same documents.
#include "corpus_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::tsv_form());
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::lines_form());
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::text_lines_form());
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::text_paragraphs_form());
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::table_form("text,id", ','));
    const quern::document_fields fields{
        .id = "b", .text = {"a", "c"}, .title = {}, .links = "d", .kept = {"*"}};
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::table_form("d,c,b,a,e", ',', fields));
    quern::io::fuzzing::read_in_any_units(bytes, quern::io::table_form("id\ttext\ttitle", '\t'));
    return 0;
}
