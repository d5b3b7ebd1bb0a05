// SPDX-License-Identifier: Apache-2.0
// Scripts that run the tasks of a job under Slurm and MPI. Their workers take the tasks of a phase in turn: worker r of n those
// numbered r, r + n, …
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "device/files/file_writer.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/cluster/job_files.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// For a shell, as one word.
std::string shell_word(std::string_view text) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += "'\\''";
        else
            word += c;
    }
    return word + "'";
}

struct phase_of_tasks {
    std::uint32_t first, end;
};
std::vector<phase_of_tasks> phases_of(const job_plan& plan) {
    std::vector<phase_of_tasks> phases;
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
        if (i == 0 || plan.tasks[i].phase != plan.tasks[i - 1].phase) phases.push_back({i, i});
        phases.back().end = i + 1;
    }
    return phases;
}

std::string worker_arguments(const local_workers& workers) {
    std::string text;
    for (const std::string& word : workers.arguments) text += ' ' + shell_word(word);
    return text;
}

/// A shell's loop over the tasks of one of `n` workers; `rank` and `n` are in its words.
std::string loop(const phase_of_tasks& phase, const fs::path& share, const local_workers& workers,
                 std::string_view rank, std::string_view n, std::string_view more) {
    return fmt::format(
        "for ((task = {} + {}; task < {}; task += {})); do\n"
        "    file=$(printf '%s/%04d.json' {} \"$task\")\n"
        "    {} task \"$file\"{}{}\n"
        "done\n",
        phase.first, rank, phase.end, n, shell_word((share / job_files::tasks).native()),
        shell_word(workers.program.native()), worker_arguments(workers), more);
}

void write_script(const fs::path& file, const std::string& text) {
    replace_file(file, text);
    std::error_code failed;
    fs::permissions(file, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, failed);
    if (failed) throw io_error(file.string(), "cannot make it executable", failed.value());
}

std::string finish_line(const fs::path& share, const local_workers& workers, std::string_view resources) {
    return fmt::format("{} finish {}{}\n", shell_word(workers.program.native()), shell_word(share.native()),
                       resources);
}

}  // namespace

fs::path write_slurm_scripts(const job_plan& plan, const fs::path& share, const local_workers& workers,
                             const context& ctx) {
    constexpr std::uint32_t largest_array = 1000;  // what Slurm accepts unless it is configured
    constexpr std::uint64_t mebibyte = 1 << 20;
    const fs::path folder = share / job_files::slurm;
    job_files::make_folder(folder);
    const unsigned threads = ctx.thread_count();
    const std::uint64_t memory = std::max(ctx.memory_limit() / mebibyte, std::uint64_t{1});
    std::string submit =
        "#!/bin/bash\n"
        "# Submits the phases of this job, each after the one before, and then its end. Options are those of "
        "sbatch, such as\n"
        "# --partition. Tasks that are done already take no time.\n"
        "set -euo pipefail\n"
        "after=()\n";
    const auto add = [&](const std::string& name) {
        submit += fmt::format("job=$(sbatch --parsable \"${{after[@]}}\" \"$@\" {})\n",
                              shell_word((folder / name).native()));
        submit += "after=(\"--dependency=afterok:${job%%;*}\")\n";
    };
    const auto head = [&](std::string_view name, const std::string& more) {
        return fmt::format(
            "#!/bin/bash\n"
            "#SBATCH --job-name=quern-{0}\n"
            "#SBATCH --cpus-per-task={1}\n"
            "#SBATCH --mem={2}M\n"
            "#SBATCH --requeue\n"
            "{3}"
            "set -euo pipefail\n",
            name, threads, memory + memory / 8 + 64, more);
    };
    const std::string resources = fmt::format(" --threads {} --memory {}M", threads, memory);
    const std::vector<phase_of_tasks> phases = phases_of(plan);
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const std::uint32_t size = std::min(phases[i].end - phases[i].first, largest_array);
        const std::string name = fmt::format("phase-{}.sh", i);
        const std::string array = fmt::format("#SBATCH --array=0-{}\n#SBATCH --output={}/%A_%a.log\n",
                                              size - 1, (share / job_files::logs).native());
        write_script(folder / name, head(fmt::format("phase-{}", i), array) +
                                        loop(phases[i], share, workers, "SLURM_ARRAY_TASK_ID",
                                             std::to_string(size), resources));
        add(name);
    }
    write_script(folder / "finish.sh", head("finish", fmt::format("#SBATCH --output={}/finish.log\n",
                                                                  (share / job_files::logs).native())) +
                                           finish_line(share, workers, resources));
    add("finish.sh");
    submit += "echo \"the job ends with $job\"\n";
    write_script(folder / "submit.sh", submit);
    return folder / "submit.sh";
}

fs::path write_mpi_scripts(const job_plan& plan, const fs::path& share, const local_workers& workers,
                           const context& ctx) {
    const fs::path folder = share / job_files::mpi;
    job_files::make_folder(folder);
    std::string run =
        "#!/bin/bash\n"
        "# Runs this job under MPI: the options are those of mpirun, such as -n 16 --hostfile hosts. Start "
        "it again after a\n"
        "# failure: tasks that are done are not repeated.\n"
        "set -euo pipefail\n";
    const std::string resources =
        fmt::format(" --threads {} --memory {}", ctx.thread_count(), ctx.memory_limit());
    const std::vector<phase_of_tasks> phases = phases_of(plan);
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const std::string name = fmt::format("phase-{}.sh", i);
        write_script(folder / name,
                     "#!/bin/bash\n"
                     "# One process of MPI: its share of the tasks.\n"
                     "set -euo pipefail\n"
                     "rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-}}}}\n"
                     "size=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}\n"
                     "if [ -z \"$rank\" ] || [ -z \"$size\" ]; then\n"
                     "    echo \"$0: no rank in the environment (expected to be started by mpirun)\" >&2\n"
                     "    exit 2\n"
                     "fi\n" +
                         loop(phases[i], share, workers, "rank", "size", resources));
        run += fmt::format("mpirun \"$@\" {}\n", shell_word((folder / name).native()));
    }
    run += finish_line(share, workers, resources);
    write_script(folder / "run.sh", run);
    return folder / "run.sh";
}

}  // namespace quern
