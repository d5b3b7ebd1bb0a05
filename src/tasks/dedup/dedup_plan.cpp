// SPDX-License-Identifier: Apache-2.0
// The tasks of a distributed run: one reads, the others compare two blocks of documents each.
#include <fmt/format.h>

#include <algorithm>

#include "quern/base/error.hpp"
#include "quern/tasks/dedup_tasks.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/dedup_checks.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/dedup/text_blocks.hpp"

namespace quern {

std::vector<job_task> plan_dedup(const dedup_options& options, unsigned shards, const context& ctx) {
    require_documents(options);
    check_request(options);
    const duplicate_method method = options.duplicates.method;
    if (method != duplicate_method::automatic && method != duplicate_method::exhaustive &&
        method != duplicate_method::shingle)
        throw usage_error(
            fmt::format("the method {} is not distributed (expected auto, exhaustive or shingle)",
                        duplicate_method_names[static_cast<std::size_t>(method)]));
    if (!options.store.empty() || !options.against.empty())
        throw usage_error(
            "documents of a store, or of a set to compare with, are not distributed (expected the corpus "
            "alone)");
    if (options.resume)
        throw usage_error(
            "a distributed run is not resumed by --resume: the same command goes on from the tasks that are "
            "done");
    if (std::ranges::find(options.inputs, std::filesystem::path("-")) != options.inputs.end())
        throw usage_error("standard input cannot be cut into shards (expected files or folders)");
    std::vector<std::filesystem::path> files;
    for (const kept_request::file& each : describe_request(options, nlohmann::json::object()).files)
        if (!each.path.ends_with('/')) files.emplace_back(each.path);
    if (compares_words(method) && !is_builtin_stop_list(options.text.stop_words))
        files.emplace_back(options.text.stop_words);
    std::uint64_t blocks = 1;
    while (blocks * (blocks + 1) / 2 < shards) ++blocks;
    std::vector<job_task> tasks(1);
    tasks[0].kind = "read";
    tasks[0].inputs = describe_inputs(files, ctx);
    tasks[0].parameters["blocks"] = std::to_string(blocks);
    for (std::uint64_t a = 0; a < blocks; ++a) {
        for (std::uint64_t b = a; b < blocks; ++b) {
            job_task& task = tasks.emplace_back();
            task.phase = 1;
            task.kind = "compare";
            task.after = {0};
            task.parameters = {{"first", name_of_block(a)},
                               {"second", name_of_block(b)},
                               {std::string(job_files::reads), name_of_block(a) + ' ' + name_of_block(b)}};
        }
    }
    return tasks;
}

}  // namespace quern
