// SPDX-License-Identifier: Apache-2.0
// quern fuse
#include "quern/tasks/fuse.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::vector<std::string> runs;
    std::vector<double> weights;
    fuse_request asked;
};

void declare(command_line& line, request& request) {
    fusion_options& options = request.asked.options;
    line.arguments("RUN", "TREC runs, plain or compressed; - is standard input.", request.runs, true);
    line.section("Fusion options");
    line.option("--aggregate", "RULE",
                "sum, min, max, mean (over all runs), median, mnz (sum times how many runs hold the "
                "document), anz (sum "
                "over how many), rrf (reciprocal ranks) or borda.",
                "sum", [&](const std::string& text) {
                    options.rule = parse_name<fusion_rule>(text, fusion_rule_names);
                });
    line.option(
        "--normalize", "HOW",
        "Of the scores of a topic in a run: none, minmax, zscore, sum or rank. Ranks (rrf, borda) need none.",
        "none", [&](const std::string& text) {
            options.normalisation = parse_name<score_normalisation>(text, score_normalisation_names);
        });
    line.option("--weight", "W,...", "A weight for each run, in their order.", "1 each",
                [&](const std::string& text) { request.weights = parse_numbers(text); });
    line.option("--topic-weights", "FILE",
                "Lines of a topic and a weight for each run, tabs between: for that topic instead.", "",
                [&](const std::string& text) { request.asked.topic_weights = text; });
    line.option("--ranks", "SOURCE",
                "Where rrf and borda take ranks from: scores (the place in the topic by score, then id), or "
                "field (the "
                "rank as the lines give it).",
                "scores", [&](const std::string& text) {
                    request.asked.ranks = parse_name<rank_source>(text, rank_source_names);
                });
    line.option("--constant", "C", "Of reciprocal ranks: 1 / (C + rank).", "60",
                [&](const std::string& text) { options.constant = parse_number(text); });
    line.option("-k,--depth", "K|all", "Documents to write of each topic.", "all",
                [&](const std::string& text) {
                    if (text != "all") options.depth = parse_integer(text, 1, fusion_options{}.depth);
                });
    declare_common(line, request.common, {.rows = false});
    line.example("quern fuse bm25.run ql.run --aggregate rrf -o fused.run", "Reciprocal ranks.");
    line.example("quern fuse bm25.run dense.run --normalize minmax --weight 0.7,0.3",
                 "A weighted sum of scores.");
}

}  // namespace

int run_fuse(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(
        self, "RUN... [OPTION]...",
        "Fuses TREC runs, topic by topic, and writes a TREC run. Sums are exact in the order of the "
        "runs; equal scores stand by rising id, in the runs as in the result.");
    declare(line, request);
    line.parse(arguments);
    fuse_request& asked = request.asked;
    asked.runs.assign(request.runs.begin(), request.runs.end());
    asked.options.weights = request.weights;

    session run(self, request.common);
    std::vector<std::filesystem::path> inputs = asked.runs;
    inputs.push_back(asked.topic_weights);
    output to = run.open_output(request.common.output, inputs);
    const fuse_result found = fuse_runs(asked, run.run, [&](std::string_view lines) { to.write(lines); });
    run.statistics = found.statistics;
    run.messages.finish();
    to.commit();
    for (const missing_topics& missing : found.missing) {
        run.messages.warning(fmt::format("{} lacks {} of {}, {} first", missing.run, grouped(missing.count),
                                         counted(found.topics, "topic"), missing.first));
    }
    if (!found.unused_weights.empty()) {
        run.messages.warning(
            fmt::format("{} has weights for {} that no run has, {} first", asked.topic_weights.string(),
                        counted(found.unused_weights.size(), "topic"), found.unused_weights.front()));
    }
    run.messages.info(fmt::format("{} of {} fused: {}, {} written", counted(found.topics, "topic"),
                                  counted(asked.runs.size(), "run"), counted(found.lines_read, "line"),
                                  grouped(found.lines_written)));
    run.write_statistics();
    return found.lines_written == 0 ? 1 : 0;
}

}  // namespace quern::cli
