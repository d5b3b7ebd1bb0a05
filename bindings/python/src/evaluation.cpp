// SPDX-License-Identifier: Apache-2.0
// The effectiveness of runs.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "errors.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/evaluate.hpp"
#include "quern/tasks/evaluate_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "table.hpp"
#include "texts.hpp"
#include "topic_run.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct evaluated {
    measured_run result;
    std::vector<measure> chosen;
};

/// Names as `quern evaluate -m` takes them: a text, or a list.
std::vector<measure> measures_of(nb::handle given) {
    std::string names;
    if (nb::isinstance<nb::str>(given)) {
        names = text_argument("a measure", given);
    } else {
        for (const nb::handle one : nb::borrow<nb::object>(given))
            names +=
                " " + text_argument("a measure", nb::isinstance<nb::str>(one) ? nb::borrow<nb::object>(one)
                                                                              : nb::str(one));
    }
    return parse_measures(names);
}

relevance_judgements judgements_of(const nb::object& given) {
    const nb::object lists = nb::module_::import_("quern._runs").attr("judgements_of")(given);
    const nb::list topics = lists[0], documents = lists[1], grades = lists[2];
    relevance_judgements judged;
    for (std::size_t row = 0; row < nb::len(topics); ++row) {
        const std::string topic = text_argument("a topic", topics[row]);
        const std::string document = text_argument("a document", documents[row]);
        int grade = 0;
        if (!nb::try_cast(grades[row], grade)) refuse_row(topic, document, "the grade is too large");
        if (!judged[topic].emplace(document, grade).second) refuse_row(topic, document, "it is judged twice");
    }
    return judged;
}

retrieval_run retrieval_run_of(const topic_run& run) {
    retrieval_run retrieved;
    for (const topic_run::part& of : run.topics()) {
        std::vector<retrieved_document>& documents = retrieved[of.topic];
        documents.reserve(of.end - of.begin);
        for (std::size_t row = of.begin; row < of.end; ++row)
            documents.push_back({std::string(run.document(row)), run.score(row)});
    }
    return retrieved;
}

/// The command's warnings.
void warn_of_gaps(const measured_run& result, bool complete, const context& ctx) {
    if (!result.missing_topics.empty()) {
        std::string first;
        for (std::size_t i = 0; i < std::min<std::size_t>(5, result.missing_topics.size()); ++i)
            first.append(i == 0 ? "" : ", ").append(result.missing_topics[i]);
        ctx.log(log_level::warning, std::to_string(result.missing_topics.size()) +
                                        " judged topics are missing in the run and " +
                                        (complete ? "count as 0: " : "excluded from the means: ") + first +
                                        (result.missing_topics.size() > 5 ? ", …" : ""));
    }
    const run_overlap& overlap = result.overlap;
    if (!overlap.little()) return;
    ctx.log(log_level::warning, "little overlap: " + std::to_string(overlap.shared_topics) + " of " +
                                    std::to_string(overlap.judged_topics) + " judged topics and " +
                                    std::to_string(overlap.run_topics) + " in the run; of their " +
                                    std::to_string(overlap.judged) + " judged and " +
                                    std::to_string(overlap.retrieved) + " retrieved documents, " +
                                    std::to_string(overlap.shared) +
                                    " in common. Do both use the same topic and document ids?");
}

parameter_text measures_text() {
    return {"measures", "str | Sequence[object] | None", "None",
            "Names of ir-measures (nDCG@10, AP(rel=2), RBP(p=0.8) ...), or its objects, or names of "
            "trec_eval (map "
            "...). Default: map, ndcg_cut_10, P_10, recall_1000, recip_rank."};
}

struct evaluate_call : call {
    comparison_options options;
};

const parameters<evaluate_call>& evaluate_parameters() {
    static const parameters<evaluate_call> made =
        parameters<evaluate_call>("evaluate")
            .add(measures_text(),
                 [](evaluate_call& r, nb::handle given) { r.options.measures = measures_of(given); })
            .table<&evaluate_call::options>()
            .common();
    return made;
}

struct compare_call : call {
    comparison_options options{.significance = {.test = paired_test::t}};
};

const parameters<compare_call>& compare_parameters() {
    static const parameters<compare_call> made =
        parameters<compare_call>("compare")
            .add(measures_text(),
                 [](compare_call& r, nb::handle given) { r.options.measures = measures_of(given); })
            .table<&compare_call::options>()
            .table<&compare_call::options, &comparison_options::significance>()
            .common(true);
    return made;
}

