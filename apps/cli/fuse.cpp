// SPDX-License-Identifier: Apache-2.0
// quern fuse
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/fuse_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::vector<std::string> runs;
    std::vector<double> weights;
    fuse_request requested;
};

void declare(command_line& line, request& request) {
    fusion_options& options = request.requested.options;
    line.arguments("RUN", "TREC runs, plain or compressed; - is standard input.", request.runs, true);
    line.section("Fusion options");
    line.option("aggregate", options);
    line.option("normalize", options);
    line.option("--weight", "W,...", "A weight for each run, in the order of the runs.", "1 each",
                [&](const std::string& text) { request.weights = parse_numbers(text); });
    line.option(
        "--topic-weights", "FILE",
        "Lines of a topic and a weight for each run, separated by tabs: replace --weight for that topic.", "",
        [&](const std::string& text) { request.requested.topic_weights = file_name(text); });
    line.option("ranks", request.requested);
    line.option("constant", options);
    line.option("depth", options);
    declare_common(line, request.common, {.rows = false, .scratch = false});
    line.example("quern fuse bm25.run ql.run --aggregate rrf -o fused.run", "Reciprocal ranks.");
    line.example("quern fuse bm25.run dense.run --normalize minmax --weight 0.7,0.3",
                 "A weighted sum of scores.");
}

/// Rejects options that the rule does not use.
void refuse_idle_options(command_line& line, fusion_rule rule) {
    const bool by_rank = rule == fusion_rule::rrf || rule == fusion_rule::borda;
    line.require_used("--constant", rule == fusion_rule::rrf, "requires --aggregate rrf");
    line.require_used("--ranks", by_rank, "requires --aggregate rrf or borda");
    line.require_used("--normalize", !by_rank, "applies to scores; --aggregate rrf and borda use ranks");
}

}  // namespace

int run_fuse(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(
        self, "RUN... [OPTION]...",
        "Fuses TREC runs, topic by topic, and writes a TREC run. Scores are added in the order of the runs; "
        "equal scores are ordered by ascending id, in the runs and in the result.");
    declare(line, request);
    line.parse(arguments);
    fuse_request& requested = request.requested;
    refuse_idle_options(line, requested.options.rule);
    requested.runs.assign(request.runs.begin(), request.runs.end());
    requested.options.weights = request.weights;

    session job(self, request.common);
    std::vector<std::filesystem::path> inputs = requested.runs;
    inputs.push_back(requested.topic_weights);
    output to = job.open_output(request.common.output, inputs);
    const fuse_result found = fuse_runs(requested, job.ctx, [&](std::string_view lines) { to.write(lines); });
    job.statistics = found.statistics;
    job.messages.finish();
    to.commit();
    for (const missing_topics& missing : found.missing) {
        job.messages.warning(fmt::format("{} lacks {} of {}; the first is {}", missing.run,
                                         grouped(missing.count), counted(found.topics, "topic"),
                                         missing.first));
    }
    if (!found.unused_weights.empty()) {
        job.messages.warning(fmt::format(
            "{} has weights for {} missing in all runs; the first is {}", requested.topic_weights.string(),
            counted(found.unused_weights.size(), "topic"), found.unused_weights.front()));
    }
    job.messages.info(fmt::format("{} of {} fused: {}, {} written", counted(found.topics, "topic"),
                                  counted(requested.runs.size(), "run"), counted(found.lines_read, "line"),
                                  grouped(found.lines_written)));
    job.write_statistics();
    return found.lines_written == 0 ? 1 : 0;
}

}  // namespace quern::cli
