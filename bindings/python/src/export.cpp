// SPDX-License-Identifier: Apache-2.0
// The data of a store for other tools.
#include "quern/tasks/export.hpp"

#include <nanobind/stl/string.h>

#include <array>

#include "errors.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ngram_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct export_call : call {
    std::filesystem::path ciff, arpa, graph, vectors, documents;
    ngram_options model;
    bool overwrite = false;
};

using sink = std::function<void(std::string_view)>;

/// A requested file: what checks and writes it.
struct export_file {
    std::filesystem::path path;
    output_options options;
    std::function<void(const sink&)> write;
};

nb::dict export_store(const std::filesystem::path& store, const export_call& call) {
    ciff_counts ciff;
    arpa_counts arpa;
    graph_counts graph;
    vector_counts vectors;
    document_counts documents;
    run(call.run, [&](const context& ctx, calling_thread&) {
        const auto options = [&](std::string_view form, std::string_view written) {
            return output_options{.replace = call.overwrite, .form = form, .written = written};
        };
        const export_file files[] = {
            {call.ciff, options(".ciff .bin", "an index in the CIFF format"),
             [&](const sink& out) { ciff = export_ciff(store, out, {}, ctx); }},
            {call.arpa, options(".arpa", "a model in the ARPA format"),
             [&](const sink& out) { arpa = export_arpa(store, out, call.model, {}, ctx); }},
            {call.graph, options({}, {}),
             [&](const sink& out) { graph = export_graph(store, out, {}, ctx); }},
            {call.vectors, options(".npy", "a NumPy array"),
             [&](const sink& out) { vectors = export_vectors(store, out, {}, ctx); }},
            {call.documents, options({}, {}),
             [&](const sink& out) { documents = export_documents(store, out, {}, ctx); }}};
        std::vector<output_file> opened;
        for (const export_file& file : files) {
            if (file.path.empty()) continue;
            refuse_harm(file.path, std::array{store});
            check_output(file.path, file.options);
        }
        refuse_shared_files(std::array{call.ciff, call.arpa, call.graph, call.vectors, call.documents});
        for (const export_file& file : files) {
            if (file.path.empty()) continue;
            output_file& to = opened.emplace_back(file.path, file.options, ctx);
            file.write([&](std::string_view bytes) { to.write(bytes); });
        }
        if (opened.empty())
            throw usage_error("nothing to export (expected ciff, arpa, graph, vectors or documents)");
        std::vector<output_file*> all;
        for (output_file& file : opened) all.push_back(&file);
        output_file::commit_together(all);
    });
    nb::dict made;
    const auto set = [&made](const std::filesystem::path& path, const char* name, std::uint64_t count) {
        if (!path.empty()) made[name] = count;
    };
    set(call.ciff, "lists", ciff.lists);
    set(call.ciff, "postings", ciff.postings);
    set(call.arpa, "ngrams", arpa.ngrams);
    set(call.graph, "links", graph.links);
    set(call.vectors, "rows", vectors.rows);
    set(call.vectors, "dimensions", vectors.dimensions);
    set(call.documents, "documents", documents.documents);
    return made;
}

}  // namespace

void declare_export(nb::module_& module) {
    static parameters<export_call> options("export");
    const auto add_file = [](const char* name, std::filesystem::path export_call::*target, const char* help) {
        options.add({name, "str | os.PathLike[str] | None", "None", help},
                    [name, target](export_call& r, nb::handle given) { r.*target = text_of(name, given); });
    };
    add_file("ciff", &export_call::ciff,
             "The index in the Common Index File Format, for other search engines.");
    add_file("arpa", &export_call::arpa, "A back-off language model of the texts in the ARPA format.");
    add_file("graph", &export_call::graph, "The links between the documents: lines of two ids.");
    add_file("vectors", &export_call::vectors, "The documents' vectors as a NumPy array of float32 (.npy).");
    add_file("documents", &export_call::documents,
             "Rows of id, title and length in words, in the order of the vectors' rows.");
    options.table<&export_call::model>({"only", "counts", "method", "measure", "k1", "b"});
    options.add({"overwrite", "bool", "False", "Replace existing files."},
                [](export_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
    options.common();
    module.def(
        "export",
        [](const nb::object& store, const nb::kwargs& given) {
            const export_call call = options.read(given);
            for (const char* const name : {"order", "min_count", "smoothing", "lambda_", "mu", "delta"}) {
                if (given.contains(name) && !given[name].is_none() && call.arpa.empty())
                    refuse(std::string(name) + " is for a model, and there is none (pass arpa=FILE)");
            }
            const bool is_open = nb::hasattr(store, "path");
            return export_store(text_of("store", is_open ? nb::object(store.attr("path")) : store), call);
        },
        nb::arg("store"), nb::arg("options"),
        nb::sig(options.signature("store: Store | str | os.PathLike[str]", "dict[str, int]")),
        options.doc(
            R"(Writes the data of a store to files for other tools, as `quern export` does, byte for byte.

Names that end in .gz or .zst compress. All requested files appear, or none. Returns counts of what was written.

>>> import quern
>>> store = quern.build("mill", "store").store
>>> quern.export(store, graph="mill-links.tsv", documents="documents.tsv")["documents"]
7

Raises UsageError (no store, nothing requested, no vectors in the store, an existing file), DamagedStore, StorageError.)"));
}

}  // namespace quern::python