void refuse_nothing_found(const measured_run& made, const std::string& qrels, const std::string& run) {
    throw usage_error("nothing found: " + qrels + " and " + run + " have no " +
                      (made.overlap.shared_topics == 0 ? "topic" : "document of the same topic") +
                      " in common; " + made.mismatch);
}

/// Judgements or a run as given, to be read when the call runs.
struct judgements_source {
    explicit judgements_source(const nb::object& given) {
        if (is_path(given))
            file = text_of("qrels", given);
        else
            judged = judgements_of(given);
    }
    std::string name() const { return file ? file->string() : "qrels"; }
    const relevance_judgements& read(const context& ctx) {
        if (file) judged = read_judgements(*file, ctx);
        return judged;
    }
    std::optional<std::filesystem::path> file;
    relevance_judgements judged;
};
struct run_source {
    explicit run_source(nb::handle given) {
        if (is_path(given))
            file = text_of("run", given);
        else
            given_run = run_argument(given);
    }
    std::string name() const { return file ? file->string() : "run"; }
    retrieval_run read(const context& ctx) const {
        return retrieval_run_of(file ? read_run(*file, ctx) : *given_run);
    }
    std::optional<std::filesystem::path> file;
    std::shared_ptr<const topic_run> given_run;
};

evaluated evaluate_run(const nb::object& qrels, const nb::object& run, const nb::kwargs& given) {
    evaluate_call requested = evaluate_parameters().read(given);
    judgements_source judged(qrels);
    const run_source retrieved(run);
    measured_run result = run_for(requested.run, [&](const context& ctx) {
        const comparison_options& options = requested.options;
        const relevance_judgements& judgements = judged.read(ctx);
        measured_run made = measure_run(judgements, retrieved.read(ctx), options.measures, options.complete);
        if (made.overlap.none()) refuse_nothing_found(made, judged.name(), retrieved.name());
        warn_of_gaps(made, options.complete, ctx);
        return made;
    });
    return {std::move(result), std::move(requested.options.measures)};
}

/// A list of runs, or a dict of names and runs.
std::vector<std::pair<std::string, run_source>> runs_of(const nb::object& given) {
    std::vector<std::pair<std::string, run_source>> runs;
    if (nb::isinstance<nb::dict>(given)) {
        for (const auto& [name, run] : nb::borrow<nb::dict>(given))
            runs.emplace_back(text_argument("a name of a run", name), run_source(run));
    } else {
        for (const nb::handle run : given) {
            run_source made(run);
            std::string name =
                made.file ? made.file->filename().string() : "run " + std::to_string(runs.size() + 1);
            runs.emplace_back(std::move(name), std::move(made));
        }
    }
    if (runs.empty()) throw usage_error("runs: the list is empty (expected two runs or more)");
    return runs;
}

run_comparison compare(const nb::object& qrels, const nb::object& given_runs, const nb::kwargs& given) {
    compare_call requested = compare_parameters().read(given);
    judgements_source judged(qrels);
    const auto runs = runs_of(given_runs);
    return run_for(requested.run, [&](const context& ctx) {
        const relevance_judgements& judgements = judged.read(ctx);
        std::vector<named_run> named;
        for (const auto& [name, run] : runs) named.push_back({name, run.read(ctx)});
        run_comparison made = compare_runs(judgements, named, requested.options, ctx);
        for (std::size_t r = 0; r < runs.size(); ++r) {
            if (made.measured[r].overlap.none())
                refuse_nothing_found(made.measured[r], judged.name(), runs[r].first);
            warn_of_gaps(made.measured[r], requested.options.complete, ctx);
        }
        return made;
    });
}

table means_table(const run_comparison& self) {
    text_column names;
    for (const std::string& name : self.runs) names.add(name);
    table rows("runs");
    rows.add("run", std::move(names));
    for (std::size_t m = 0; m < self.options.measures.size(); ++m) {
        number_column<double> values;
        for (const measured_run& run : self.measured) values.push_back(run.all[m]);
        rows.add(self.options.measures[m].name, std::move(values));
    }
    return rows;
}

