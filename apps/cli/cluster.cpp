// SPDX-License-Identifier: Apache-2.0
// quern plan, task, finish, status, resume; and what commands with --cluster share.
#include "cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view distributed[] = {"filter",        "nearest", "dedup",   "ngrams",
                                            "decontaminate", "words",   "pagerank"};

/// Of these, whose tasks may run on GPUs.
constexpr std::string_view gpu_tasks[] = {"nearest", "dedup", "ngrams"};

/// Options that do not affect the results of a job: passed anew to each of its steps.
constexpr std::string_view options_of_a_step[] = {
    "--threads", "--memory", "--gpu-memory", "--tmp",   "--quiet",  "--progress",    "--stats",
    "--config",  "--force",  "--cluster",    "--share", "--shards", "--cluster-step"};

constexpr unsigned default_shards = 16;

unsigned workers_that_share_memory = 1;  ///< with this process, which reads the same documents as they

/// The N of local:N; nothing for another launcher.
std::optional<unsigned> local_count(std::string_view launcher) {
    constexpr std::string_view local = "local:";
    if (!launcher.starts_with(local)) return {};
    return static_cast<unsigned>(parse_integer(launcher.substr(local.size()), 1, 1024));
}

std::string parse_launcher(const std::string& text) {
    try {
        if (text == "slurm" || text == "mpi" || text == "ray" || local_count(text)) return text;
    } catch (const usage_error&) {  // local:many
    }
    throw usage_error("invalid value '" + shown(text) + "' (expected local:N, slurm, mpi or ray)");
}

fs::path this_program() {
    std::error_code failed;
    fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed) throw io_error("/proc/self/exe", "cannot find this program", failed.value());
    return program;
}

/// Whether its tasks may choose among the GPUs that they see: not with --device cpu, nor cuda:N, which counts them.
bool chooses_gpus(const job_request& request) {
    if (std::ranges::find(gpu_tasks, request.command) == std::end(gpu_tasks)) return false;
    constexpr std::string_view device = "--device=";
    for (const std::string& word : request.arguments) {
        if (word == "--") break;
        if (!word.starts_with(device)) continue;
        const device_choice chosen = parse_device(word.substr(device.size()));
        return chosen.where != device_choice::kind::cpu && chosen.ordinal < 0;
    }
    return true;
}

void run_tasks(const std::string& launcher, const job_plan& plan, const fs::path& share, session& job) {
    local_workers workers{*local_count(launcher), this_program(), {"--quiet"}};
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (chooses_gpus(plan.request))
        workers.gpus = gpus_of_workers(workers.count, visible == nullptr ? "" : visible);
    run_local(plan, share, workers, job.ctx);
    job.messages.finish();
}

/// Writes scripts, or starts another program, that runs the tasks elsewhere.
void hand_on(const std::string& launcher, const job_plan& plan, const fs::path& share, session& job) {
    const local_workers workers{1, this_program(), {"--quiet"}};
    if (launcher == "slurm") {
        const fs::path script = write_slurm_scripts(plan, share, workers, job.ctx);
        job.messages.info(fmt::format("{} are ready; submit them: {} [options of sbatch]",
                                      counted(plan.tasks.size(), "task"), script.string()));
    } else if (launcher == "mpi") {
        const fs::path script = write_mpi_scripts(plan, share, workers, job.ctx);
        job.messages.info(fmt::format("{} are ready; run them: {} -n N [options of mpirun]",
                                      counted(plan.tasks.size(), "task"), script.string()));
    } else {
        job.messages.info(fmt::format("{} are ready in {}; then: quern finish {}",
                                      counted(plan.tasks.size(), "task"), (share / "tasks").string(),
                                      share.string()));
    }
}

const command& distributed_command(const std::string& name) {
    if (std::ranges::find(distributed, name) == std::end(distributed))
        throw usage_error(fmt::format("quern {} is not distributed (expected one of {})", shown(name),
                                      distributed_names()));
    for (const command& each : all_commands())
        if (name == each.name) return each;
    throw usage_error(fmt::format("unknown command '{}'", shown(name)));
}

fs::path absolute_folder(const std::string& name) {
    std::error_code failed;
    fs::path path = fs::absolute(name, failed).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    return path;
}

/// The common options that were given to a step, for the command that it runs.
std::vector<std::string> given_to_step(const command_line& line) {
    const std::string_view own[] = {"DIR", "FILE", "--cluster", "--config"};
    return line.given_arguments(own);
}

}  // namespace

std::span<const std::string_view> distributed_commands() {
    return distributed;
}

std::string distributed_names() {
    return fmt::format("{}", fmt::join(distributed, ", "));
}

