// SPDX-License-Identifier: Apache-2.0
// quern.signatures: fuzzy-hash signatures of documents.
#include <nanobind/stl/string.h>

#include "documents.hpp"
#include "module.hpp"
#include "quern/tasks/signature_option_table.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct signature_call : corpus_call {
    signature_options options;
};

}  // namespace

void declare_signatures(nb::module_& module) {
    static parameters<signature_call> options("signatures");
    options.table<&signature_call::options>();
    add_corpus(options).common();
    module.def(
        "signatures",
        [](const nb::object& documents, const nb::kwargs& given) {
            signature_call call = options.read(given);
            document_argument source(documents, call);
            text_column ids, letters, letters_at_double;
            number_column<std::uint64_t> sizes;
            run(call.run, [&](const context& ctx, calling_thread& caller) {
                source.read_into(call.options, caller);
                signatures(call.options, ctx, [&](std::string_view id, const fuzzy_signature& s) {
                    ids.add(id);
                    sizes.push_back(s.block_size);
                    letters.add(s.letters);
                    letters_at_double.add(s.letters_at_double);
                });
            });
            table made("signatures");
            made.add("id", std::move(ids)).add("B", std::move(sizes)).add("signature", std::move(letters));
            made.add("signature_at_2B", std::move(letters_at_double));
            return made;
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "Table")),
        options.doc("The fuzzy-hash signature of each document (context-triggered piecewise hashing, "
                    "Kornblum 2006).\n\n"
                    "Returns a table of id, B (the block size), signature, signature_at_2B, in the order of "
                    "the documents. "
                    "`documents`: as for `dedup`."));
}

}  // namespace quern::python
