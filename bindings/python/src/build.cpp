// SPDX-License-Identifier: Apache-2.0
// Building a store, and merging several.
#include "quern/tasks/build.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "documents.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/merge.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/sync_options.hpp"
#include "result.hpp"
#include "store.hpp"
#include "texts.hpp"
#include "vector_arguments.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct build_call : corpus_call {
    build_options options;
    nb::object vectors;
};

struct built {
    build_options options;  ///< without the source
    build_result result;
    store opened;
};

std::set<build_stage> stages_of(nb::handle given) {
    std::set<build_stage> stages;
    for (const std::string& name : field_list_of("skip", given)) {
        if (name == "all") {
            stages = all_build_stages;
            continue;
        }
        const auto* const at = std::ranges::find(build_stage_names, name);
        if (at == std::end(build_stage_names)) {
            refuse("skip: invalid value '" + name +
                   "' (expected duplicates, ranks, thesaurus, vectors or all)");
        }
        stages.insert(static_cast<build_stage>(at - std::begin(build_stage_names)));
    }
    return stages;
}

const parameters<build_call>& build_parameters() {
    static const parameters<build_call> made = [] {
        parameters<build_call> all("build");
        all.add({"skip", "str | Sequence[str]", "()",
                 "Stages to skip: duplicates, ranks, thesaurus, vectors; or all. The index is always built."},
                [](build_call& r, nb::handle given) { r.options.skip = stages_of(given); })
            .add({"ngrams", "bool", "False",
                  "Also make the stage ngrams: posting lists of the pairs of frequent words, for searches "
                  "with "
                  "an order."},
                 [](build_call& r, nb::handle given) { r.options.ngrams = bool_of("ngrams", given); })
            .add({"update", "bool", "False",
                  "Add the documents to the existing store, with its text options and stages. Documents that "
                  "are already in "
                  "it are skipped."},
                 [](build_call& r, nb::handle given) { r.options.update = bool_of("update", given); })
            .add(
                {"replace", "bool", "False",
                 "As `update`, but a document with the id of one in the store replaces it: the old one goes, "
                 "the new one comes last."},
                [](build_call& r, nb::handle given) { r.options.replace = bool_of("replace", given); })
            .add({"delete", "Sequence[str]", "()",
                  "Ids of documents to delete from the existing store; then `documents` may be None. Ids "
                  "that the "
                  "store lacks are counted."},
                 [](build_call& r, nb::handle given) {
                     if (nb::isinstance<nb::str>(given))
                         refuse("delete: expected a list of ids, not one str");
                     for (const nb::handle id : given) r.options.deleted_ids.push_back(text_of("delete", id));
                 })
            .add({"sync", "bool", "False",
                  "Bring the store up to date with the inputs. Without a store, an ordinary build; if "
                  "no "
                  "file has changed, nothing is done."},
                 [](build_call& r, nb::handle given) { r.options.sync = bool_of("sync", given); })
            .add({"force", "bool", "False", "Replace an existing store."},
                 [](build_call& r, nb::handle given) { r.options.force = bool_of("force", given); })
            .add({"keep_fields", "str | Sequence[str] | None", "None",
                  "Other members of the records to keep in the store, for results, filters and sorting: "
                  "names, "
                  "or \"all\"."},
                 [](build_call& r, nb::handle given) {
                     r.fields.kept = field_list_of("keep_fields", given);
                     if (nb::isinstance<nb::str>(given) && r.fields.kept.front() == "all")
                         r.fields.kept = {"*"};
                 })
            .add({"index_fields", "str | Sequence[str] | None", "None",
                  "Members of the records whose values are searched, too, each as a field: names. They are "
                  "kept as well."},
                 [](build_call& r, nb::handle given) {
                     r.options.indexed_fields = field_list_of("index_fields", given);
                 })
            .add({"vectors", "object", "None",
                  "A vector for each document, kept for hybrid search (Store.search(vector=...)): an array "
                  "of rows in the "
                  "order of the documents, or the path of a file, by id or in order. Kept as float32."},
                 [](build_call& r, nb::handle given) { r.vectors = nb::borrow(given); })
            .table<&build_call::options, &build_options::text>();
        add_corpus(all);
        all.common(true);
        return all;
    }();
    return made;
}

