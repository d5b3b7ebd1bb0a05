// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/filter_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/filter/document_filter.hpp"
#include "tasks/filter/verdicts.hpp"
#include "tasks/shared/pinned_to_device.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// The files of some inputs, as they are opened.
std::vector<fs::path> files_of_inputs(const filter_options& options, std::size_t first, std::size_t end) {
    corpus_input some = options;
    some.inputs.assign(options.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                       options.inputs.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<fs::path> files;
    for (const kept_request::file& each : describe_request(some, nlohmann::json::object()).files)
        if (!each.path.ends_with('/')) files.emplace_back(each.path);
    return files;
}

/// What the verdicts depend on besides the documents: rules, contents of lists, the language model.
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
    if (options.resume)
        throw usage_error(
            "a distributed run is not resumed by --resume: the same command goes on from the tasks that are "
            "done");
    std::vector<std::vector<job_input>> inputs;
    std::uint64_t all = 0;
    std::vector<std::uint64_t> bytes;
    for (std::size_t i = 0; i < options.inputs.size(); ++i) {
        if (options.inputs[i] == "-")
            throw usage_error("standard input cannot be cut into shards (expected files or folders)");
        inputs.push_back(describe_inputs(files_of_inputs(options, i, i + 1), ctx));
        std::uint64_t& size = bytes.emplace_back(0);
        for (const job_input& file : inputs.back()) size += file.bytes;
        all += size;
    }
    const std::uint64_t target = std::max(all / std::max(shards, 1u), std::uint64_t{1});
    const std::string rules = rules_of(options, ctx);
    std::vector<job_task> tasks;
    const auto add = [&](std::size_t first, std::size_t end, std::uint64_t parts) {
        job_task task;
        task.kind = "judge";
        for (std::size_t i = first; i < end; ++i)
            task.inputs.insert(task.inputs.end(), inputs[i].begin(), inputs[i].end());
        task.parameters = {{"first", std::to_string(first)},
                           {"end", std::to_string(end)},
                           {"parts", std::to_string(parts)},
                           {"rules", rules}};
        for (std::uint64_t part = 0; part < parts; ++part) {
            task.parameters["part"] = std::to_string(part);
            tasks.push_back(task);
        }
    };
    std::size_t first = 0;
    std::uint64_t collected = 0;
    const auto close = [&](std::size_t end) {
        if (first < end) add(first, end, 1);
        first = end;
        collected = 0;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::uint64_t parts = (bytes[i] + target / 2) / target;
        if (parts > 1) {
            close(i);
            add(i, i + 1, parts);
            first = i + 1;
            continue;
        }
        collected += bytes[i];
        if (collected >= target) close(i + 1);
    }
    close(inputs.size());
    return tasks;
}

void run_filter_task(const filter_options& options, const task_file& file, task_results& results,
                     const context& ctx) {
    const job_task& task = file.task;
    const std::uint64_t first = task.number("first"), end = task.number("end"), part = task.number("part"),
                        parts = task.number("parts");
    if (first >= end || end > options.inputs.size() || part >= parts)
        throw usage_error(fmt::format("task {} has inputs that the command does not have", file.number));
    if (task.parameters.at("rules") != rules_of(options, ctx))
        throw usage_error(
            "the rules, a list of words or the language model were changed since the plan; make a plan in "
            "another folder");
    const std::vector<fs::path> files = files_of_inputs(options, first, end);
    if (!std::ranges::equal(files, task.inputs, {}, {}, &job_input::path))
        throw usage_error(
            "the folders of the corpus have other files than at the time of the plan; make a plan in another "
            "folder");

    filter_options mine = options;
    mine.inputs.assign(options.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                       options.inputs.begin() + static_cast<std::ptrdiff_t>(end));
    mine.wants_texts = false;
    run_statistics statistics;
    context judging = pinned_to_device(ctx, "filter", statistics, offered_places::cpu_only);
    document_filter filter(mine, judging);
    filter.begin();
    const auto corpus = open_documents(mine, corpus_options_for(mine, judging), judging);
    constexpr std::uint64_t memory_of_judge = 64;  // bytes, as in filter()
    unit_parser parser(judging, {.a_byte = memory_of_judge});
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
        for (document& d : unit.parsed.documents) {
            judging.check_stop();
            verdict_of_text verdict;
            verdict.hash = hash64(d.text);
            if (part_of(verdict.hash, parts) != part) continue;
            verdict.found = filter.apply(d);
            if (verdict.found.is_changed) verdict.text = std::move(d.text);
            append_verdict(unit.verdicts, verdict);
            ++unit.documents;
        }
        unit.parsed.documents.clear();
    });
    line.in_order([&](unit_to_judge& unit) {
        results.append(unit.verdicts);
        documents += unit.documents;
    });
    run_parallel(with_threads_that_read(judging), [&] { line.run(); });
    results.append({reinterpret_cast<const char*>(&documents), sizeof documents});
}

}  // namespace quern
