// SPDX-License-Identifier: Apache-2.0
// nearest() in tasks over shards (quern/tasks/cluster.hpp): each ranks some rows of the vectors for all queries, and the run that
// merges their rankings (nearest_request::rankings) writes them.
#pragma once

#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/nearest.hpp"

namespace quern {

/// `shards` ranges of rows, or as many as there are rows. Reads every file, for its checksum. Throws as nearest() does for files
/// that cannot be read.
std::vector<job_task> plan_nearest(const nearest_request& request, unsigned shards, const context& ctx);

/// Ranks the rows of a task and writes the rankings, with the ids of the whole file. `request` is that of the plan. Throws as
/// nearest() does; the rows of messages about vectors count from the first row of the task.
void run_nearest_task(const nearest_request& request, const task_file& task, task_results& results,
                      const context& ctx);

}  // namespace quern
