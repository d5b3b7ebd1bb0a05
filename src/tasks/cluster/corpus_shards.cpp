// SPDX-License-Identifier: Apache-2.0
#include "tasks/cluster/corpus_shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quern/base/error.hpp"
#include "tasks/dedup/kept_request.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of_inputs(const corpus_input& corpus, const corpus_shard& shard) {
    corpus_input some = corpus;
    some.inputs = inputs_of_shard(corpus, shard);
    return files_of(some);
}

}  // namespace

std::vector<fs::path> files_of(const corpus_input& corpus) {
    std::vector<fs::path> files;
    for (const kept_request::file& each : describe_request(corpus, nlohmann::json::object()).files)
        if (!each.path.ends_with('/')) files.emplace_back(each.path);
    return files;
}

std::vector<fs::path> inputs_of_shard(const corpus_input& corpus, const corpus_shard& shard) {
    return {corpus.inputs.begin() + static_cast<std::ptrdiff_t>(shard.first),
            corpus.inputs.begin() + static_cast<std::ptrdiff_t>(shard.end)};
}

std::vector<job_task> tasks_of_corpus(const corpus_input& corpus, const std::string& kind,
                                      const std::vector<fs::path>& more, unsigned shards,
                                      const context& ctx) {
    const std::vector<job_input> of_all = describe_inputs(more, ctx);
    std::vector<std::vector<job_input>> inputs;
    std::vector<std::uint64_t> bytes;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < corpus.inputs.size(); ++i) {
        if (corpus.inputs[i] == "-")
            throw usage_error("standard input cannot be cut into shards (expected files or folders)");
        inputs.push_back(describe_inputs(files_of_inputs(corpus, {i, i + 1}), ctx));
        std::uint64_t& size = bytes.emplace_back(0);
        for (const job_input& file : inputs.back()) size += file.bytes;
        all += size;
    }
    const std::uint64_t target = std::max(all / std::max(shards, 1u), std::uint64_t{1});
    std::vector<job_task> tasks;
    const auto add = [&](std::size_t first, std::size_t end, std::uint64_t parts) {
        job_task task;
        task.kind = kind;
        for (std::size_t i = first; i < end; ++i)
            task.inputs.insert(task.inputs.end(), inputs[i].begin(), inputs[i].end());
        task.inputs.insert(task.inputs.end(), of_all.begin(), of_all.end());
        task.parameters = {
            {"first", std::to_string(first)}, {"end", std::to_string(end)}, {"parts", std::to_string(parts)}};
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

corpus_shard shard_of(const corpus_input& corpus, const std::vector<fs::path>& more, const task_file& file) {
    const job_task& task = file.task;
    const corpus_shard shard{task.number("first"), task.number("end"), task.number("part"),
                             task.number("parts")};
    if (shard.first >= shard.end || shard.end > corpus.inputs.size() || shard.part >= shard.parts)
        throw usage_error(fmt::format("task {} has inputs that the command does not have", file.number));
    std::vector<fs::path> files = files_of_inputs(corpus, shard);
    files.insert(files.end(), more.begin(), more.end());
    if (!std::ranges::equal(files, task.inputs, {}, {}, &job_input::path))
        throw usage_error(
            "the folders of the corpus have other files than at the time of the plan; make a plan in another "
            "folder");
    return shard;
}

}  // namespace quern
