// SPDX-License-Identifier: Apache-2.0
// quern evaluate
#include "quern/tasks/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/evaluate_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::string judgements, report;
    std::vector<std::string> runs;
    std::vector<std::filesystem::path> run_files;
    comparison_options options;
    std::string measures;
    bool per_topic = false;
};

void warn_of_gaps(console& messages, const std::string& run, const measured_run& result, bool complete) {
    const run_overlap& overlap = result.overlap;
    if (!result.missing_topics.empty()) {
        const std::size_t shown = std::min<std::size_t>(5, result.missing_topics.size());
        const auto first = result.missing_topics.begin();
        messages.warning(fmt::format("{} judged topics are missing in {} and {}: {}{}",
                                     result.missing_topics.size(), run,
                                     complete ? "count as 0" : "excluded from the means",
                                     fmt::join(first, first + static_cast<std::ptrdiff_t>(shown), ", "),
                                     shown < result.missing_topics.size() ? ", …" : ""));
    }
    if (!overlap.little()) return;
    messages.warning(fmt::format(
        "little overlap: {} of {} judged topics and {} in {}; of their {} judged and {} retrieved "
        "documents, {} in common. Do both files use the same topic and document ids?",
        grouped(overlap.shared_topics), grouped(overlap.judged_topics), grouped(overlap.run_topics), run,
        grouped(overlap.judged), grouped(overlap.retrieved), grouped(overlap.shared)));
}

void declare(command_line& line, request& request) {
    line.argument("QRELS", "Judgements: lines of topic, 0, document, grade; relevant from 1.",
                  request.judgements);
    line.arguments("RUN", "TREC runs: lines of topic, Q0, document, rank, score, tag.", request.runs, true);
    line.section("Evaluation options");
    line.options(
        "-m,--measures", "MEASURE,...",
        "Measures by their names in ir-measures (nDCG@10, AP(rel=2), P@5, R@1000, RR@10, Rprec, Bpref, "
        "RBP(p=0.8), ERR@20, Judged@10, ...) or in trec_eval (map, ndcg_cut_10, ...). Default: map, "
        "ndcg_cut_10, P_10, recall_1000, recip_rank.",
        [&](const std::string& text) { request.measures += " " + text; });
    line.flag("--per-topic", "Write the values of each topic before those of all.", request.per_topic);
    line.option("complete", request.options);
    line.option("--report", "FILE.html", "Write a page with the means, the tests and a plot of the topics.",
                "", [&](const std::string& value) { request.report = file_name(value); });
    line.section("Tests of differences");
    significance_options& significance = request.options.significance;
    line.option("test", significance);
    line.option("correction", significance);
    line.option("confidence", significance);
    line.option("permutations", significance);
    declare_common(line, request.common, {.seed = true, .scratch = false});
    line.example("quern evaluate qrels.txt bm25.run", "Five measures of a run.");
    line.example("quern evaluate qrels.txt bm25.run -m 'nDCG@10,AP(rel=2),RBP(p=0.8)'", "Others.");
    line.example("quern evaluate qrels.txt bm25.run rm3.run -m AP --test t --report rm3.html",
                 "Whether the second run differs from the first, with a plot of the topics.");
    line.example("quern evaluate qrels.txt bm25.run --per-topic --format jsonl -o bm25.jsonl",
                 "All topics as JSON lines, for a program.");
}

void check(command_line& line, const request& request) {
    const bool tests = request.options.significance.test != paired_test::none;
    if (tests && request.runs.size() < 2)
        throw usage_error("--test compares runs (expected two or more RUN arguments)");
    if (tests && request.per_topic)
        throw usage_error("--per-topic and --test write different rows; run the command once for each");
    for (const char* name : {"--correction", "--confidence"})
        line.require_used(name, tests, "requires --test");
    const bool draws = request.options.significance.test == paired_test::randomization;
    for (const char* name : {"--permutations", "--seed"})
        line.require_used(name, draws, "requires --test randomization");
}

/// A run: measure, topic, value.
void write_run(row_writer& rows, const run_comparison& result, bool per_topic) {
    const measured_run& of = result.measured.front();
    const auto& measures = result.options.measures;
    if (per_topic) {
        for (std::size_t t = 0; t < of.topics.size(); ++t)
            for (std::size_t m = 0; m < measures.size(); ++m)
                rows.row({measures[m].name, of.topics[t], of.values[m][t]});
    }
    for (std::size_t m = 0; m < measures.size(); ++m)
        rows.row({measures[m].name, std::string_view("all"), of.all[m]});
}

