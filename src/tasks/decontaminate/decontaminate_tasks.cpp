// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/decontaminate_tasks.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/corpus/corpus.hpp"
#include "ops/contamination/item_index.hpp"
#include "quern/base/error.hpp"
#include "quern/base/text_options.hpp"
#include "tasks/cluster/corpus_shards.hpp"
#include "tasks/cluster/document_findings.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"
#include "tasks/decontaminate/decontaminate_checks.hpp"
#include "tasks/decontaminate/document_scanner.hpp"
#include "tasks/decontaminate/evaluation_set.hpp"
#include "tasks/decontaminate/found_items.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"

namespace quern {
namespace {

/// What all tasks read: the evaluation sets, and a list of stop words.
std::vector<std::filesystem::path> files_of_items(const decontaminate_options& options) {
    std::vector<std::filesystem::path> files = files_of(options.against);
    if (!is_builtin_stop_list(options.text.stop_words)) files.emplace_back(options.text.stop_words);
    return files;
}

struct unit_to_scan {
    std::unique_ptr<io::corpus_unit> raw;
    io::parsed_unit parsed;
    std::string found;
    std::uint64_t documents = 0;
};

}  // namespace

std::vector<job_task> plan_decontaminate(const decontaminate_options& options, unsigned shards,
                                         const context& ctx) {
    check_request(options);
    if (options.resume)
        throw usage_error(
            "a distributed run is not resumed by --resume: the same command goes on from the tasks that are "
            "done");
    if (std::ranges::find(options.against.inputs, std::filesystem::path("-")) != options.against.inputs.end())
        throw usage_error("standard input cannot be read by every task (expected files or folders)");
    return tasks_of_corpus(options, "scan", files_of_items(options), shards, ctx);
}

void run_decontaminate_task(const decontaminate_options& options, const task_file& file,
                            task_results& results, const context& ctx) {
    check_request(options);
    const corpus_shard shard = shard_of(options, files_of_items(options), file);
    decontaminate_options mine = options;
    mine.inputs = inputs_of_shard(options, shard);
    mine.keep_examples = false;
    run_statistics statistics;
    const context all = pinned_to_device(ctx, "decontaminate", statistics, offered_places::cpu_only);
    scratch_folder scratch(all);
    const evaluation_set items(mine, scratch, all);
    const contamination_detail::item_index index(items.words(), mine.contamination, all);
    const context scanning =
        with_remaining_memory(all, items.memory_bytes() + index.memory_bytes(), "the evaluation data");
    document_scanner scanner(items, index, mine.text);
    const auto corpus = open_documents(mine, corpus_options_for(mine, scanning), scanning);
    constexpr std::uint64_t memory_of_scan = 3;  // bytes, as in decontaminate()
    unit_parser parser(scanning, {.a_byte = memory_of_scan}, mine.text);
    results.begin("matches");
    std::uint64_t documents = 0;

    pipeline<unit_to_scan> line(units_at_once(scanning));
    line.from([&](unit_to_scan& unit) {
        scanning.check_stop();
        scanning.report({"read", corpus->consumed_bytes(), corpus->total_bytes(), "bytes"});
        unit.raw = corpus->next();
        return unit.raw != nullptr;
    });
    parser.add_to(line);
    line.in_parallel([&](unit_to_scan& unit) {
        for (const document& d : unit.parsed.documents) {
            scanning.check_stop();
            const std::uint64_t hash = hash64(d.text);
            if (part_of_text(hash, shard.parts) != shard.part) continue;
            append_finding(unit.found, hash, bytes_of_matches(scanner.scan(d)));
            ++unit.documents;
        }
        unit.parsed.documents.clear();
    });
    line.in_order([&](unit_to_scan& unit) {
        results.append(unit.found);
        documents += unit.documents;
    });
    run_parallel(with_threads_that_read(scanning), [&] { line.run(); });
    results.append(number_of_findings(documents));
}

}  // namespace quern