/// The same call makes a store and keeps it in step with its documents, so that options may be given again.
void check_sync(const build_call& requested, const nb::kwargs& given) {
    const store_info info = read_store_info(requested.options.store);
    build_options options = requested.options;
    options.fields = requested.fields;
    text_options text = info.text;
    for (const auto& row : options_of<text_options>)
        if (const nb::str key(row.name.data(), row.name.size()); given.contains(key) && !given[key].is_none())
            row.set(text, row.get(options.text));
    const std::string_view other = options_unlike_store(options, text, info);
    if (!other.empty())
        refuse(
            fmt::format("{} was built with other {}, which sync=True keeps; give the same ones or none, or "
                        "build it anew: force=True without sync",
                        options.store.string(), other));
}

/// A store that exists keeps its options: refuses others instead of ignoring them.
void check_changes(const build_call& requested, const nb::kwargs& given) {
    const build_options& options = requested.options;
    if (options.sync && options.changes_store())
        refuse("sync: cannot be combined with update, replace or delete; it follows the documents alone");
    if (!options.changes_store() && !options.sync) return;
    if (options.sync) {
        if (is_store(options.store)) check_sync(requested, given);
        return;
    }
    const std::string with = options.replace ? "replace=True" : options.update ? "update=True" : "delete";
    const auto refuse_given = [&](std::string_view name, std::string_view what) {
        const nb::str key(name.data(), name.size());
        if (given.contains(key) && !given[key].is_none())
            refuse(fmt::format("{}: cannot be combined with {}, which uses the {} of the store", name, with,
                               what));
    };
    if (options.force)
        refuse("force: cannot be combined with " + with + ", which keeps the store's documents");
    refuse_given("keep_fields", "fields");
    refuse_given("index_fields", "fields");
    refuse_given("skip", "stages");
    refuse_given("ngrams", "stages");
    for (const auto& row : options_of<text_options>) refuse_given(row.name, "text options");
}

built build_store(const nb::object& documents, const nb::object& to, const nb::kwargs& given) {
    build_call requested = build_parameters().read(given);
    build_options& options = requested.options;
    options.store = text_of("store", to);
    check_changes(requested, given);
    if (std::error_code failed; !options.force && !options.changes_store() && !options.sync &&
                                std::filesystem::exists(options.store, failed))
        refuse(options.store.string() +
               " exists; force=True replaces it, update=True adds to it, sync=True makes it follow the "
               "documents");
    if ((options.changes_store() || options.sync) && is_store(options.store))
        requested.fields.kept = read_store_info(options.store).kept_fields;
    options.fields = requested.fields;
    keep_indexed(options);
    requested.fields = options.fields;
    held_vectors vectors;
    if (requested.vectors.is_valid() && !requested.vectors.is_none()) {
        if (is_path(requested.vectors)) {
            options.vectors.file = text_of("vectors", requested.vectors);
        } else {
            set_call by;
            by.run.ctx = context::cpu(1);
            read_vectors(vectors, requested.vectors, by, "vectors");
            if (vectors.is_sparse || vectors.is_single)
                refuse("vectors: expected rows of numbers, one for each document");
            options.vectors.rows = vectors.dense;
        }
    }
    std::optional<document_argument> source;
    if (!documents.is_none() || options.deleted_ids.empty()) source.emplace(documents, requested);
    build_result result;
    std::optional<store> opened;
    run(requested.run, [&](const context& ctx, calling_thread& caller) {
        if (source) source->read_into(options, caller);
        const auto begin = std::chrono::steady_clock::now();
        result = build(options, ctx);
        result.statistics.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        result.statistics.peak_memory_bytes = peak_memory_bytes();
        result.statistics.threads = ctx.thread_count();
        // Now: later another build may replace it.
        opened = store(std::make_shared<const opened_folder>(options.store, ctx));
    });
    options.source = nullptr;
    options.vectors = {};
    return {std::move(options), std::move(result), std::move(*opened)};
}

nb::object changes_of(const built& self) {
    if (!self.result.changes) return nb::none();
    const store_changes& changes = *self.result.changes;
    nb::dict all;
    all["added"] = changes.added;
    all["changed"] = changes.changed;
    all["removed"] = changes.removed;
    all["unknown_ids"] = changes.unknown_ids;
    all["up_to_date"] = changes.up_to_date;
    return all;
}

