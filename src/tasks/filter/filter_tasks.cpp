// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/filter_tasks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/error.hpp"
#include "tasks/cluster/corpus_shards.hpp"
#include "tasks/cluster/document_findings.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"
#include "tasks/filter/document_filter.hpp"
#include "tasks/filter/verdicts.hpp"
#include "tasks/shared/pinned_to_device.hpp"

namespace quern {
namespace {

/// The parameters of the verdicts: rules, contents of lists, the language model.
std::string rules_of(const filter_options& options, const context& ctx) {
    return fmt::format("{:016x}", hash64(parameters_of(options, ctx).dump()));
}

struct unit_to_judge {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;
    std::string verdicts;
    std::uint64_t documents = 0;
};

}  // namespace

std::vector<job_task> plan_filter(const filter_options& options, unsigned shards, const context& ctx) {
    require_documents(options);
    if (options.below_percentile || options.above_percentile)
        throw usage_error(
            "percentiles need the values of the whole reference, which no task has (expected limits: quern "
            "perplexity shows the values, --below and --above take them)");
    if (ctx.device.where == device_choice::kind::cuda)
        throw usage_error("the tasks of a distributed run score on the CPU (leave out --device cuda)");
    if (options.resume)
        throw usage_error(
            "a distributed run is not resumed by --resume: the same command goes on from the tasks that are "
            "done");
    std::vector<job_task> tasks = tasks_of_corpus(options, "judge", {}, shards, ctx);
    const std::string rules = rules_of(options, ctx);
    for (job_task& task : tasks) task.parameters["rules"] = rules;
    return tasks;
}

void run_filter_task(const filter_options& options, const task_file& file, task_results& results,
                     const context& ctx) {
    const corpus_shard shard = shard_of(options, {}, file);
    if (file.task.parameters.at("rules") != rules_of(options, ctx))
        throw usage_error(
            "the rules, a list of words or the language model were changed since the plan; make a plan in "
            "another folder");
    filter_options mine = options;
    mine.inputs = inputs_of_shard(options, shard);
    mine.wants_texts = false;
    run_statistics statistics;
    context judging = pinned_to_device(ctx, "filter", statistics, offered_places::cpu_only);
    document_filter filter(mine, judging);
    filter.begin();
    const auto corpus = open_documents(mine, corpus_options_for(mine, judging), judging);
    unit_parser parser(judging, work_of(mine));
    results.begin("verdicts");
    std::uint64_t documents = 0;

    pipeline<unit_to_judge> line(units_at_once(judging));
    line.from([&](unit_to_judge& unit) {
        judging.check_stop();
        judging.report({"filter", corpus->consumed_bytes(), corpus->total_bytes(), "bytes"});
        unit.raw = corpus->next();
        return unit.raw != nullptr;
    });
    parser.add_to(line);
    line.in_parallel([&](unit_to_judge& unit) {
        unit.verdicts.clear();
        unit.documents = 0;
        std::vector<document*> mine;
        std::vector<std::uint64_t> hashes;
        for (document& d : unit.parsed.documents) {
            const std::uint64_t hash = hash64(d.text);
            if (part_of_text(hash, shard.parts) != shard.part) continue;
            mine.push_back(&d);
            hashes.push_back(hash);
        }
        std::vector<judged> found = filter.apply(mine, judging);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            verdict_of_text verdict;
            verdict.found = std::move(found[i]);
            if (verdict.found.is_changed) verdict.text = std::move(mine[i]->text);
            append_finding(unit.verdicts, hashes[i], bytes_of_verdict(verdict));
        }
        unit.documents = mine.size();
        unit.parsed.documents.clear();
    });
    line.in_order([&](unit_to_judge& unit) {
        results.append(unit.verdicts);
        documents += unit.documents;
    });
    run_parallel(with_threads_that_read(judging), [&] { line.run(); });
    results.append(number_of_findings(documents));
}

}  // namespace quern
