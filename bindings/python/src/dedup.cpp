// SPDX-License-Identifier: Apache-2.0
// Near-duplicates of documents.
#include "quern/tasks/dedup.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <array>

#include "dedup_outputs.hpp"
#include "documents.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/output_harm.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct dedup_call : corpus_call {
    dedup_options options;
    std::filesystem::path output, report;
    bool overwrite = false;
};

/// Keeps the library's result, and the positions of Python: those of the given documents, from 0; negative for earlier
/// ones.
struct found_duplicates {
    dedup_result result;
    removal_rule rule;
    bool has_pairs;

    std::int64_t position(std::uint32_t document) const {
        return std::int64_t{document} - std::int64_t{result.earlier()};
    }
};

table pairs_table(const found_duplicates& found) {
    text_column ids_a, ids_b;
    number_column<std::int64_t> a, b;
    number_column<std::uint64_t> distances, of;
    number_column<double> rates;
    if (!found.has_pairs) refuse("the pairs were not listed (pass list_pairs=True)");
    for (const duplicate_pair& p : found.result.pairs()) {
        ids_a.add(found.result.id(p.a));
        ids_b.add(found.result.id(p.b));
        a.push_back(found.position(p.a));
        b.push_back(found.position(p.b));
        distances.push_back(p.distance);
        of.push_back(p.of);
        rates.push_back(p.rate());
    }
    table made("pairs");
    made.add("id_a", std::move(ids_a)).add("id_b", std::move(ids_b)).add("distance", std::move(distances));
    made.add("rate", std::move(rates)).add("of", std::move(of)).add("a", std::move(a)).add("b", std::move(b));
    return made;
}

table groups_table(const found_duplicates& found) {
    number_column<std::uint64_t> groups;
    text_column ids;
    bool_column kept;
    number_column<std::int64_t> positions;
    std::uint64_t number = 0;
    for (const duplicate_group& group : found.result.groups()) {
        for (const std::uint32_t document : group.members) {
            groups.push_back(number);
            ids.add(found.result.id(document));
            kept.values.push_back(document == group.kept);
            positions.push_back(found.position(document));
        }
        ++number;
    }
    table made("members of groups");
    made.add("group", std::move(groups)).add("id", std::move(ids)).add("kept", std::move(kept));
    made.add("position", std::move(positions));
    return made;
}

table removed_table(const found_duplicates& found) {
    text_column ids, kept_ids;
    number_column<std::int64_t> positions, kept;
    number_column<std::uint64_t> distances;
    number_column<double> rates;
    for (const removed_duplicate& r : found.result.removed()) {
        ids.add(found.result.id(r.document));
        kept_ids.add(found.result.id(r.kept));
        distances.push_back(r.distance);
        rates.push_back(r.rate());
        positions.push_back(found.position(r.document));
        kept.push_back(found.position(r.kept));
    }
    table made("removed documents");
    made.add("id", std::move(ids)).add("kept_id", std::move(kept_ids)).add("distance", std::move(distances));
    made.add("rate", std::move(rates))
        .add("position", std::move(positions))
        .add("kept_position", std::move(kept));
    return made;
}

nb::object keep_mask(const found_duplicates& found) {
    std::vector<std::uint8_t> keep(found.result.documents(), 1);
    const auto drop = [&](std::uint32_t document) {
        if (document >= found.result.earlier()) keep[document - found.result.earlier()] = 0;
    };
    if (found.rule == removal_rule::near_kept) {
        for (const removed_duplicate& r : found.result.removed()) drop(r.document);
    } else {
        for (const duplicate_group& group : found.result.groups()) {
            for (const std::uint32_t document : group.members) {
                if (document != group.kept) drop(document);
            }
        }
    }
    return flags_of(std::make_shared<const std::vector<std::uint8_t>>(std::move(keep)));
}

std::string fingerprint_of(const found_duplicates& found) {
    if (found.has_pairs) {
        return fingerprint_of_rows({"id_a", "id_b", "distance", "rate"}, [&](row_writer& rows) {
            for (const duplicate_pair& p : found.result.pairs())
                rows.row({found.result.id(p.a), found.result.id(p.b), p.distance, p.rate()});
        });
    }
    return fingerprint_of_rows({"id"}, [&](row_writer& rows) {
        for (const duplicate_group& group : found.result.groups()) {
            for (const std::uint32_t document : group.members) {
                if (document != group.kept) rows.row({found.result.id(document)});
            }
        }
    });
}

