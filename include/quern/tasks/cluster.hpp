// SPDX-License-Identifier: Apache-2.0
// A command's work in tasks over shards: a plan, tasks that any number of machines run in any order, and their results, in a
// folder that all of them see (docs/cluster.md). The result of a job does not depend on the number of shards or workers.
//
//   plan.json           the command, its inputs with checksums, the tasks
//   tasks/NNNN.json     a task, with everything that it depends on
//   results/NNNN.NAME   what a task made; results/NNNN.json lists it once it is complete
//   states/, logs/      which tasks run or failed; what local workers said
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/error.hpp"

namespace quern {

/// A file that is read, and what it must contain: XXH3 of its bytes.
struct job_input {
    std::filesystem::path path;
    std::uint64_t bytes = 0, checksum = 0;
    friend bool operator==(const job_input&, const job_input&) = default;
};

/// The command whose work is distributed. Relative paths are those of `folder`.
struct job_request {
    std::string command;
    std::vector<std::string> arguments;
    std::filesystem::path folder;
    unsigned shards = 1;
    friend bool operator==(const job_request&, const job_request&) = default;
};

/// A unit of work: a pure function of its inputs, the results it reads, and its parameters.
struct job_task {
    unsigned phase = 0;     ///< starts after all tasks of earlier phases; those of one phase may run at once
    std::string kind = {};  ///< what is done
    std::vector<std::uint32_t> after = {};  ///< the tasks whose results it reads; of earlier phases
    std::vector<job_input> inputs = {};
    std::map<std::string, std::string> parameters = {};
    bool if_needed =
        false;  ///< not run if a task of an earlier phase has ended the job: task_results::end_job()
    friend bool operator==(const job_task&, const job_task&) = default;

    /// A parameter that is a number. Throws usage_error if it is missing or none.
    std::uint64_t number(const std::string& name) const;
};

struct job_plan {
    job_request request;
    std::vector<job_task> tasks;  ///< numbered from 0; phases do not decrease
};

/// A file of a task, as it was read.
struct task_file {
    std::filesystem::path job;  ///< the folder of the plan, absolute
    std::uint32_t number = 0;
    job_request request;
    job_task task;
    std::string checksum;  ///< of the task and its request
};

/// A task, or a worker, ended with an error; the program ends with its exit code.
class task_failed : public error {
  public:
    task_failed(const std::string& reason, int exit_code) : error(reason), exit_code_(exit_code) {}
    int exit_code() const noexcept { return exit_code_; }

  private:
    int exit_code_;
};

/// Reads every file, for its checksum. Throws usage_error for a missing file and one that is none (standard input, a pipe),
/// io_error, interrupted.
std::vector<job_input> describe_inputs(std::span<const std::filesystem::path> files, const context& ctx);

/// Writes the tasks, then the plan. `share` is created; its parent exists. A folder with the same plan stays as it is, results
/// included. Throws usage_error if it has another plan or other files, io_error.
void write_plan(const job_plan& plan, const std::filesystem::path& share);
/// Throws usage_error if the plan is missing or was made by another version of Quern; damaged_store; io_error.
job_plan read_plan(const std::filesystem::path& share);
/// The same of a file of a task.
task_file read_task(const std::filesystem::path& file);
/// The file of a task: tasks/NNNN.json.
std::filesystem::path file_of_task(const std::filesystem::path& share, std::uint32_t number);
/// A file among the results of a task: results/NNNN.NAME.
std::filesystem::path file_of_result(const std::filesystem::path& share, std::uint32_t number,
                                     std::string_view name);

/// The files that a task makes, one after the other.
class task_results {
  public:
    explicit task_results(const task_file& task);
    ~task_results();
    task_results(const task_results&) = delete;  // it owns unfinished files
    task_results& operator=(const task_results&) = delete;