nb::dict counts_of(const built& self) {
    nb::dict all;
    const reading_counts& counts = self.result.counts;
    all["read"] = counts.documents;
    all["rejected"] = counts.rejected;
    all["truncated"] = counts.truncated;
    all["repaired"] = counts.damaged - counts.truncated;
    all["incomplete_inputs"] = counts.incomplete;
    all["redirects"] = counts.redirects;
    nb::dict skipped;
    for (const auto& [reason, number] : counts.skipped) skipped[reason.c_str()] = number;
    all["skipped"] = skipped;
    return all;
}

struct merge_call : call {
    merge_options options;
};

const parameters<merge_call>& merge_parameters() {
    static const parameters<merge_call> made =
        parameters<merge_call>("merge")
            .add({"skip", "str | Sequence[str]", "()",
                  "Stages to skip: duplicates, ranks, thesaurus, vectors; or all. The index is always made."},
                 [](merge_call& r, nb::handle given) { r.options.skip = stages_of(given); })
            .add({"ngrams", "bool", "False",
                  "Also make the stage ngrams: posting lists of the pairs of frequent words, for searches "
                  "with an "
                  "order."},
                 [](merge_call& r, nb::handle given) { r.options.ngrams = bool_of("ngrams", given); })
            .add({"force", "bool", "False", "Replace an existing store, which may be among those merged."},
                 [](merge_call& r, nb::handle given) { r.options.force = bool_of("force", given); })
            .common(true);
    return made;
}

store merge_stores(const nb::object& stores, const nb::object& to, const nb::kwargs& given) {
    merge_call requested = merge_parameters().read(given);
    merge_options& options = requested.options;
    if (is_path(stores)) refuse("stores: expected a list of stores or of their paths");
    for (const nb::handle each : stores) {
        const bool is_open = nb::hasattr(each, "path");
        options.stores.emplace_back(
            text_of("stores", is_open ? nb::object(each.attr("path")) : nb::borrow(each)));
    }
    options.store = text_of("store", to);
    std::optional<store> opened;
    run(requested.run, [&](const context& ctx, calling_thread&) {
        merge(options, ctx);
        opened = store(std::make_shared<const opened_folder>(options.store, ctx));
    });
    return std::move(*opened);
}

struct report_call : call {
    bool overwrite = false;
};
const parameters<report_call>& report_parameters() {
    static const parameters<report_call> made =
        parameters<report_call>("write_report")
            .add({"overwrite", "bool", "False", "Replace an existing file."},
                 [](report_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); })
            .common();
    return made;
}

void write_report(const built& self, const nb::object& path, const nb::kwargs& given) {
    const report_call requested = report_parameters().read(given);
    const std::filesystem::path to = text_of("path", path);
    run(requested.run, [&](const context& ctx, calling_thread&) {
        check_result_file(to, requested.overwrite, self.options.inputs);
        write_result_file(to, requested.overwrite, ctx, [&](const auto& sink) {
            write_build_report(self.options, self.result, sink, ctx);
        });
    });
}

}  // namespace