std::string fingerprint_of_means(const run_comparison& self) {
    std::vector<std::string> columns = {"run"};
    for (const measure& of : self.options.measures) columns.push_back(of.name);
    return fingerprint_of_rows(columns, [&](row_writer& rows) {
        for (std::size_t r = 0; r < self.runs.size(); ++r) {
            std::vector<cell> cells = {std::string_view(self.runs[r])};
            for (const double mean : self.measured[r].all) cells.emplace_back(mean);
            rows.row(cells);
        }
    });
}

table run_topics_table(const run_comparison& self) {
    text_column names, topics;
    std::vector<number_column<double>> values(self.options.measures.size());
    for (std::size_t r = 0; r < self.runs.size(); ++r) {
        const measured_run& run = self.measured[r];
        for (std::size_t t = 0; t < run.topics.size(); ++t) {
            names.add(self.runs[r]);
            topics.add(run.topics[t]);
            for (std::size_t m = 0; m < values.size(); ++m) values[m].push_back(run.values[m][t]);
        }
    }
    table rows("topics of runs");
    rows.add("run", std::move(names)).add("topic", std::move(topics));
    for (std::size_t m = 0; m < values.size(); ++m)
        rows.add(self.options.measures[m].name, std::move(values[m]));
    return rows;
}

table tests_table(const run_comparison& self) {
    constexpr std::pair<const char*, double paired_result::*> columns[] = {
        {"difference", &paired_result::difference},
        {"low", &paired_result::low},
        {"high", &paired_result::high},
        {"statistic", &paired_result::statistic},
        {"p", &paired_result::p},
        {"corrected_p", &paired_result::corrected}};
    text_column names, measures;
    number_column<double> values[std::size(columns)];
    number_column<std::uint64_t> topics;
    for (std::size_t m = 0; m < self.options.measures.size(); ++m) {
        for (std::size_t r = 0; r < self.tests.size(); ++r) {
            const paired_result& test = self.tests[r][m];
            measures.add(self.options.measures[m].name);
            names.add(self.runs[r + 1]);
            for (std::size_t c = 0; c < std::size(columns); ++c) values[c].push_back(test.*columns[c].second);
            topics.push_back(test.topics);
        }
    }
    table rows("tests");
    rows.add("measure", std::move(measures)).add("run", std::move(names));
    for (std::size_t c = 0; c < std::size(columns); ++c) rows.add(columns[c].first, std::move(values[c]));
    rows.add("topics", std::move(topics));
    return rows;
}

void write_report(const run_comparison& self, const nb::object& path) {
    const std::filesystem::path file = text_of("path", path);
    run_for(run_options{}, [&](const context& ctx) {
        output_file to(file, {.replace = true, .form = ".html .htm", .written = "HTML"}, ctx);
        self.write_report([&](std::string_view bytes) { to.write(bytes); });
        to.commit();
        return 0;
    });
}

table topics_table(const evaluated& self) {
    text_column topics;
    for (const std::string& topic : self.result.topics) topics.add(topic);
    table rows("topics");
    rows.add("topic", std::move(topics));
    for (std::size_t m = 0; m < self.chosen.size(); ++m)
        rows.add(self.chosen[m].name, number_column<double>(self.result.values[m]));
    return rows;
}

std::string fingerprint_of_values(const evaluated& self) {
    return fingerprint_of_rows({"measure", "topic", "value"}, [&](row_writer& rows) {
        const measured_run& of = self.result;
        for (std::size_t t = 0; t < of.topics.size(); ++t)
            for (std::size_t m = 0; m < self.chosen.size(); ++m)
                rows.row(
                    {std::string_view(self.chosen[m].name), std::string_view(of.topics[t]), of.values[m][t]});
        for (std::size_t m = 0; m < self.chosen.size(); ++m)
            rows.row({std::string_view(self.chosen[m].name), std::string_view("all"), of.all[m]});
    });
}

}  // namespace