void declare_cluster(command_line& line, cluster_options& cluster) {
    line.section("Distributed work");
    line.option(
        "--cluster", "LAUNCHER",
        "Cut the work into tasks and run them: local:N (N processes at a time on this machine, which share "
        "--threads and --memory), ray (a Ray cluster, by Python), slurm or mpi (writes scripts, and says how "
        "to start them). The result "
        "is the same, byte for byte. Requires --share.",
        "", [&](const std::string& text) { cluster.launcher = parse_launcher(text); });
    line.offer("--cluster", std::vector<std::string>{"local:2", "ray", "slurm", "mpi"});
    line.option("--share", "DIR",
                "The folder of the job, which all workers see: plan, tasks and results. The same command "
                "with the same folder continues with the tasks that are not done.",
                "", [&](const std::string& text) { cluster.share = absolute_folder(file_name(text)); });
    line.option("--shards", "N", "About how many tasks to cut the work into.", "the N of local:N, else 16",
                [&](const std::string& text) {
                    cluster.shards = static_cast<unsigned>(parse_integer(text, 1, 1'000'000));
                });
    line.option("--cluster-step", "STEP", "", "", [&](const std::string& text) { cluster.step = text; });
    line.unlist("--cluster-step");
}

int run_step_of_task(const cluster_options& cluster, session& job, const work_of_task& work) {
    const task_file task = read_task(cluster.step.substr(cluster.step.find(':') + 1));
    const task_outcome outcome = run_task(task, job.ctx, [&](task_results& results) {
        work(task, results);
        job.statistics.device = results.device();
    });
    job.messages.finish();
    const std::string_view now = outcome == task_outcome::done       ? "is done"
                                 : outcome == task_outcome::was_done ? "was done already"
                                                                     : "is not needed";
    job.messages.info(fmt::format("task {} {}", task.number, now));
    job.write_statistics();
    return 0;
}

bool distribute(const command& self, const command_line& line, cluster_options& cluster, session& job,
                const plan_of_work& plan) {
    if (cluster.step.starts_with("finish:")) {
        cluster.share = cluster.step.substr(cluster.step.find(':') + 1);
        require_finished(read_plan(cluster.share), cluster.share, job.ctx);
        return true;
    }
    if (cluster.launcher.empty() && cluster.share.empty() && cluster.step.empty())
        throw usage_error("--shards requires --cluster");
    if (cluster.share.empty())
        throw usage_error("--cluster requires --share DIR, a folder that all workers see");
    if (cluster.launcher.empty() && cluster.step.empty())
        throw usage_error("--share requires --cluster (or quern plan, which only cuts the work into tasks)");
    const std::optional<unsigned> workers = local_count(cluster.launcher);
    workers_that_share_memory = workers.value_or(1);
    const unsigned shards = cluster.shards != 0 ? cluster.shards : workers.value_or(default_shards);
    const job_plan made{{self.name, line.given_arguments(options_of_a_step), fs::current_path(), shards},
                        plan(shards)};
    write_plan(made, cluster.share);
    job.messages.finish();
    if (cluster.launcher == "ray") {
        const char* const python = std::getenv("QUERN_PYTHON");
        run_ray(cluster.share, {python == nullptr || *python == 0 ? "python3" : python, this_program()},
                job.ctx);
    } else if (!workers) {
        hand_on(cluster.launcher, made, cluster.share, job);
        job.write_statistics();
        return false;
    } else {
        run_tasks(cluster.launcher, made, cluster.share, job);
    }
    require_finished(made, cluster.share, job.ctx);
    return true;
}

std::string with_memory_of_workers(std::string_view message) {
    return with_memory_of_all(message, workers_that_share_memory);
}

int run_step(const job_request& request, std::vector<std::string> more) {
    const command& chosen = distributed_command(request.command);
    std::error_code failed;
    fs::current_path(request.folder, failed);
    if (failed)
        throw usage_error(
            fmt::format("{}: {}; the plan was made there (expected the same folders on every machine)",
                        request.folder.string(), failed.message()));
    more.insert(more.end(), request.arguments.begin(), request.arguments.end());
    return chosen.run(chosen, more);
}

int run_plan(const command& self, const std::vector<std::string>& arguments) {
    if (!arguments.empty() && !arguments[0].starts_with('-')) {
        const command& chosen = distributed_command(arguments[0]);
        std::vector<std::string> rest{"--cluster-step=plan"};
        rest.insert(rest.end(), arguments.begin() + 1, arguments.end());
        return chosen.run(chosen, rest);
    }
    command_line line(
        self, "COMMAND ARGUMENTS OPTIONS --share DIR [--shards N]",
        "Cuts the work of a command into tasks. Every machine that sees the folder DIR can run them, in any "
        "order. quern task runs one task; quern finish makes the results of the command. Commands: " +
            distributed_names() +
            ". Inputs and results have checksums; the result is that of the command alone, byte for byte.");
    std::string name;
    line.argument("COMMAND", "The command, followed by its arguments and options.", name);
    line.offer("COMMAND", distributed);
    cluster_options cluster;
    declare_cluster(line, cluster);
    common_options common;
    declare_common(line, common, {.rows = false, .output = false, .gpu = true});
    line.example(
        "quern plan filter 'crawl/*.jsonl.zst' --rules gopher-quality -o clean.jsonl --share /lustre/job "
        "--shards 100",
        "A hundred tasks, /lustre/job/tasks/0000.json to 0099.json.");
    line.parse(arguments);
    throw usage_error("COMMAND comes first (expected " + distributed_names() + ")");
}

