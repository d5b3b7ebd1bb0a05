// SPDX-License-Identifier: Apache-2.0
#include "topic_run.hpp"

#include "texts.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <unordered_set>
#include <utility>

#include "constructor.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "outputs.hpp"
#include "parameters.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/output_harm.hpp"
#include "quern/tasks/trec_run.hpp"
#include "run.hpp"

namespace nb = nanobind;

namespace quern::python {

const topic_run::part* topic_run::find(std::string_view topic) const {
    const auto at = std::ranges::find(topics_, topic, &part::topic);
    return at == topics_.end() ? nullptr : &*at;
}

void topic_run::each_text(const std::function<void(std::string_view)>& sink) const {
    std::vector<std::string_view> ids;
    std::string lines;
    for (const part& of : topics_) ids.emplace_back(of.topic);
    if (const auto alike = alike_in_run(ids)) {
        refuse(
            "the topics '" + std::string(alike->first) + "' and '" + std::string(alike->second) +
            "' look the same in a TREC run, where white space becomes _; the table of the run distinguishes "
            "them");
    }
    for (const part& of : topics_) {
        ids.clear();
        lines.clear();
        for (std::size_t row = of.begin; row < of.end; ++row) {
            if (of.topic.empty() || document(row).empty())
                refuse_row(of.topic, document(row), "an id is empty, which a TREC run cannot have");
        }
        for (std::size_t row = of.begin; row < of.end; ++row) {
            ids.push_back(document(row));
            append_run_line(lines, of.topic, document(row), rank(row), score(row));
        }
        if (const auto alike = alike_in_run(ids)) {
            refuse("the documents '" + std::string(alike->first) + "' and '" + std::string(alike->second) +
                   "' look the same in a TREC run, where white space becomes _; the table of the run "
                   "distinguishes them");
        }
        sink(lines);
    }
}

void run_builder::begin(std::string_view topic) {
    topics_.push_back({std::string(topic), scores_.size(), scores_.size()});
}

void run_builder::add(std::string_view document, std::uint32_t rank, double score) {
    topic_column_.add(topics_.back().topic);
    documents_.add(document);
    ranks_.push_back(rank);
    scores_.push_back(score);
    topics_.back().end = scores_.size();
}

topic_run run_builder::take() {
    topic_run made;
    made.topics_ = std::move(topics_);
    made.rows_.add("topic", std::move(topic_column_))
        .add("document", std::move(documents_))
        .add("rank", std::move(ranks_))
        .add("score", std::move(scores_));
    const auto& columns = made.rows_.columns();
    made.documents_ = std::get<std::shared_ptr<const text_column>>(columns[1].second);
    made.ranks_ = std::get<std::shared_ptr<const number_column<std::uint32_t>>>(columns[2].second);
    made.scores_ = std::get<std::shared_ptr<const number_column<double>>>(columns[3].second);
    return made;
}

topic_run read_run(const std::filesystem::path& path, const context& ctx) {
    run_builder made;
    std::string topic;
    bool has_topic = false;
    read_trec_run(path, ctx, [&](const trec_run_line& line) {
        if (!has_topic || line.topic != topic) {
            topic = line.topic;
            has_topic = true;
            made.begin(topic);
        }
        made.add(line.document, line.rank, line.score);
    });
    return made.take();
}

void refuse_row(std::string_view topic, std::string_view document, std::string_view why) {
    refuse(std::string("topic '")
               .append(topic)
               .append("', document '")
               .append(document)
               .append("': ")
               .append(why));
}

namespace {

const parameters<call>& read_parameters() {
    static const parameters<call> made = parameters<call>("from_file").common();
    return made;
}

/// From the lists that quern._runs makes of what Python has: per topic its id and number of rows; per row document, rank
/// and score.
topic_run run_of_lists(const nb::list& topics, const nb::list& sizes, const nb::list& documents,
                       const nb::object& ranks, const nb::object& scores) {
    run_builder made;
    std::size_t row = 0;
    std::unordered_set<std::string> seen;
    for (std::size_t t = 0; t < nb::len(topics); ++t) {
        const std::string topic = text_argument("a topic", topics[t]);
        made.begin(topic);
        seen.clear();
        const auto size = nb::cast<std::size_t>(sizes[t]);
        for (std::size_t i = 0; i < size; ++i, ++row) {
            std::string document = text_argument("a document", documents[row]);
            const auto score = nb::cast<double>(scores[row]);
            std::uint32_t rank = 0;
            if (std::isnan(score)) refuse_row(topic, document, "the score is NaN");
            if (!nb::try_cast(ranks[row], rank))
                refuse_row(topic, document, "the rank is not a number below 2^32");
            made.add(document, rank, score);
            const auto [at, is_new] = seen.insert(std::move(document));
            if (!is_new) refuse_row(topic, *at, "it occurs twice");
        }
    }
    return made.take();
}

nb::dict scores_of(const topic_run& run, const topic_run::part& of) {
    nb::dict scores;
    for (std::size_t row = of.begin; row < of.end; ++row)
        scores[text_object(run.document(row))] = nb::float_(run.score(row));
    return scores;
}

struct write_call : call {
    bool overwrite = false;
};
const parameters<write_call>& write_parameters() {
    static const parameters<write_call> made =
        parameters<write_call>("write")
            .add({"overwrite", "bool", "False", "Replace an existing file."},
                 [](write_call& r, nb::handle given) { r.overwrite = bool_of("overwrite", given); })
            .common();
    return made;
}

}  // namespace

std::shared_ptr<const topic_run> run_argument(nb::handle given) {
    topic_run* run = nullptr;
    if (nb::try_cast(given, run) && run != nullptr)  // it is null for None
        return std::make_shared<topic_run>(*run);
    const nb::object made = nb::module_::import_("quern._runs").attr("run_of")(given);
    return std::make_shared<topic_run>(nb::cast<const topic_run&>(made));
}

void declare_run(nb::module_& module) {
    nb::class_<topic_run>(module, "Run", R"(Ranked documents for each topic: a run of a retrieval experiment.

`Run(source)` takes a dict of dicts (topic to document to score, as pytrec_eval and ir_measures use them), a frame or
Arrow table with columns for topic, document and score (and rank, if it has one), rows of these three, or the path of a
TREC run. Rows without ranks are ordered by falling score within their topic; equal scores keep their order.

A run is a mapping from topics to dicts of documents and scores, in rank order: `run["t1"]`, `dict(run)`. `run.table` has
the rows, and pandas, polars and pyarrow read a run as such a table.

>>> import quern
>>> run = quern.Run({"t1": {"mill": 0.5, "bakery": 2.25}})
>>> run["t1"]
{'bakery': 2.25, 'mill': 0.5})")
        .def(
            "__init__",
            [](topic_run* self, const nb::args& given, const nb::kwargs& options) {
                const nb::object source = only_argument("source", "Run", given, options);
                if (is_path(source)) {
                    const std::filesystem::path path = text_of("source", source);
                    new (self) topic_run(
                        run_for(run_options{}, [&](const context& ctx) { return read_run(path, ctx); }));
                } else {
                    new (self) topic_run(*run_argument(source));
                }
            },
            nb::sig("def __init__(self, source: object) -> None"))
        .def_static(
            "from_file",
            [](const nb::object& path, const nb::kwargs& given) {
                const call requested = read_parameters().read(given);
                const std::filesystem::path from = text_of("path", path);
                return run_for(requested.run, [&](const context& ctx) { return read_run(from, ctx); });
            },
            nb::arg("path"), nb::arg("kwargs"),
            nb::sig(read_parameters().signature("path: str | os.PathLike[str]", "Run")),
            read_parameters().doc("Reads a TREC run (`topic Q0 document rank score tag`), plain or "
                                  "compressed. The tag is dropped.\n\n"
                                  "Raises InvalidInput, with path and line, for a malformed line, a rank "
                                  "that is no number, or a document "
                                  "that occurs twice in a topic."))
        .def_static("_of_lists", run_of_lists)
        .def("__len__", [](const topic_run& run) { return run.topics().size(); })
        .def(
            "__contains__",
            [](const topic_run& run, nb::handle topic) {
                return nb::isinstance<nb::str>(topic) && run.find(text_argument("topic", topic)) != nullptr;
            },
            nb::sig("def __contains__(self, topic: object, /) -> bool"))
        .def(
            "__getitem__",
            [](const topic_run& run, nb::handle topic) {
                const auto* const of = run.find(text_argument("a topic", topic));
                if (of == nullptr) throw nb::key_error(text_argument("topic", topic).c_str());
                return scores_of(run, *of);
            },
            nb::sig("def __getitem__(self, topic: str, /) -> dict[str, float]"))
        .def(
            "keys",
            [](const topic_run& run) {
                nb::list topics;
                for (const auto& of : run.topics()) topics.append(text_object(of.topic));
                return topics;
            },
            nb::sig("def keys(self) -> list[str]"), "The topics, in order.")
        .def(
            "__iter__",
            [](nb::handle run) { return nb::borrow<nb::object>(run.attr("keys")()).attr("__iter__")(); },
            nb::sig("def __iter__(self) -> Iterator[str]"))
        .def(
            "items",
            [](const topic_run& run) {
                nb::list all;
                for (const auto& of : run.topics())
                    all.append(nb::make_tuple(text_object(of.topic), scores_of(run, of)));
                return all;
            },
            nb::sig("def items(self) -> list[tuple[str, dict[str, float]]]"),
            "Topics, each with a dict of documents and scores, in rank order.")
        .def(
            "to_dict",
            [](const topic_run& run) {
                nb::dict all;
                for (const auto& of : run.topics()) all[text_object(of.topic)] = scores_of(run, of);
                return all;
            },
            nb::sig("def to_dict(self) -> dict[str, dict[str, float]]"),
            "Topics to documents to scores, for pytrec_eval, ir_measures and ranx.")
        .def_prop_ro("table", &topic_run::rows_table, nb::rv_policy::reference_internal,
                     nb::sig("def table(self) -> Table"), "Rows of topic, document, rank and score.")
        .def(
            "__arrow_c_stream__",
            [](nb::handle run, const nb::object& requested_schema) {
                return nb::borrow<nb::object>(run.attr("table").attr("__arrow_c_stream__")(requested_schema));
            },
            nb::arg("requested_schema") = nb::none(),
            nb::sig("def __arrow_c_stream__(self, requested_schema: object = None) -> object"))
        .def(
            "write",
            [](const topic_run& run, const nb::object& path, const nb::kwargs& given) {
                const write_call requested = write_parameters().read(given);
                const std::filesystem::path to = text_of("path", path);
                quern::python::run(requested.run, [&](const context& ctx, calling_thread&) {
                    refuse_harm(to, {});
                    write_result_file(to, requested.overwrite, ctx,
                                      [&](const auto& sink) { run.each_text(sink); });
                });
            },
            nb::arg("path"), nb::arg("kwargs"),
            nb::sig(write_parameters().signature("self, path: str | os.PathLike[str]", "None")),
            write_parameters().doc(
                "Writes a TREC run, `topic Q0 document rank score quern`, byte for byte as the program "
                "writes it; "
                "compressed if the name ends in .gz or .zst. The file appears complete or not at all.\n\n"
                "White space in ids becomes _. Raises UsageError if the file exists and `overwrite` is not "
                "set, or if two "
                "documents of a topic would look the same."))
        .def_prop_ro(
            "fingerprint",
            [](const topic_run& run) {
                const nb::gil_scoped_release released;
                class fingerprint of;
                run.each_text([&](std::string_view lines) { of.add(lines); });
                return of.text();
            },
            nb::sig("def fingerprint(self) -> str"),
            "XXH3-64 of what `write` writes, as 16 hexadecimal digits.")
        .def(
            "__eq__",
            [](const topic_run& run, nb::handle other) -> nb::object {
                const topic_run* with = nullptr;
                if (!nb::try_cast(other, with) || with == nullptr) return nb::borrow(Py_NotImplemented);
                const auto same = [&] {
                    if (run.rows() != with->rows() || run.topics().size() != with->topics().size())
                        return false;
                    for (std::size_t t = 0; t < run.topics().size(); ++t) {
                        const auto &a = run.topics()[t], &b = with->topics()[t];
                        if (a.topic != b.topic || a.begin != b.begin || a.end != b.end) return false;
                    }
                    for (std::size_t row = 0; row < run.rows(); ++row) {
                        if (run.document(row) != with->document(row) || run.rank(row) != with->rank(row) ||
                            run.score(row) != with->score(row))
                            return false;
                    }
                    return true;
                };
                return nb::bool_(same());
            },
            nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](nb::handle run) { return nb::hash(run.attr("fingerprint")); })
        .def(
            "__reduce__",
            [](nb::handle self) {
                const auto& run = nb::cast<const topic_run&>(self);
                nb::list topics, sizes;
                for (const auto& of : run.topics()) {
                    topics.append(text_object(of.topic));
                    sizes.append(of.end - of.begin);
                }
                const nb::object rows = self.attr("table");
                return nb::make_tuple(
                    nb::module_::import_("quern._runs").attr("run_of_lists"),
                    nb::make_tuple(topics, sizes, rows["document"], rows["rank"], rows["score"]));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__repr__",
            [](const topic_run& run) {
                return nb::module_::import_("quern._display")
                    .attr("run_text")(run.topics().size(), run.rows());
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle run) { return nb::borrow<nb::object>(run.attr("table").attr("_repr_html_")()); },
            nb::sig("def _repr_html_(self) -> str"));
}

}  // namespace quern::python
