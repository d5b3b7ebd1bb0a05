// SPDX-License-Identifier: Apache-2.0
// dedup() by edit rate, or by sets of shingles, in tasks over shards (quern/tasks/cluster.hpp): one reads the corpus and writes its
// distinct texts as blocks, sorted by length, or the words of its documents as blocks in their order; then there is a task for each
// pair of blocks, so that each pair of documents is compared by exactly one. The run that reads the corpus once more, dedup_of_job(),
// takes their pairs.
#pragma once

#include <filesystem>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/dedup.hpp"

namespace quern {

/// B blocks, so that the B (B + 1) / 2 pairs of them are at least `shards`. Every file of the corpus is read, for its checksum.
/// Throws usage_error for standard input, for a store, a set to compare with, and methods other than automatic, exhaustive and shingle; as
/// dedup().
std::vector<job_task> plan_dedup(const dedup_options& options, unsigned shards, const context& ctx);

/// Reads the corpus, or compares two blocks. `options` are those of the plan. Throws as dedup() does.
void run_dedup_task(const dedup_options& options, const task_file& task, task_results& results,
                    const context& ctx);

/// What dedup() returns, with the pairs that the tasks of `job` found: the same results. Without `store` and `against`. Throws
/// usage_error if the corpus is not that of the tasks, damaged_store, and as dedup().
dedup_result dedup_of_job(const dedup_options& options, const std::filesystem::path& job, const context& ctx);

}  // namespace quern
