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
#include "table.hpp"
#include "texts.hpp"
#include "topic_run.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

/// As the program names and orders them.
struct measure {
    const char* name;
    double effectiveness::*value;
};
constexpr std::array measures{
    measure{"map", &effectiveness::map}, measure{"ndcg_cut_10", &effectiveness::ndcg_cut_10},
    measure{"P_10", &effectiveness::P_10}, measure{"recall_1000", &effectiveness::recall_1000},
    measure{"recip_rank", &effectiveness::recip_rank}};

struct evaluated {
    evaluation result;
    std::vector<measure> chosen;
};

std::vector<measure> measures_of(nb::handle given) {
    if (given.is_none()) return {measures.begin(), measures.end()};
    std::vector<measure> chosen;
    const auto add = [&](nb::handle one) {
        const std::string name = text_argument("a measure", one);
        const auto* const at =
            std::ranges::find_if(measures, [&](const measure& m) { return m.name == name; });
        if (at == measures.end()) {
            std::string names;
            for (const measure& m : measures) names.append(names.empty() ? "" : ", ").append(m.name);
            refuse("measures: unknown measure '" + name + "' (expected " + names + ")");
        }
        chosen.push_back(*at);
    };
    if (nb::isinstance<nb::str>(given)) {
        add(given);
    } else {
        for (const nb::handle one : nb::borrow<nb::object>(given)) add(one);
    }
    if (chosen.empty()) refuse("measures: the list is empty (expected at least one measure)");
    return chosen;
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
            documents.push_back({std::string(run.document(row)), static_cast<float>(run.score(row))});
    }
    return retrieved;
}

/// The command's warnings.
void warn_of_gaps(const evaluation& result, const context& ctx) {
    if (!result.missing_topics.empty()) {
        std::string first;
        for (std::size_t i = 0; i < std::min<std::size_t>(5, result.missing_topics.size()); ++i)
            first.append(i == 0 ? "" : ", ").append(result.missing_topics[i]);
        ctx.log(log_level::warning,
                std::to_string(result.missing_topics.size()) +
                    " judged topics are missing in the run and excluded from the means: " + first +
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

struct evaluate_call : call {
    std::vector<measure> chosen{measures.begin(), measures.end()};
};

const parameters<evaluate_call>& evaluate_parameters() {
    static const parameters<evaluate_call> made =
        parameters<evaluate_call>("evaluate")
            .add({"measures", "str | Sequence[str] | None", "None",
                  "Those to return: map, ndcg_cut_10, P_10, recall_1000, recip_rank. Default: all."},
                 [](evaluate_call& r, nb::handle given) { r.chosen = measures_of(given); })
            .common();
    return made;
}

evaluated evaluate_run(const nb::object& qrels, const nb::object& run, const nb::kwargs& given) {
    evaluate_call requested = evaluate_parameters().read(given);
    std::filesystem::path qrels_file, run_file;
    relevance_judgements judged;
    std::shared_ptr<const topic_run> retrieved;
    if (is_path(qrels))
        qrels_file = text_of("qrels", qrels);
    else
        judged = judgements_of(qrels);
    if (is_path(run))
        run_file = text_of("run", run);
    else
        retrieved = run_argument(run);
    evaluation result = run_for(requested.run, [&](const context& ctx) {
        evaluation made = [&] {
            if (!qrels_file.empty() && !run_file.empty()) return evaluate_files(qrels_file, run_file, ctx);
            if (!qrels_file.empty()) judged = read_judgements(qrels_file, ctx);
            if (!run_file.empty()) retrieved = std::make_shared<topic_run>(read_run(run_file, ctx));
            return quern::evaluate(judged, retrieval_run_of(*retrieved));
        }();
        if (made.overlap.none()) {
            const auto name = [](const std::filesystem::path& file, const char* usual) {
                return file.empty() ? std::string(usual) : file.string();
            };
            throw usage_error("nothing found: " + name(qrels_file, "qrels") + " and " +
                              name(run_file, "run") + " have no " +
                              (made.overlap.shared_topics == 0 ? "topic" : "document of the same topic") +
                              " in common; " + made.mismatch);
        }
        warn_of_gaps(made, ctx);
        return made;
    });
    return {std::move(result), std::move(requested.chosen)};
}

table topics_table(const evaluated& self) {
    text_column topics;
    std::vector<number_column<double>> values(self.chosen.size());
    for (const auto& [topic, of] : self.result.topics) {
        topics.add(topic);
        for (std::size_t m = 0; m < self.chosen.size(); ++m) values[m].push_back(of.*self.chosen[m].value);
    }
    table rows("topics");
    rows.add("topic", std::move(topics));
    for (std::size_t m = 0; m < self.chosen.size(); ++m) rows.add(self.chosen[m].name, std::move(values[m]));
    return rows;
}

std::string fingerprint_of_values(const evaluated& self) {
    return fingerprint_of_rows({"measure", "topic", "value"}, [&](row_writer& rows) {
        const auto write = [&](std::string_view topic, const effectiveness& of) {
            for (const measure& m : self.chosen) rows.row({std::string_view(m.name), topic, of.*m.value});
        };
        for (const auto& [topic, of] : self.result.topics) write(topic, of);
        write("all", self.result.mean);
    });
}

}  // namespace

void declare_evaluation(nb::module_& module) {
    nb::class_<evaluated>(module, "Evaluation", "The effectiveness of a run.")
        .def_prop_ro(
            "mean",
            [](const evaluated& self) {
                nb::dict means;
                for (const measure& m : self.chosen) means[m.name] = self.result.mean.*m.value;
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
            "Returns `mean`, a dict, and `topics`, a table. Judged topics that the run lacks are excluded "
            "from the means, "
            "with a warning in the log. Raises UsageError if both have no document of the same topic in "
            "common.\n\n"
            ">>> import quern\n"
            ">>> quern.evaluate({'t1': {'mill': 1}}, {'t1': {'sea': 2.0, 'mill': 1.5}}).mean['recip_rank']\n"
            "0.5"));
}

}  // namespace quern::python
