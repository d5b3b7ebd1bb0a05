// SPDX-License-Identifier: Apache-2.0
// Near-duplicates, and repeated parts of documents.
#include "quern/tasks/dedup.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <shared_mutex>

#include "document_text.hpp"
#include "documents.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/dedup_parts_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "quern/tasks/output_harm.hpp"
#include "quern/tasks/signature_option_table.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

// ---- Near-duplicates ----

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

/// The files and folders that a run reads.
template <class Options>
std::vector<std::filesystem::path> inputs_of(const Options& options) {
    std::vector<std::filesystem::path> all = options.inputs;
    all.insert(all.end(), options.against.begin(), options.against.end());
    return all;
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

template <class Request>
void add_outputs(parameters<Request>& to, const char* what) {
    to.add({"output", "str | os.PathLike[str] | None", "None", what},
           [](Request& r, nb::handle given) { r.output = text_of("output", given); });
    to.add({"report", "str | os.PathLike[str] | None", "None",
            "Write an HTML page about the result to this file."},
           [](Request& r, nb::handle given) { r.report = text_of("report", given); });
    to.add({"overwrite", "bool", "False", "Replace existing files."},
           [](Request& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
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

void declare_duplicates(nb::module_& module) {
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

// ---- One document at a time ----

struct stream_call : call {
    dedup_options options;
};

/// Threads may share it. Calls that change it hold the lock alone; take it without the interpreter's lock.
struct open_stream {
    duplicate_stream stream;
    mutable std::shared_mutex lock;

    template <class Work>
    auto alone(const Work& work) {
        const nb::gil_scoped_release released;
        const std::lock_guard held(lock);
        return work(stream);
    }
    template <class Work>
    auto together(const Work& work) const {
        const nb::gil_scoped_release released;
        const std::shared_lock held(lock);
        return work(stream);
    }
};

/// An answer with its own copies of the ids, which another thread's document may move.
struct stream_answer {
    duplicate_stream::stream_result found;
    std::vector<std::string> ids;

    stream_answer(const duplicate_stream& stream, duplicate_stream::stream_result&& answer)
        : found(std::move(answer)) {
        for (const duplicate_pair& p : found.duplicates) ids.emplace_back(stream.id(p.a));
    }
};

std::string json_line(const nb::handle id, const nb::handle text) {
    std::string line = "{";
    if (!id.is_none()) {
        line += "\"id\":";
        append_json(line, std::string_view(document_text("id", nb::str(id))));
        line += ",";
    }
    line += "\"text\":";
    append_json(line, std::string_view(document_text("text", text)));
    return line + "}";
}

/// Why the line is no document, if it is none.
std::string_view reason_of(const duplicate_stream::stream_result& found) {
    if (found.is_document) return {};
    return found.why.empty() ? std::string_view("the document is empty") : std::string_view(found.why);
}

nb::dict dict_of(const stream_answer& answer, bool with_error = false) {
    const duplicate_stream::stream_result& found = answer.found;
    const std::string_view reason = reason_of(found);
    if (!reason.empty() && !with_error) refuse(std::string(reason));
    nb::dict made;
    made["id"] = found.id;
    nb::list duplicates;
    for (std::size_t i = 0; i < answer.ids.size(); ++i) {
        nb::dict one;
        one["id"] = text_object(answer.ids[i]);
        one["distance"] = found.duplicates[i].distance;
        one["rate"] = found.duplicates[i].rate();
        duplicates.append(one);
    }
    made["duplicates"] = duplicates;
    if (with_error) made["error"] = reason.empty() ? nb::object(nb::none()) : text_object(reason);
    return made;
}

/// JSON lines of texts, or of pairs (id, text).
std::vector<std::string> json_lines(const nb::iterable& documents) {
    std::vector<std::string> lines;
    for (const nb::handle one : documents) {
        if (nb::isinstance<nb::str>(one)) {
            lines.push_back(json_line(nb::none(), one));
        } else if (nb::isinstance<nb::tuple>(one) && nb::len(one) == 2) {
            lines.push_back(json_line(one[0], one[1]));
        } else {
            refuse("a document is neither a text nor a tuple (expected str, or (id, text))");
        }
    }
    return lines;
}

/// `process(lines, take)`: of the stream.
template <class Process>
std::vector<stream_answer> answers_to(const duplicate_stream& stream, std::span<const std::string> lines,
                                      const Process& process) {
    const std::vector<std::string_view> views(lines.begin(), lines.end());
    std::vector<stream_answer> answers;
    answers.reserve(lines.size());
    process(views,
            [&](duplicate_stream::stream_result&& found) { answers.emplace_back(stream, std::move(found)); });
    return answers;
}

nb::list list_of(const std::vector<stream_answer>& answers) {
    nb::list all;
    for (const stream_answer& answer : answers) all.append(dict_of(answer, true));
    return all;
}

void declare_stream(nb::module_& module) {
    static parameters<stream_call> options("DuplicateStream");
    options.table<&stream_call::options, &dedup_options::duplicates>().table<&stream_call::options>({"keep"});
    options.add(
        {"store", "str | os.PathLike[str] | None", "None",
         "Also compare with the documents in this folder, and add the new ones; created if it is missing."},
        [](stream_call& r, nb::handle given) { r.options.store = text_of("store", given); });
    options.add({"against", "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None", "None",
                 "Compare only with these corpora or stores."},
                [](stream_call& r, nb::handle given) { r.options.against = paths_of("against", given); });
    options.common();

    nb::class_<open_stream>(
        module, "DuplicateStream",
        R"(Near-duplicates of documents as they arrive: on the CPU, or on a GPU with device="cuda",
where add_many() compares many documents in little more time than one.

>>> import quern
>>> stream = quern.DuplicateStream(threshold=0.1)
>>> stream.add("Salt comes from the sea.")["duplicates"]
[]
>>> stream.add("Salt comes from the seas.", id="b")["duplicates"][0]["distance"]
1

Use `finish()`, or a with block, at the end: it writes what belongs to the store. Threads may share a stream: documents are
added one at a time, queries run together.)")
        .def(
            "__init__",
            [](open_stream* self, const nb::kwargs& given) {
                const stream_call call = options.read(given);
                new (self) open_stream{run_for(call.run,
                                               [&](const context& ctx) {
                                                   context used =
                                                       ctx;  // the stream outlives the listeners of this run
                                                   used.stop_signal = nullptr;
                                                   used.on_log = nullptr;
                                                   used.on_progress = nullptr;
                                                   return duplicate_stream(call.options, used);
                                               }),
                                       {}};
            },
            nb::arg("options"), nb::sig(options.constructor_signature()), options.doc("A new stream."))
        .def(
            "add",
            [](open_stream& self, nb::handle text, const nb::object& id) {
                const std::string line = json_line(id, text);
                return dict_of(self.alone(
                    [&](duplicate_stream& stream) { return stream_answer(stream, stream.next(line)); }));
            },
            nb::arg("text").none(), nb::arg("id") = nb::none(),
            nb::sig("def add(self, text: str, id: str | int | None = None) -> dict[str, Any]"),
            "Compares a document with the earlier ones and adds it. Returns its `id`, and `duplicates`: "
            "those near it that "
            "stay, the nearest first, each a dict of id, distance and rate. Raises UsageError for a repeated "
            "id.")
        .def(
            "query",
            [](const open_stream& self, nb::handle text) {
                const std::string line = json_line(nb::none(), text);
                return dict_of(self.together(
                    [&](const duplicate_stream& stream) { return stream_answer(stream, stream.ask(line)); }));
            },
            nb::arg("text").none(), nb::sig("def query(self, text: str) -> dict[str, Any]"),
            "The same, but the document is not added.")
        .def(
            "add_many",
            [](open_stream& self, const nb::iterable& documents) {
                const std::vector<std::string> lines = json_lines(documents);
                return list_of(self.alone([&](duplicate_stream& stream) {
                    return answers_to(stream, lines,
                                      [&](const auto& views, const auto& take) { stream.next(views, take); });
                }));
            },
            nb::arg("documents"),
            nb::sig("def add_many(self, documents: Iterable[str | tuple[str | int | None, str]]) -> "
                    "list[dict[str, Any]]"),
            "Adds documents, texts or (id, text), in their order, as add() would one by one. Returns a dict "
            "for "
            "each, which also has `error`: None, or why it was not added.")
        .def(
            "query_many",
            [](const open_stream& self, const nb::iterable& documents) {
                const std::vector<std::string> lines = json_lines(documents);
                return list_of(self.together([&](const duplicate_stream& stream) {
                    return answers_to(stream, lines,
                                      [&](const auto& views, const auto& take) { stream.ask(views, take); });
                }));
            },
            nb::arg("documents"),
            nb::sig("def query_many(self, documents: Iterable[str | tuple[str | int | None, str]]) -> "
                    "list[dict[str, Any]]"),
            "The same, but the documents are not added, nor compared with each other.")
        .def(
            "commit", [](open_stream& self) { self.alone([](duplicate_stream& s) { s.commit(); }); },
            "Writes the documents so far to the store.")
        .def(
            "finish", [](open_stream& self) { self.alone([](duplicate_stream& s) { s.finish(); }); },
            "Ends the stream: writes the rest to the store.")
        .def(
            "__len__",
            [](const open_stream& self) {
                return self.together([](const duplicate_stream& s) { return s.documents(); });
            },
            nb::sig("def __len__(self) -> int"))
        .def(
            "__enter__", [](const nb::object& self) { return self; },
            nb::sig("def __enter__(self) -> DuplicateStream"))
        .def(
            "__exit__",
            [](open_stream& self, const nb::object&, const nb::object&, const nb::object&) {
                self.alone([](duplicate_stream& s) { s.finish(); });
            },
            nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none(),
            nb::sig("def __exit__(self, kind: object, value: object, trace: object) -> None"))
        .def_prop_ro(
            "memory_bytes",
            [](const open_stream& self) {
                return self.together([](const duplicate_stream& s) { return s.memory_bytes(); });
            },
            "Memory of the documents so far, in bytes; their texts are on disk.");
}

// ---- Repeated parts ----

struct parts_call : corpus_call {
    dedup_parts_options options;
    std::filesystem::path output, report;
    bool overwrite = false;
    parts_call() { options.level = dedup_level::substring; }
};

nb::list texts_after_cuts(const dedup_parts_result& found) {
    nb::list texts;
    std::size_t next = 0;
    const auto cuts = found.cuts();
    for (std::uint32_t d = found.earlier(); d < found.earlier() + found.documents(); ++d) {
        const std::string_view text = found.text(d);
        std::string rest;
        std::size_t at = 0;
        for (; next < cuts.size() && cuts[next].document == d; ++next) {
            rest.append(text.substr(at, cuts[next].begin - at));
            at = cuts[next].end;
        }
        rest.append(text.substr(at));
        texts.append(text_object(rest));
    }
    return texts;
}

void declare_parts(nb::module_& module) {
    nb::class_<dedup_parts_result>(module, "PartsResult", "The repeated parts of documents.")
        .def_prop_ro(
            "cuts",
            [](const dedup_parts_result& f) {
                text_column ids, first_ids;
                number_column<std::uint64_t> begins, ends;
                number_column<std::int64_t> positions, firsts;
                for (const text_cut& cut : f.cuts()) {
                    ids.add(f.id(cut.document));
                    begins.push_back(cut.begin);
                    ends.push_back(cut.end);
                    first_ids.add(f.id(cut.first));
                    positions.push_back(std::int64_t{cut.document} - f.earlier());
                    firsts.push_back(std::int64_t{cut.first} - f.earlier());
                }
                table made("cuts");
                made.add("id", std::move(ids)).add("begin", std::move(begins)).add("end", std::move(ends));
                made.add("first_id", std::move(first_ids)).add("position", std::move(positions));
                made.add("first", std::move(firsts));
                return made;
            },
            "What is cut: id, bytes [begin, end) of the UTF-8 text, first_id (the document with the first "
            "occurrence), and the positions of both; negative ones are documents of `against`.")
        .def_prop_ro(
            "texts", texts_after_cuts, nb::sig("def texts(self) -> list[str]"),
            "The texts without what is cut, in the order of the documents; empty if nothing is left.")
        .def_prop_ro("documents", &dedup_parts_result::documents, "Number of documents.")
        .def_prop_ro("changed", &dedup_parts_result::changed, "Number of documents with a cut.")
        .def_prop_ro("dropped", &dedup_parts_result::dropped, "Number of documents of which nothing is left.")
        .def_prop_ro("characters", &dedup_parts_result::characters, "Code points of the texts.")
        .def_prop_ro("characters_cut", &dedup_parts_result::characters_cut, "Code points that are cut.")
        .def_prop_ro(
            "issues", [](const dedup_parts_result& f) { return issues_table(f.issues); },
            "The first 100 documents that were rejected or changed.")
        .def_prop_ro(
            "statistics", [](const dedup_parts_result& f) { return statistics_dict(f.statistics); },
            nb::sig("def statistics(self) -> dict[str, Any]"), "Stages, seconds, peak memory.")
        .def_prop_ro(
            "fingerprint",
            [](const dedup_parts_result& f) {
                return fingerprint_of_rows({"id", "begin", "end", "first"}, [&](row_writer& rows) {
                    for (const text_cut& cut : f.cuts())
                        rows.row({f.id(cut.document), cut.begin, cut.end, f.id(cut.first)});
                });
            },
            "16 hexadecimal digits: XXH3 of the cuts as quern dedup --cuts writes them in TSV.")
        .def(
            "__repr__",
            [](const dedup_parts_result& f) {
                return "PartsResult(documents=" + std::to_string(f.documents()) +
                       ", changed=" + std::to_string(f.changed()) +
                       ", dropped=" + std::to_string(f.dropped()) + ")";
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) {
                return nb::module_::import_("quern._display").attr("result_html")(self, "cuts");
            },
            nb::sig("def _repr_html_(self) -> str"));

    static parameters<parts_call> options("dedup_parts");
    options.table<&parts_call::options>();
    options.add({"against", "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None", "None",
                 "Corpora and stores whose documents come first: what occurs in them is cut, too."},
                [](parts_call& r, nb::handle given) { r.options.against = paths_of("against", given); });
    options.add(
        {"output", "str | os.PathLike[str] | None", "None",
         "Write the documents without what is cut to this file; those of which nothing is left are dropped. "
         "With a slash at the end: to a new folder, a file for each file of the corpus."},
        [](parts_call& r, nb::handle given) { r.output = text_of("output", given); });
    options.add({"overwrite", "bool", "False", "Replace an existing file."},
                [](parts_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); });
    add_corpus(options).common();
    module.def(
        "dedup_parts",
        [](const nb::object& documents, const nb::kwargs& given) {
            parts_call call = options.read(given);
            if (call.options.level == dedup_level::document)
                refuse(
                    "level: 'document' is what quern.dedup compares (expected paragraph, line or substring)");
            document_argument source(documents, call);
            std::unique_ptr<dedup_parts_result> found;
            run(call.run, [&](const context& ctx, calling_thread& caller) {
                source.read_into(call.options, caller);
                const bool to_folder = is_folder_name(call.output);
                if (to_folder) {
                    refuse_harm(call.output.parent_path(), inputs_of(call.options));
                    call.options.kept_folder = call.output;
                } else {
                    check_result_file(call.output, call.overwrite, inputs_of(call.options));
                }
                call.options.keep_records = !call.output.empty() && !to_folder;
                found = std::make_unique<dedup_parts_result>(dedup_parts(call.options, ctx));
                if (call.output.empty()) return;
                if (to_folder) return found->write_kept_folder(ctx);
                write_result_file(call.output, call.overwrite, ctx,
                                  [&](const auto& sink) { found->write_kept(sink); });
            });
            return found;
        },
        nb::arg("documents").none(), nb::arg("options"),
        nb::sig(options.signature("documents: object", "PartsResult")),
        options.doc(
            R"(Cuts what occurs again: lines, paragraphs, or any substrings of at least `min_length` code points.

What an earlier document has, or the same one before, is cut; first occurrences stay. Exact, and the same for every number
of threads and memory budget. `documents`: as for `dedup`.

>>> import quern
>>> result = quern.dedup_parts(["Grain is ground.\nAll rights reserved.", "Salt is cooked.\nAll rights reserved."],
...                            level="line", min_length=10)
>>> result.texts[1]
'Salt is cooked.'
)"));
}

// ---- Signatures ----

struct signature_call : corpus_call {
    signature_options options;
};

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
    declare_duplicates(module);
    declare_stream(module);
    declare_parts(module);
    declare_signatures(module);
}

}  // namespace quern::python
