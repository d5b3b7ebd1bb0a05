// SPDX-License-Identifier: Apache-2.0
// quern evaluate
#include "quern/tasks/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "session.hpp"

namespace quern::cli {
namespace {

void write_measures(row_writer& rows, std::string_view topic, const effectiveness& e) {
    const std::pair<std::string_view, double> measures[] = {{"map", e.map},
                                                            {"ndcg_cut_10", e.ndcg_cut_10},
                                                            {"P_10", e.P_10},
                                                            {"recall_1000", e.recall_1000},
                                                            {"recip_rank", e.recip_rank}};
    for (const auto& [name, value] : measures) rows.row({name, topic, value});
}

}  // namespace

int run_evaluate(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::string judgements, run_file;
    bool per_topic = false;
    command_line line(
        self, "QRELS RUN [OPTION]...",
        "Measures a run against judgements as trec_eval does: documents in falling order of score "
        "(read as 32-bit floating point), then of id in bytes; the ranks in the file do not count. "
        "Writes measure, topic and value: map, ndcg_cut_10, P_10, recall_1000, recip_rank, averaged "
        "over the topics that have both judgements and results (topic \"all\").");
    line.argument("QRELS", "Judgements: lines of topic, 0, document, grade; relevant from 1.", judgements);
    line.argument("RUN", "A TREC run: lines of topic, Q0, document, rank, score, tag.", run_file);
    line.section("Evaluation options");
    line.flag("--per-topic", "Each topic's values before those of all.", per_topic);
    declare_common(line, common);
    line.example("quern evaluate qrels.txt bm25.run", "Five measures of a run.");
    line.example("quern evaluate qrels.txt bm25.run --per-topic --format jsonl -o bm25.jsonl",
                 "All topics, for a program to read.");
    line.parse(arguments);

    session run(self, common);
    run.choose_device("evaluate", offered_places::cpu_only);
    output to = run.open_output(common.output, {judgements, run_file});
    const evaluation result =
        run.stage("evaluate", [&] { return evaluate_files(judgements, run_file, run.run); });
    if (!result.missing_topics.empty()) {
        const std::size_t shown = std::min<std::size_t>(5, result.missing_topics.size());
        const auto first = result.missing_topics.begin();
        run.messages.warning(fmt::format("{} judged topics are not in the run and not in the means: {}{}",
                                         result.missing_topics.size(),
                                         fmt::join(first, first + static_cast<std::ptrdiff_t>(shown), ", "),
                                         shown < result.missing_topics.size() ? ", …" : ""));
    }
    run.statistics.counts["topics"] = result.topics.size();
    run.statistics.counts["missing_topics"] = result.missing_topics.size();
    if (result.topics.empty()) {
        run.messages.error("nothing found: no topic has both judgements and results");
        run.write_statistics();
        return 1;
    }
    auto rows = run.rows(to, {"measure", "topic", "value"});
    if (per_topic) {
        for (const auto& [topic, values] : result.topics) write_measures(rows, topic, values);
    }
    write_measures(rows, "all", result.mean);
    rows.finish();
    to.commit();
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
