// SPDX-License-Identifier: Apache-2.0
// The counts and the model of ngrams() in tasks over shards (quern/tasks/cluster.hpp): each counts the n-grams of a part of the
// corpus, and the run that reads the corpus once more merges their counts (ngrams_options::counts_of_job).
#pragma once

#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/ngrams.hpp"

namespace quern {

/// About `shards` tasks of equal size in bytes: inputs that follow each other, or every so-many-th document of a larger input, for which
/// each task reads the whole input. Every file of the corpus is read, for its checksum. Throws usage_error for standard input, unless
/// there are counts or a model to make, and for ids that are unique among all files, which no task sees; as ngrams().
std::vector<job_task> plan_ngrams(const ngrams_options& options, unsigned shards, const context& ctx);

/// Counts the n-grams of a task and writes them. `options` are those of the plan. Throws as ngrams() does, but whatever is rejected is
/// left to that.
void run_ngrams_task(const ngrams_options& options, const task_file& task, task_results& results,
                     const context& ctx);

}  // namespace quern