void declare_build(nb::module_& module) {
    nb::class_<built>(module, "BuildResult", "What a build read and wrote.")
        .def_prop_ro(
            "store", [](const built& self) { return self.opened; }, nb::sig("def store(self) -> Store"),
            "The store, opened.")
        .def_prop_ro(
            "documents", [](const built& self) { return self.result.documents; }, "Documents of the store.")
        .def_prop_ro(
            "duplicates", [](const built& self) { return self.result.duplicates; },
            "Near-duplicates, which are not among the documents.")
        .def_prop_ro(
            "words", [](const built& self) { return self.result.words; }, "Occurrences of words.")
        .def_prop_ro(
            "vocabulary", [](const built& self) { return self.result.vocabulary; }, "Distinct words.")
        .def_prop_ro(
            "postings", [](const built& self) { return self.result.postings; }, "Pairs of word and document.")
        .def_prop_ro(
            "links", [](const built& self) { return self.result.links; },
            "Links between documents of the store, including repeats.")
        .def_prop_ro(
            "dangling_links", [](const built& self) { return self.result.dangling_links; },
            "Links to documents that are not in the store.")
        .def_prop_ro(
            "store_bytes", [](const built& self) { return self.result.store_bytes; }, "Size of the folder.")
        .def_prop_ro(
            "seconds", [](const built& self) { return self.result.statistics.seconds; }, "Wall time.")
        .def_prop_ro("counts", counts_of, nb::sig("def counts(self) -> dict[str, Any]"),
                     "What was read: documents read, rejected, truncated and repaired; `skipped` by reason.")
        .def_prop_ro("changes", changes_of, nb::sig("def changes(self) -> dict[str, Any] | None"),
                     "With `update`, `replace`, `delete` or `sync` of an existing store: the numbers of "
                     "documents added, "
                     "changed and removed, of unknown ids to delete, and whether the store was up to date.")
        .def_prop_ro(
            "issues", [](const built& self) { return issues_table(self.result.issues); },
            "The first 100 documents that were rejected, truncated or repaired: path, line, reason, "
            "rejected.")
        .def_prop_ro(
            "statistics", [](const built& self) { return statistics_dict(self.result.statistics); },
            nb::sig("def statistics(self) -> dict[str, Any]"),
            "As --stats writes it: stages with seconds and bytes, counts, peak memory, device and why.")
        .def_prop_ro(
            "fingerprint", [](const built& self) { return self.opened->fingerprint(); },
            nb::sig("def fingerprint(self) -> str"), "That of the store.")
        .def("write_report", write_report, nb::arg("path"), nb::arg("kwargs"),
             nb::sig(report_parameters().signature("self, path: str | os.PathLike[str]", "None")),
             report_parameters().doc("Writes a self-contained HTML page: what was read, rejected and "
                                     "excluded, seconds, words, link ranks.\n\n"
                                     "Raises UsageError if the file exists and `overwrite` is not set."))
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("build_text")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) {
                return nb::module_::import_("quern._display").attr("result_html")(self, "issues");
            },
            nb::sig("def _repr_html_(self) -> str"));

    module.def(
        "build", build_store, nb::arg("documents").none(), nb::arg("store"), nb::arg("kwargs"),
        nb::sig(
            build_parameters().signature("documents: object, store: str | os.PathLike[str]", "BuildResult")),
        build_parameters().doc(
            "Builds a store: an index, near-duplicates, link ranks, a thesaurus, vectors of documents.\n\n"
            "`documents`: the path of a file or folder, or a list of such path objects; or documents in "
            "memory: texts, pairs "
            "(id, text), dicts, a generator of these, a frame, an Arrow table or stream. `store`: the folder "
            "to write.\n\n"
            "Returns a `BuildResult`; its `store` is opened. The same documents, text options, stages and "
            "seed give the same "
            "bytes on every machine. The store appears complete or not at all: an interrupted build leaves "
            "what was there "
            "before. Raises UsageError for an existing store (pass `force` or `update`), InvalidInput for "
            "too many rejected "
            "documents.\n\n"
            ">>> import quern\n"
            ">>> texts = ['Grain is ground in a mill.', 'Salt comes from the sea.']\n"
            ">>> result = quern.build(texts, 'docs.store', force=True)\n"
            ">>> result.documents\n"
            "2"));

    module.def(
        "merge", merge_stores, nb::arg("stores"), nb::arg("store"), nb::arg("kwargs"),
        nb::sig(merge_parameters().signature(
            "stores: Sequence[Store | str | os.PathLike[str]], store: str | os.PathLike[str]", "Store")),
        merge_parameters().doc(
            "Merges stores into one: the store that `build` makes of all their documents, in the order of "
            "`stores`, "
            "byte for byte, without reading or tokenising them again.\n\n"
            "The stores must have the same text options and kept fields, and no id twice; only the first may "
            "have "
            "excluded near-duplicates (build the others with skip=\"all\"). `store`: the folder to write. "
            "Returns it, "
            "opened. It appears complete or not at all. Raises UsageError, which names what differs, "
            "DamagedStore.\n\n"
            ">>> import quern\n"
            ">>> one = quern.build([('a', 'Grain is ground in a mill.')], 'one.store', skip='all').store\n"
            ">>> two = quern.build([('b', 'Salt comes from the sea.')], 'two.store', skip='all').store\n"
            ">>> merged = quern.merge([one, two], 'both.store', skip='all')\n"
            ">>> [hit.id for hit in merged.search('salt')]\n"
            "['b']"));
}

}  // namespace quern::python
