// SPDX-License-Identifier: Apache-2.0
// The files of a job within its folder, and the lock of a task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern::job_files {

inline constexpr std::string_view plan = "plan.json", tasks = "tasks", results = "results", states = "states",
                                  logs = "logs", slurm = "slurm", mpi = "mpi";
/// A parameter of a task: the names of the results of earlier tasks that it reads, with blanks between them. Without it, all.
inline constexpr std::string_view reads = "reads";

/// Creates it unless it is there. Throws io_error.
void make_folder(const std::filesystem::path& folder);
/// "0007"
std::string number_text(std::uint32_t number);
std::filesystem::path result_list(const std::filesystem::path& job, std::uint32_t number);
std::filesystem::path failure(const std::filesystem::path& job, std::uint32_t number);
/// Of a task that has ended the job; has the number of its phase.
std::filesystem::path ended(const std::filesystem::path& job, std::uint32_t number);
std::filesystem::path log(const std::filesystem::path& job, std::uint32_t number);

/// The results that a task has listed.
struct listed_results {
    std::string task;                        ///< its checksum
    std::map<std::string, job_input> files;  ///< by name
    std::string ran = {};                    ///< where and how long it ran, in JSON
    std::string where = {};                  ///< the same for people
};
/// Empty if the list is missing or belongs to another task. Throws damaged_store for a damaged list, io_error.
std::optional<listed_results> results_of(const std::filesystem::path& job, std::uint32_t number,
                                         const std::string& checksum);
/// The first of `files` that is not as it was written.
struct file_fault {
    std::size_t file;
    std::string why;
};
/// Looks at the sizes; with `every_byte`, also at the checksums, by all threads. Empty: all are there. Throws io_error, interrupted.
std::optional<file_fault> first_fault(std::span<const job_input> files, bool every_byte, const context& ctx);
/// The same for the results of a task: the reason, or an empty text.
std::string fault_of(const listed_results& listed, bool every_byte, const context& ctx);

/// Removes the files of a finished task, which stays finished: for results that no other task reads any more. Throws
/// io_error.
void remove_results(const std::filesystem::path& job, std::uint32_t number);

/// Throws usage_error unless every input has its size and its checksum.
void check_inputs(std::span<const job_input> inputs, const context& ctx);

/// Held by the process that runs a task; the system drops it however that ends.
class task_lock {
  public:
    /// Throws usage_error if another process has it, io_error.
    task_lock(const std::filesystem::path& job, std::uint32_t number);
    task_lock(const task_lock&) = delete;  // one owner removes the file
    task_lock& operator=(const task_lock&) = delete;
    ~task_lock();

    /// The machine and process that hold the lock; empty if it is free.
    static std::optional<std::string> holder(const std::filesystem::path& job, std::uint32_t number);

  private:
    std::filesystem::path file_;
    descriptor handle_;
};

/// The checksum of a task within its request, as its results list it.
std::string checksum_of(const job_request& request, const job_task& task);

}  // namespace quern::job_files
