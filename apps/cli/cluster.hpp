// SPDX-License-Identifier: Apache-2.0
// The options of commands whose work is distributed over workers, and the steps of a job: plan, tasks, end.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "quern/tasks/cluster.hpp"
#include "session.hpp"

namespace quern::cli {

/// The commands that accept --cluster.
std::span<const std::string_view> distributed_commands();
/// "filter, nearest"
std::string distributed_names();

struct cluster_options {
    std::string launcher;  ///< local:N, slurm, …; empty: none
    std::filesystem::path share;
    unsigned shards = 0;
    std::string step;  ///< of a job: "plan", "task:FILE", "finish:DIR"; empty: the whole command

    bool is_task() const { return step.starts_with("task:"); }
    /// Whether the results of tasks take the place of the work.
    bool is_used() const { return !step.empty() || !launcher.empty() || !share.empty() || shards != 0; }
};

/// --cluster, --share, --shards.
void declare_cluster(command_line& line, cluster_options& cluster);

using work_of_task = std::function<void(const task_file&, task_results&)>;
/// The step of a task; returns the exit code.
int run_step_of_task(const cluster_options& cluster, session& job, const work_of_task& work);

using plan_of_work = std::function<std::vector<job_task>(unsigned shards)>;
/// The other steps: writes the plan, runs the tasks, checks their results. Returns whether the command goes on, with the results
/// in `cluster.share`; else it has ended.
bool distribute(const command& self, const command_line& line, cluster_options& cluster, session& job,
                const plan_of_work& plan);

/// A message about a document that is too large for --memory: names one of which every worker of local:N has enough.
std::string with_memory_of_workers(std::string_view message);

/// Runs another command in the folder and with the arguments of a plan, and with `more` arguments.
int run_step(const job_request& request, std::vector<std::string> more);

}  // namespace quern::cli