    /// Begins the next file; `name` has letters, digits and '-' only.
    void begin(std::string_view name);
    void append(std::string_view bytes);
    /// The chosen device ("cpu", "cuda:0"): the list of the results names it and, by name and UUID, its GPUs.
    void ran_on(std::string device);
    const std::string& device() const;
    /// Says that tasks of later phases that are `if_needed` are not needed, once these results are there.
    void end_job();
    /// Waits for the disk, gives all files their names, and then lists them. Throws io_error.
    void commit();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

enum class task_outcome { done, was_done, unneeded };
/// Runs `work` unless the results are there already, every byte of them, or are not needed. Checks the inputs and the results of earlier tasks
/// first. What `work` throws is noted for status_of() and thrown. Throws usage_error if an input was changed, if another
/// process runs the task, or if an earlier task is not done; damaged_store for damaged results of one; io_error, interrupted.
task_outcome run_task(const task_file& task, const context& ctx,
                      const std::function<void(task_results&)>& work);

/// possible: waits for an earlier phase, which may end the job; unneeded: one did.
enum class task_state { waiting, running, failed, done, possible, unneeded };
inline constexpr std::string_view task_state_names[] = {"waiting", "running",  "failed",
                                                        "done",    "possible", "unneeded"};

struct job_status {
    std::vector<task_state> states;              ///< by task
    std::map<std::uint32_t, std::string> notes;  ///< of running and done tasks where, of failed ones why
    std::uint64_t count(task_state state) const;
};
/// The phase whose tasks have ended the job: tasks of later ones that are `if_needed` are not needed. Throws damaged_store, io_error.
std::optional<unsigned> last_needed_phase(const std::filesystem::path& share);
/// By the files of the job alone: done tasks have results of the listed sizes. Throws as read_plan() does.
job_status status_of(const std::filesystem::path& share);

/// Checks the results of all tasks that are needed, and the inputs: every byte. Throws usage_error if tasks are missing, or inputs were changed;
/// damaged_store, io_error, interrupted.
void require_finished(const job_plan& plan, const std::filesystem::path& share, const context& ctx);

/// Processes of this machine that run tasks.
struct local_workers {
    unsigned count = 1;
    std::filesystem::path program;       ///< quern
    std::vector<std::string> arguments;  ///< after `task FILE`
    std::vector<std::string> gpus =
        {};  ///< worker i has [i mod size] as its CUDA_VISIBLE_DEVICES; none: that of this process
};
/// `gpus` of so many workers: worker i has GPU i of n, i + workers, … or, with more workers than GPUs, GPU i mod n. `visible`: the
/// CUDA_VISIBLE_DEVICES of this process, empty if it has none. Empty if the driver shows at most one GPU. Calls the driver, opens no GPU.
std::vector<std::string> gpus_of_workers(unsigned workers, std::string_view visible);

/// Runs the tasks that are not done, phase by phase, each in a process with its part of the threads and of the memory of `ctx`.
/// A process that is killed is started again, three times. Throws task_failed for one that fails, after the others have ended;
/// interrupted, after all were stopped; io_error.
void run_local(const job_plan& plan, const std::filesystem::path& share, const local_workers& workers,
               const context& ctx);

/// A message that says which --memory is enough for one process, with that of so many which have equal parts of it. Others are
/// returned as they are.
std::string with_memory_of_all(std::string_view message, unsigned processes);

struct ray_launcher {
    std::string python = "python3";  ///< with the package quern.cluster and Ray
    std::filesystem::path program;   ///< quern, on all nodes
};
/// Runs the tasks that are not done in a Ray cluster: `python -m quern.cluster`, whose messages go to standard error. Each task
/// reserves the threads of `ctx` and its memory_bytes or, if that is 0, nine tenths of its share of a node's memory. Throws task_failed, interrupted,
/// io_error.
void run_ray(const std::filesystem::path& share, const ray_launcher& launcher, const context& ctx);

/// Writes `share`/slurm: a script for each phase, an array of jobs, and submit.sh, which submits them one after the other and
/// then the end of the job. Returns the script to start.
std::filesystem::path write_slurm_scripts(const job_plan& plan, const std::filesystem::path& share,
                                          const local_workers& workers, const context& ctx);
/// The same for MPI: `share`/mpi/run.sh, with one line of mpirun for each phase.
std::filesystem::path write_mpi_scripts(const job_plan& plan, const std::filesystem::path& share,
                                        const local_workers& workers, const context& ctx);

}  // namespace quern
