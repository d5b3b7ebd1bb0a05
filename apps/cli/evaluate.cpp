// SPDX-License-Identifier: Apache-2.0
// quern evaluate
#include "quern/tasks/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "session.hpp"
#include "values.hpp"

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

void warn_of_gaps(console& messages, const evaluation& result) {
    const run_overlap& overlap = result.overlap;
    if (!result.missing_topics.empty()) {
        const std::size_t shown = std::min<std::size_t>(5, result.missing_topics.size());
        const auto first = result.missing_topics.begin();
        messages.warning(fmt::format(
            "{} judged topics are missing in the run and excluded from the means: {}{}",
            result.missing_topics.size(), fmt::join(first, first + static_cast<std::ptrdiff_t>(shown), ", "),
            shown < result.missing_topics.size() ? ", …" : ""));
    }
    if (!overlap.little()) return;
    messages.warning(fmt::format(
        "little overlap: {} of {} judged topics and {} in the run; of their {} judged and {} retrieved "
        "documents, {} in common. Do both files use the same topic and document ids?",
        grouped(overlap.shared_topics), grouped(overlap.judged_topics), grouped(overlap.run_topics),
        grouped(overlap.judged), grouped(overlap.retrieved), grouped(overlap.shared)));
}

}  // namespace

int run_evaluate(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::string judgements, run_file;
    bool per_topic = false;
    command_line line(
        self, "QRELS RUN [OPTION]...",
        "Evaluates a run against judgements as trec_eval does: documents in descending order of score (read "
        "as 32-bit floating point), then of id in bytes; the ranks in the file are ignored. Writes measure, "
        "topic and value: map, ndcg_cut_10, P_10, recall_1000, recip_rank, averaged over the topics that "
        "have both judgements and results (topic \"all\"). A run without any judged document ends with exit "
        "code 1 and shows ids of both files.");
    line.argument("QRELS", "Judgements: lines of topic, 0, document, grade; relevant from 1.", judgements);
    line.argument("RUN", "A TREC run: lines of topic, Q0, document, rank, score, tag.", run_file);
    line.section("Evaluation options");
    line.flag("--per-topic", "Write the values of each topic before those of all.", per_topic);
    declare_common(line, common, {.scratch = false});
    for (const char* measure : {"-m", "--measure", "--measures"})
        line.hint(measure, "evaluate writes all five measures, each in separate rows");
    line.example("quern evaluate qrels.txt bm25.run", "Five measures of a run.");
    line.example("quern evaluate qrels.txt bm25.run --per-topic --format jsonl -o bm25.jsonl",
                 "All topics as JSON lines, for a program.");
    line.parse(arguments);

    session job(self, common);
    job.choose_device("evaluate", offered_places::cpu_only);
    output to = job.open_output(common.output, {judgements, run_file});
    const evaluation result =
        job.stage("evaluate", [&] { return evaluate_files(judgements, run_file, job.ctx); });
    const run_overlap& overlap = result.overlap;
    job.statistics.counts["topics"] = result.topics.size();
    job.statistics.counts["missing_topics"] = result.missing_topics.size();
    job.statistics.counts["judged_documents_retrieved"] = overlap.shared;
    if (overlap.none()) {
        job.messages.error(fmt::format(
            "nothing found: {} and {} have no {} in common; {}", judgements, run_file,
            overlap.shared_topics == 0 ? "topic" : "document of the same topic", result.mismatch));
        job.write_statistics();
        return 1;
    }
    warn_of_gaps(job.messages, result);
    auto rows = job.rows(to, {"measure", "topic", "value"});
    if (per_topic) {
        for (const auto& [topic, values] : result.topics) write_measures(rows, topic, values);
    }
    write_measures(rows, "all", result.mean);
    rows.finish();
    to.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
