// SPDX-License-Identifier: Apache-2.0
// filter() in tasks over shards (quern/tasks/cluster.hpp): tasks judge the documents, which is the work, and the run that reads
// the corpus once more takes their verdicts (filter_options::verdicts).
#pragma once

#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/filter.hpp"

namespace quern {

/// About `shards` tasks of equal size in bytes: inputs that follow each other, or, of a larger input, a part of its documents
/// chosen by the hash of their texts, for which each task reads the whole input. Every file of the corpus is read, for its checksum.
/// Throws usage_error for standard input, a percentile (the values of the whole reference), and as filter(); io_error, interrupted.
std::vector<job_task> plan_filter(const filter_options& options, unsigned shards, const context& ctx);

/// Judges the documents of a task and writes their verdicts. `options` are those of the plan. Throws usage_error if the rules,
/// lists or models are not those of the plan; as filter() for what cannot be read, but whatever is rejected is left to that.
void run_filter_task(const filter_options& options, const task_file& task, task_results& results,
                     const context& ctx);

}  // namespace quern
