// SPDX-License-Identifier: Apache-2.0
// decontaminate() in tasks over shards (quern/tasks/cluster.hpp): tasks find the items in the documents, which is the work, and the run
// that reads the training corpus once more takes what they found (decontaminate_options::matches_of_job).
#pragma once

#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/decontaminate.hpp"

namespace quern {

/// About `shards` tasks of equal size in bytes: inputs that follow each other, or, of a larger input, a part of its documents chosen by
/// the hash of their texts, for which each task reads the whole input. Each reads the evaluation sets. Every file is read, for its
/// checksum. Throws usage_error for standard input and `resume`, and as decontaminate(); io_error, interrupted.
std::vector<job_task> plan_decontaminate(const decontaminate_options& options, unsigned shards,
                                         const context& ctx);

/// Finds the items in the documents of a task and writes the matches. `options` are those of the plan. Throws as decontaminate() for
/// the evaluation sets and for what cannot be read, but rejected documents are left to that.
void run_decontaminate_task(const decontaminate_options& options, const task_file& task,
                            task_results& results, const context& ctx);

}  // namespace quern