void declare_evaluation(nb::module_& module) {
    nb::class_<evaluated>(module, "Evaluation", "The effectiveness of a run.")
        .def_prop_ro(
            "mean",
            [](const evaluated& self) {
                nb::dict means;
                for (std::size_t m = 0; m < self.chosen.size(); ++m)
                    means[self.chosen[m].name.c_str()] = self.result.all[m];
                return means;
            },
            nb::sig("def mean(self) -> dict[str, float]"),
            "Means over the topics that have judgements and results.")
        .def_prop_ro("topics", topics_table, "A row per topic, by id: topic and a column per measure.")
        .def_prop_ro(
            "missing_topics",
            [](const evaluated& self) {
                nb::list topics;
                for (const std::string& topic : self.result.missing_topics) topics.append(text_object(topic));
                return topics;
            },
            nb::sig("def missing_topics(self) -> list[str]"),
            "Judged but not in the run: excluded from the means, as in trec_eval.")
        .def_prop_ro("fingerprint", fingerprint_of_values,
                     "XXH3-64 of what `quern evaluate --per-topic --format tsv` writes (of the chosen "
                     "measures), as 16 "
                     "hexadecimal digits.")
        .def(
            "__repr__",
            [](nb::handle self) {
                return nb::module_::import_("quern._display").attr("evaluation_text")(self);
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::borrow<nb::object>(self.attr("topics").attr("_repr_html_")()); },
            nb::sig("def _repr_html_(self) -> str"));

    nb::class_<run_comparison>(module, "Comparison",
                               "Runs by the same measures, and tests of their differences.")
        .def_prop_ro("runs", means_table,
                     "A row per run: run and a column per measure, the means over topics.")
        .def_prop_ro("topics", run_topics_table,
                     "A row per run and topic: run, topic and a column per measure.")
        .def_prop_ro(
            "tests", tests_table,
            "A row per measure and run other than the first: measure, run, difference (the mean, run - first "
            "run), low, high (its confidence interval), statistic, p, corrected_p, topics.")
        .def("write_report", write_report, nb::arg("path"),
             nb::sig("def write_report(self, path: object) -> None"),
             "Writes the page of `quern evaluate --report`: means, tests and a plot of the topics, as HTML.")
        .def_prop_ro("fingerprint", fingerprint_of_means,
                     "XXH3-64 of the rows that `quern evaluate --format tsv` writes for several runs with "
                     "these names.")
        .def(
            "__repr__",
            [](nb::handle self) { return nb::borrow<nb::object>(self.attr("runs").attr("__repr__")()); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::borrow<nb::object>(self.attr("runs").attr("_repr_html_")()); },
            nb::sig("def _repr_html_(self) -> str"));

    module.def(
        "compare", compare, nb::arg("qrels"), nb::arg("runs"), nb::arg("kwargs"),
        nb::sig(compare_parameters().signature("qrels: object, runs: object", "Comparison")),
        compare_parameters().doc(
            "Evaluates several runs and tests each against the first, paired by topic, two-sided: what "
            "`quern "
            "evaluate QRELS RUN RUN --test t` writes.\n\n"
            "`qrels` and each run: as for `evaluate`. `runs`: a list of runs, or a dict of their names and "
            "runs. p is "
            "corrected over the runs, for each measure. Raises UsageError if a run has no judged "
            "document.\n\n"
            ">>> import quern\n"
            ">>> runs = {'a': {'t1': {'mill': 1.0}}, 'b': {'t1': {'sea': 2.0, 'mill': 1.5}}}\n"
            ">>> quern.compare({'t1': {'mill': 1}}, runs, measures='RR', test='none').runs['RR'].tolist()\n"
            "[1.0, 0.5]"));

    module.def(
        "evaluate", evaluate_run, nb::arg("qrels"), nb::arg("run"), nb::arg("kwargs"),
        nb::sig(evaluate_parameters().signature("qrels: object, run: object", "Evaluation")),
        evaluate_parameters().doc(
            "Evaluates a run against judgements as trec_eval does: documents by falling score (as float32), "
            "then by falling "
            "id in bytes; ranks are ignored. The digits are those of `quern evaluate`.\n\n"
            "`qrels`: a path, a dict of dicts (topic to document to grade, relevant from 1), a frame or "
            "Arrow table with "
            "columns for topic, document and grade, or rows of these three. `run`: a path, a `Run`, or what "
            "`Run` takes.\n\n"
            "Returns `mean`, a dict (sums, for counts such as NumRet), and `topics`, a table. Judged topics "
            "that the run lacks are excluded "
            "from the means (see complete), "
            "with a warning in the log. Raises UsageError if both have no document of the same topic in "
            "common.\n\n"
            ">>> import quern\n"
            ">>> quern.evaluate({'t1': {'mill': 1}}, {'t1': {'sea': 2.0, 'mill': 1.5}}).mean['recip_rank']\n"
            "0.5"));
}

}  // namespace quern::python