int run_task_command(const command& self, const std::vector<std::string>& arguments) {
    command_line line(self, "FILE [OPTION]...",
                      "Runs one task of a plan: checks its inputs, and writes its results to the folder of "
                      "the job, complete or "
                      "not at all. A task whose results are there is not run again; a changed input or "
                      "another version of Quern is an error.");
    std::string file;
    common_options common;
    line.argument("FILE", "The task: DIR/tasks/NNNN.json.", file);
    declare_common(line, common, {.rows = false, .output = false, .gpu = true});
    line.example("quern task /lustre/job/tasks/0003.json --threads 8 --memory 16G", "One task of a plan.");
    line.parse(arguments);
    const fs::path path = absolute_folder(file);
    std::vector<std::string> more = given_to_step(line);
    more.push_back("--cluster-step=task:" + path.string());
    return run_step(read_task(path).request, std::move(more));
}

int run_finish(const command& self, const std::vector<std::string>& arguments) {
    command_line line(
        self, "DIR [OPTION]...",
        "Makes the results of the command of a plan from those of its tasks, all of which are done.");
    std::string folder;
    common_options common;
    line.argument("DIR", "The folder of the job.", folder);
    declare_common(line, common, {.rows = false, .output = false, .gpu = true});
    line.example("quern finish /lustre/job", "The output that the command of the plan names.");
    line.parse(arguments);
    const fs::path share = absolute_folder(folder);
    std::vector<std::string> more = given_to_step(line);
    more.push_back("--cluster-step=finish:" + share.string());
    return run_step(read_plan(share).request, std::move(more));
}

int run_resume(const command& self, const std::vector<std::string>& arguments) {
    command_line line(
        self, "DIR [OPTION]...",
        "Runs the tasks of a plan that are not done, on this machine, and then does what quern finish does.");
    std::string folder, launcher = "local:1";
    common_options common;
    line.argument("DIR", "The folder of the job.", folder);
    line.section("Resume options");
    line.option("--cluster", "LAUNCHER", "local:N: N processes at a time.", launcher,
                [&](const std::string& text) {
                    if (!local_count(parse_launcher(text)))
                        throw usage_error("quern resume runs tasks on this machine (expected local:N)");
                    launcher = text;
                });
    declare_common(line, common, {.rows = false, .output = false, .gpu = true});
    line.example("quern resume /lustre/job --cluster local:4", "After a failure, or instead of a cluster.");
    line.parse(arguments);
    const fs::path share = absolute_folder(folder);
    const job_plan plan = read_plan(share);
    {
        session job(self, common);
        run_tasks(launcher, plan, share, job);
    }
    std::vector<std::string> more = given_to_step(line);
    more.push_back("--cluster-step=finish:" + share.string());
    return run_step(plan.request, std::move(more));
}

int run_status(const command& self, const std::vector<std::string>& arguments) {
    command_line line(
        self, "DIR [OPTION]...",
        "Shows how many tasks of a plan are waiting, running, failed and done: state, tasks. If the "
        "number of steps depends on the results, further rows count the tasks of later steps that are "
        "possible or, after the last step, unneeded. "
        "With --tasks every task: "
        "task, phase, kind, state, note (where it runs or ran, with the GPUs and the seconds, or why it "
        "failed).");
    std::string folder;
    bool all = false;
    common_options common;
    line.argument("DIR", "The folder of the job.", folder);
    line.section("Status options");
    line.flag("--tasks", "A row for each task.", all);
    declare_common(line, common);
    line.example("quern status /lustre/job", "How far a job is.");
    line.parse(arguments);
    session job(self, common);
    const fs::path share = absolute_folder(folder);
    output to = job.open_output(common.output, {});
    const job_plan plan = read_plan(share);
    const job_status status = status_of(share);
    if (all) {
        auto rows = job.rows(to, {"task", "phase", "kind", "state", "note"});
        for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
            const auto note = status.notes.find(i);
            rows.row({std::uint64_t{i}, std::uint64_t{plan.tasks[i].phase},
                      std::string_view(plan.tasks[i].kind),
                      task_state_names[static_cast<std::size_t>(status.states[i])],
                      note == status.notes.end() ? std::string_view() : std::string_view(note->second)});
        }
        rows.finish();
    } else {
        auto rows = job.rows(to, {"state", "tasks"});
        for (const task_state state :
             {task_state::done, task_state::running, task_state::waiting, task_state::failed})
            rows.row({task_state_names[static_cast<std::size_t>(state)], status.count(state)});
        for (const task_state state :
             {task_state::possible, task_state::unneeded})  // of jobs that may end early
            if (status.count(state) != 0)
                rows.row({task_state_names[static_cast<std::size_t>(state)], status.count(state)});
        rows.finish();
    }
    to.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
