// SPDX-License-Identifier: Apache-2.0
// rank_links() in tasks over shards (quern/tasks/cluster.hpp), PageRank in integers on the CPU: one reads the graph and writes it as
// blocks of nodes with their incoming links; then each step of the iteration is a phase with a task for each block.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"
#include "quern/tasks/link_rank.hpp"

namespace quern {

/// `shards` blocks (at most 128), and as many phases as the iteration can take by its tolerance, or max_iterations; tasks after the
/// end of the iteration do nothing. Reads every file, for its checksum. Throws usage_error for hits, a storage format, a GPU, standard
/// input and a store; as rank_links().
std::vector<job_task> plan_rank_links(const link_rank_options& options, unsigned shards, const context& ctx);

/// Reads the graph, or does a step for a block. `options` are those of the plan. The results of the step before the last one are
/// removed, as no task reads them any more. Throws as rank_links() does.
void run_rank_task(const link_rank_options& options, const task_file& task, task_results& results,
                   const context& ctx);

/// What rank_links() returns and passes to `sink`, with the ranks of the tasks of `job`. An iteration that needs more steps than were
/// planned is finished here. The graph is not read again. Throws damaged_store, and as rank_links().
link_rank_result ranks_of_job(const link_rank_options& options, const std::filesystem::path& job,
                              const context& ctx, const std::function<void(const ranked_node&)>& sink);

}  // namespace quern