/// Several: a row for each run, or for each of its topics.
void write_runs(row_writer& rows, const run_comparison& result, bool per_topic) {
    std::vector<cell> cells;
    for (std::size_t r = 0; r < result.runs.size(); ++r) {
        const measured_run& of = result.measured[r];
        for (std::size_t t = 0; per_topic && t < of.topics.size(); ++t) {
            cells = {std::string_view(result.runs[r]), std::string_view(of.topics[t])};
            for (const auto& values : of.values) cells.emplace_back(values[t]);
            rows.row(cells);
        }
        cells = {std::string_view(result.runs[r])};
        if (per_topic) cells.emplace_back(std::string_view("all"));
        for (const double value : of.all) cells.emplace_back(value);
        rows.row(cells);
    }
}

void write_tests(row_writer& rows, const run_comparison& result) {
    for (std::size_t m = 0; m < result.options.measures.size(); ++m) {
        for (std::size_t r = 0; r < result.runs.size(); ++r) {
            std::vector<cell> cells{std::string_view(result.options.measures[m].name),
                                    std::string_view(result.runs[r]), result.measured[r].all[m]};
            if (r == 0) {
                cells.resize(10, std::monostate{});
            } else {
                const paired_result& test = result.tests[r - 1][m];
                for (const double value :
                     {test.difference, test.low, test.high, test.statistic, test.p, test.corrected})
                    cells.emplace_back(value);
                cells.emplace_back(test.topics);
            }
            rows.row(cells);
        }
    }
}

void write_results(session& job, output& to, const run_comparison& result, bool per_topic) {
    std::vector<std::string> columns{"measure", "topic", "value"};
    if (!result.tests.empty()) {
        columns = {"measure", "run",       "value", "difference",  "low",
                   "high",    "statistic", "p",     "corrected_p", "topics"};
    } else if (result.runs.size() > 1) {
        columns = {"run"};
        if (per_topic) columns.emplace_back("topic");
        for (const measure& m : result.options.measures) columns.push_back(m.name);
    }
    auto rows = job.rows(to, columns);
    if (!result.tests.empty()) {
        write_tests(rows, result);
    } else if (result.runs.size() > 1) {
        write_runs(rows, result, per_topic);
    } else {
        write_run(rows, result, per_topic);
    }
    rows.finish();
}

}  // namespace

int run_evaluate(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(
        self, "QRELS RUN... [OPTION]...",
        "Evaluates runs against judgements as trec_eval does: documents in descending order of score (read "
        "as 32-bit floating point), then of id in bytes; the ranks in the file are ignored. Writes measure, "
        "topic and value, averaged over the topics that have both judgements and results (topic \"all\"). Of "
        "several runs it writes a row for each, with a column for each measure; with --test the columns "
        "measure, "
        "run, value, mean difference from the first run, lower and upper end of its confidence interval, "
        "statistic, p, corrected p and topics. A run without any judged document ends with exit code 1 and "
        "shows "
        "ids of both files.");
    declare(line, request);
    line.parse(arguments);
    check(line, request);
    if (!request.measures.empty()) request.options.measures = parse_measures(request.measures);
    request.run_files.assign(request.runs.begin(), request.runs.end());

    session job(self, request.common);
    job.choose_device("evaluate", offered_places::cpu_only);
    std::vector<std::filesystem::path> inputs = request.run_files;
    inputs.emplace_back(request.judgements);
    job.check_destinations({{request.common.output}, report_page(request.report)}, inputs);
    output to = job.open({request.common.output});
    std::optional<output> report;
    if (!request.report.empty()) report.emplace(job.open(report_page(request.report)));

    const run_comparison result = job.stage("evaluate", [&] {
        return compare_run_files(request.judgements, request.run_files, request.options, job.ctx);
    });
    const bool several = result.runs.size() > 1;
    for (std::size_t r = 0; r < result.runs.size(); ++r) {
        const measured_run& of = result.measured[r];
        job.statistics.counts["topics"] += of.overlap.shared_topics;
        job.statistics.counts["missing_topics"] += of.missing_topics.size();
        job.statistics.counts["judged_documents_retrieved"] += of.overlap.shared;
        if (!of.overlap.none()) {
            warn_of_gaps(job.messages, several ? request.runs[r] : "the run", of, request.options.complete);
            continue;
        }
        job.messages.error(fmt::format(
            "nothing found: {} and {} have no {} in common; {}", request.judgements, request.runs[r],
            of.overlap.shared_topics == 0 ? "topic" : "document of the same topic", of.mismatch));
        job.write_statistics();
        return 1;
    }
    write_results(job, to, result, request.per_topic);
    if (report) result.write_report([&](std::string_view bytes) { report->write(bytes); });
    output* const all[] = {&to, report ? &*report : nullptr};
    output::commit_together(all);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
