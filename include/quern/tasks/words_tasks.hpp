// SPDX-License-Identifier: Apache-2.0
// words() in tasks over shards (quern/tasks/cluster.hpp): one reads the corpus, counts and weights; then each compares a share of the
// pairs of words. The run that reads the corpus once more takes the weights and merges the neighbours.
#pragma once

#include <filesystem>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/words.hpp"

namespace quern {

/// `shards` tasks that compare, after the one that counts. Every file of the corpus is read, for its checksum. Throws usage_error for
/// standard input, a store, vectors, all similarities, and without neighbours; as words().
std::vector<job_task> plan_words(const words_options& options, unsigned shards, const context& ctx);

/// Counts, or compares a share, on the CPU. `options` are those of the plan. Throws as words() does.
void run_words_task(const words_options& options, const task_file& task, task_results& results,
                    const context& ctx);

/// What words() returns and writes, with the weights and the neighbours of the tasks of `job`: the same space. Throws usage_error if the
/// corpus is not that of the tasks, damaged_store, and as words().
words_result words_of_job(const words_options& options, const std::filesystem::path& job, const context& ctx);

}  // namespace quern
