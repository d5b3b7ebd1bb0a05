// SPDX-License-Identifier: Apache-2.0
// quern.DuplicateStream: near-duplicates of documents that arrive one at a time.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <mutex>
#include <shared_mutex>

#include "constructor.hpp"
#include "document_text.hpp"
#include "documents.hpp"
#include "errors.hpp"
#include "module.hpp"
#include "quern/base/rows.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "result.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

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

/// The reason why the line is not a document; empty if it is one.
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

}  // namespace

void declare_duplicate_stream(nb::module_& module) {
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
            [](open_stream* self, const nb::args& positional, const nb::kwargs& given) {
                refuse_positional("DuplicateStream", positional);
                stream_call call = options.read(given);
                call.options.list_pairs = false;
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
            nb::sig(options.constructor_signature()), options.doc("A new stream."))
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

}  // namespace quern::python