std::unique_ptr<found_duplicates> find_duplicates(const nb::object& documents, dedup_call& call) {
    document_argument given(documents, call);
    if (given.rows() && !call.options.prefer.empty())
        refuse("prefer is for files, and these documents are in memory");
    std::unique_ptr<found_duplicates> found;
    const auto rule = call.options.rule;
    const bool has_pairs = call.options.list_pairs;
    run(call.run, [&](const context& ctx, calling_thread& caller) {
        given.read_into(call.options, caller);
        const std::string_view form = form_of_kept(call.output);
        const bool to_rows = !form.empty();
        call.options.keep_rows = to_rows;
        call.options.keep_records = !call.output.empty() && !is_folder_name(call.output) && !to_rows;
        std::vector<std::filesystem::path> inputs = inputs_of(call.options);
        if (!call.options.store.empty()) refuse_harm(call.options.store, inputs);
        inputs.push_back(call.options.store);
        if (is_folder_name(call.output)) {
            call.options.kept_folder = call.output;
            const std::filesystem::path folder = call.output.parent_path();
            refuse_harm(folder, inputs);
            inputs.push_back(folder);
        } else {
            check_result_file(call.output, call.overwrite, inputs, form);
        }
        if (call.options.resume && !is_folder_name(call.output))
            refuse("resume requires an output folder, with a slash at the end");
        check_result_file(call.report, call.overwrite, inputs);
        refuse_shared_files(std::array{call.output, call.report});
        auto result = dedup(call.options, ctx);
        if (call.options.keep_records || to_rows) {
            const auto write = [&](const auto& sink) {
                to_rows ? result.write_kept_rows(sink, ctx) : result.write_kept(sink);
            };
            write_result_file(call.output, call.overwrite, ctx, write, form);
        } else if (!call.output.empty()) {
            result.write_kept_folder(ctx);
        }
        if (!call.report.empty())
            write_result_file(call.report, call.overwrite, ctx,
                              [&](const auto& sink) { result.write_report(sink); });
        found = std::make_unique<found_duplicates>(found_duplicates{std::move(result), rule, has_pairs});
    });
    return found;
}

void add_dedup_options(parameters<dedup_call>& to) {
    to.table<&dedup_call::options, &dedup_options::duplicates>().table<&dedup_call::options>();
    to.add({"prefer", "Sequence[str | os.PathLike[str]] | None", "None",
            "Files: prefer documents of these sources, the first one most."},
           [](dedup_call& r, nb::handle given) { r.options.prefer = paths_of("prefer", given); });
    to.add({"store", "str | os.PathLike[str] | None", "None",
            "Also compare with the documents in this folder and add the new ones; created if it is missing."},
           [](dedup_call& r, nb::handle given) { r.options.store = text_of("store", given); });
    to.add({"against", "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None", "None",
            "Only pairs of a new document and one of these corpora or stores."},
           [](dedup_call& r, nb::handle given) { r.options.against = paths_of("against", given); });
    to.add(
        {"list_pairs", "bool", "True",
         "False: groups and removed documents only, which is faster: a million copies make 5 · 10^11 pairs."},
        [](dedup_call& r, nb::handle given) { r.options.list_pairs = bool_of("list_pairs", given); });
    to.add({"resume", "bool", "False",
            "With an output folder: continue a run of the same call that was killed or interrupted, if there "
            "is one, "
            "and keep what is finished if this one is."},
           [](dedup_call& r, nb::handle given) { r.options.resume = bool_of("resume", given); });
    to.table<&dedup_call::options, &dedup_options::text>();
}

}  // namespace

void declare_dedup(nb::module_& module) {
    module.def(
        "_text_address",
        [](const nb::object& documents, std::uint64_t row) {
            const corpus_call call;
            return reinterpret_cast<std::uintptr_t>(document_argument(documents, call).text_address(row));
        },
        nb::arg("documents").none(), nb::arg("row"),
        "For tests: where the text of a document of Arrow is read.");
    nb::class_<found_duplicates>(module, "DedupResult", "The near-duplicates of a collection.")
        .def_prop_ro("keep", keep_mask, nb::sig("def keep(self) -> NDArray[numpy.bool_]"),
                     "A bool for each given document, in their order: whether it stays. `frame[result.keep]` "
                     "(pandas), "
                     "`frame.filter(result.keep)` (polars, pyarrow).")
        .def_prop_ro("pairs", pairs_table,
                     "All pairs, by position: id_a, id_b, distance, rate, of (what the distance is divided "
                     "by), and the "
                     "positions a < b in the given documents, from 0. Earlier ones (store, against) have "
                     "negative positions.")
        .def_prop_ro("groups", groups_table,
                     "The members of each group: group, id, kept, position. A document that stays and those "
                     "removed for it, "
                     "or with rule='connected' all that pairs connect.")
        .def_prop_ro("removed", removed_table,
                     "With rule='near-kept': each removed document with one that stays and that it is near.")
        .def_prop_ro(
            "documents", [](const found_duplicates& f) { return f.result.documents(); },
            "Number of documents.")
        .def_prop_ro(
            "earlier", [](const found_duplicates& f) { return f.result.earlier(); },
            "Number of documents of `store` or `against`.")
        .def_prop_ro(
            "dropped", [](const found_duplicates& f) { return f.result.dropped(); },
            "Number of documents that do not stay.")
        .def_prop_ro(
            "pair_count",
            [](const found_duplicates& f) {
                return f.result.pair_count() ? nb::cast(*f.result.pair_count()) : nb::none();
            },
            nb::sig("def pair_count(self) -> int | None"),
            "Number of all pairs; None if it is unknown, because they were not listed.")
        .def(
            "text",
            [](const found_duplicates& f, std::int64_t position) {
                const std::int64_t at = position + f.result.earlier();
                if (at < 0 || at >= std::int64_t{f.result.earlier()} + f.result.documents())
                    throw nb::index_error("position out of range");
                const std::string_view text = f.result.text(static_cast<std::uint32_t>(at));
                return text_object(text);
            },
            nb::arg("position"), nb::sig("def text(self, position: int) -> str"),
            "The text of a document, by position.")
        .def_prop_ro(
            "counts", [](const found_duplicates& f) { return counts_dict(f.result.counts); },
            nb::sig("def counts(self) -> dict[str, Any]"), "What was read, rejected and skipped.")
        .def_prop_ro(
            "issues", [](const found_duplicates& f) { return issues_table(f.result.issues); },
            "The first 100 documents that were rejected or changed: path, line, reason, rejected.")
        .def_prop_ro(
            "statistics", [](const found_duplicates& f) { return statistics_dict(f.result.statistics); },
            nb::sig("def statistics(self) -> dict[str, Any]"),
            "Stages, seconds, peak memory, device and why.")
        .def_prop_ro(
            "fingerprint", fingerprint_of,
            "16 hexadecimal digits, equal for equal results on every machine: XXH3 of the pairs as quern "
            "dedup "
            "--format tsv writes them; without pairs, of the ids of the removed documents of each group.")
        .def(
            "__repr__",
            [](const found_duplicates& f) {
                return "DedupResult(documents=" + std::to_string(f.result.documents()) +
                       ", groups=" + std::to_string(f.result.groups().size()) +
                       ", dropped=" + std::to_string(f.result.dropped()) + ")";
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](const found_duplicates& f) {
                return nb::module_::import_("quern._display")
                    .attr("dedup_html")(nb::cast(f, nb::rv_policy::reference));
            },
            nb::sig("def _repr_html_(self) -> str"));

    static parameters<dedup_call> options("dedup");
    add_dedup_options(options);
    add_outputs(options,
                "Write the kept documents to this file: lines of JSON lines and TSV byte for byte, others as "
                "JSON lines; .gz and "
                ".zst compress; with .parquet, rows of Parquet files. With a slash at the end: to a new "
                "folder with one file for each input.");
    add_corpus(options).common();
    module.def(
        "dedup",
        [](const nb::object& documents, const nb::kwargs& given) {
            dedup_call call = options.read(given);
            return find_duplicates(documents, call);
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "DedupResult")),
        options.doc(
            R"(Finds near-duplicates: exactly all pairs whose edit rate is below the threshold, and which documents stay.

The edit rate of two texts is their edit distance divided by the sum of their lengths. The result is complete, and the same
for every device, number of threads and memory budget.

`documents`: a path (also with *), a list of path objects; a list, generator or other iterable of texts, of pairs (id, text) or of
mappings; a table or column of pyarrow, polars, pandas, DuckDB or datasets, read without a copy.

>>> import quern
>>> result = quern.dedup(["The miller grinds the corn.", "Salt comes from the sea.", "The miller grinds the corn!"])
>>> result.keep.tolist()
[True, True, False]
>>> result.pairs[0]["distance"], result.pairs[0]["a"], result.pairs[0]["b"]
(1, 0, 2)

Raises UsageError (options, missing inputs), InvalidInput (too much rejected, no documents), OutOfMemory, DeviceError,
DamagedStore, StorageError. Cost: one pass over the documents, whose texts go to `tmp`; then that of the method
(docs/near_duplicates.md).)"));
}

}  // namespace quern::python
