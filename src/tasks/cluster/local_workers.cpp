// SPDX-License-Identifier: Apache-2.0
// Workers of this machine: one process for each task, some at a time. A process that dies does no harm, because nothing of it
// counts before its task is complete.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "device/files/file_writer.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/shared/sufficient_memory.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

constexpr unsigned max_attempts = 4;  ///< one attempt, and three after the worker was killed
constexpr std::chrono::milliseconds between_looks{3};
constexpr std::chrono::milliseconds time_to_stop{900};  ///< of workers, before they are killed

std::string last_line(const fs::path& file) {
    try {
        const io::mapped_file log(file);
        std::string_view text = log.text();
        while (text.ends_with('\n')) text.remove_suffix(1);
        return std::string(text.substr(text.rfind('\n') + 1));
    } catch (const error&) {
        return {};
    }
}

/// What the child does between fork and the program: only calls that are safe there. `log`: -1 for that of this process.
[[noreturn]] void begin_worker(const std::vector<char*>& words, const std::vector<char*>& variables, int log,
                               int nothing, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);  // it died before
    ::dup2(nothing, STDIN_FILENO);
    if (log >= 0) ::dup2(log, STDOUT_FILENO);
    if (log >= 0) ::dup2(log, STDERR_FILENO);
    ::execvpe(words[0], words.data(), variables.data());
    constexpr std::string_view message = "quern: cannot start a worker\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
    ::_exit(127);
}

/// Starts a program. `gpus`: its CUDA_VISIBLE_DEVICES; empty: that of this process.
pid_t started(std::vector<std::string> words, int log, int nothing, const std::string& gpus = {}) {
    constexpr std::string_view visible = "CUDA_VISIBLE_DEVICES=";
    std::string variable = std::string(visible) + gpus;
    std::vector<char*> pointers, variables;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    for (char** each = ::environ; *each != nullptr; ++each)
        if (gpus.empty() || !std::string_view(*each).starts_with(visible)) variables.push_back(*each);
    if (!gpus.empty()) variables.push_back(variable.data());
    variables.push_back(nullptr);
    const pid_t parent = ::getpid(), process = ::fork();
    if (process == 0) begin_worker(pointers, variables, log, nothing, parent);
    if (process < 0) throw io_error(words.front(), "cannot start a worker", errno);
    return process;
}

class local_run {
  public:
    local_run(const job_plan& plan, const fs::path& share, const local_workers& workers, const context& ctx)
        : plan_(plan), share_(share), workers_(workers), ctx_(ctx), attempts_(plan.tasks.size()) {}
    local_run(const local_run&) = delete;  // it owns processes
    local_run& operator=(const local_run&) = delete;
    ~local_run() { stop_all(); }

    void run() {
        for (const job_task& task : plan_.tasks) needed_ += task.if_needed ? 0 : 1;
        for (std::uint32_t i = 0; i < plan_.tasks.size();) {
            const unsigned phase = plan_.tasks[i].phase;
            if (const auto last = last_needed_phase(share_);
                plan_.tasks[i].if_needed && last && phase > *last)
                break;  // the later phases are not needed either
            for (; i < plan_.tasks.size() && plan_.tasks[i].phase == phase; ++i) {
                needed_ += plan_.tasks[i].if_needed ? 1 : 0;
                if (is_done(i)) {
                    ++done_;
                } else {
                    waiting_.push_back(i);
                }
            }
            run_phase();
        }
        tell();
    }

  private:
    struct worker {
        pid_t process;
        std::uint32_t task;
        unsigned place;  ///< its number among those at work, from 0
    };

    /// Every byte: damaged results are made again.
    bool is_done(std::uint32_t task) const {
        try {
            const auto results =
                job_files::results_of(share_, task, job_files::checksum_of(plan_.request, plan_.tasks[task]));
            return results && job_files::fault_of(*results, true, ctx_).empty();
        } catch (const damaged_store&) {
            return false;
        }
    }

    void run_phase() {
        while (!waiting_.empty() || !running_.empty()) {
            ctx_.check_stop();  // the destructor stops the workers
            while (!waiting_.empty() && running_.size() < workers_.count) {
                start(waiting_.front());
                waiting_.pop_front();
            }
            tell();
            if (!take_ended()) std::this_thread::sleep_for(between_looks);
        }
        if (failure_) throw task_failed(*failure_);
    }

    void tell() const { ctx_.report({"tasks", done_, needed_, "tasks"}); }

    void start(std::uint32_t task) {
        ++attempts_[task];
        const fs::path log_file = job_files::log(share_, task);
        const descriptor log = open_file(log_file, O_WRONLY | O_CREAT | O_TRUNC),
                         nothing = open_file("/dev/null", O_RDONLY);
        std::vector<std::string> words{workers_.program.native(), "task",
                                       file_of_task(share_, task).native()};
        words.insert(words.end(), workers_.arguments.begin(), workers_.arguments.end());
        const unsigned place = free_place();
        const std::string gpus =
            workers_.gpus.empty() ? std::string() : workers_.gpus[place % workers_.gpus.size()];
        running_.push_back({started(std::move(words), log.number(), nothing.number(), gpus), task, place});
    }

    unsigned free_place() const {
        unsigned place = 0;
        while (std::ranges::any_of(running_, [place](const worker& each) { return each.place == place; }))
            ++place;
        return place;
    }

    /// Whether a worker has ended.
    bool take_ended() {
        bool any = false;
        for (std::size_t i = 0; i < running_.size();) {
            int status = 0;
            const worker ended = running_[i];
            const pid_t found = ::waitpid(ended.process, &status, WNOHANG);
            if (found == 0 || (found < 0 && errno == EINTR)) {
                ++i;
                continue;
            }
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            any = true;
            take(ended.task, status);
        }
        return any;
    }

    void take(std::uint32_t task, int status) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            ++done_;
            return;
        }
        ctx_.check_stop();  // that is why it ended
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 4;
        const std::string last_message = last_line(job_files::log(share_, task));
        const std::string how =
            WIFSIGNALED(status)
                ? fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                : fmt::format("failed with exit code {}", WEXITSTATUS(status));
        const bool was_killed = WIFSIGNALED(status) || code > 128;
        if (was_killed && attempts_[task] < max_attempts) {
            ctx_.log(log_level::warning,
                     fmt::format("the worker of task {} {}; it is started again", task, how));
            waiting_.push_front(task);
            return;
        }
        if (failure_) return;
        if (std::error_code failed; !fs::exists(share_ / job_files::plan, failed)) {
            failure_.emplace(
                fmt::format("{}: the folder of the job is gone (task {} {}); the same command goes on "
                            "once it is back",
                            share_.string(), task, how),
                4);
            waiting_.clear();
            return;
        }
        std::string reason = fmt::format("task {} {}", task, how);
        if (was_killed) reason += fmt::format(", {} times", attempts_[task]);
        if (last_message.empty() && !was_killed) reason += ", without a message, as on a full disk";
        if (!last_message.empty())
            reason += fmt::format(": {}", with_memory_of_all(last_message, workers_.count));
        reason += fmt::format(" ({}; quern resume {} goes on)", job_files::log(share_, task).string(),
                              share_.string());
        if (was_killed) note(task, how);
        failure_.emplace(reason, was_killed ? 4 : code);
        waiting_.clear();
    }

    /// Of a task whose worker could not report it.
    void note(std::uint32_t task, const std::string& how) const {
        replace_file(job_files::failure(share_, task),
                     fmt::format("its worker {}, {} times\n", how, attempts_[task]));
    }

    void stop_all() noexcept {
        for (const worker& each : running_) ::kill(each.process, SIGTERM);
        const auto last = clock::now() + time_to_stop;
        while (!running_.empty()) {
            const bool is_late = clock::now() > last;
            if (is_late)
                for (const worker& each : running_) ::kill(each.process, SIGKILL);
            std::erase_if(running_, [is_late](const worker& each) {
                const pid_t found = ::waitpid(each.process, nullptr, is_late ? 0 : WNOHANG);
                return found != 0;
            });
            if (!running_.empty()) std::this_thread::sleep_for(between_looks);
        }
    }

    const job_plan& plan_;
    const fs::path& share_;
    const local_workers& workers_;
    const context& ctx_;
    std::vector<unsigned> attempts_;
    std::deque<std::uint32_t> waiting_;
    std::vector<worker> running_;
    std::optional<task_failed> failure_;
    std::uint64_t done_ = 0;
    std::uint64_t needed_ = 0;  ///< as far as is known
};

}  // namespace

std::string with_memory_of_all(std::string_view message, unsigned processes) {
    std::string all(message);
    const std::size_t end = all.rfind(after_memory), option = all.rfind(before_memory, end);
    if (end == std::string::npos || option == std::string::npos) return all;
    const std::size_t begin = option + before_memory.size();
    std::uint64_t mebibytes = 0;
    const auto read = std::from_chars(all.data() + begin, all.data() + end, mebibytes);
    if (read.ec != std::errc() || read.ptr != all.data() + end) return all;
    return all.replace(begin, end - begin, std::to_string(mebibytes * processes));
}

void run_local(const job_plan& plan, const fs::path& share, const local_workers& workers,
               const context& ctx) {
    local_workers each = workers;
    const unsigned count = std::max(workers.count, 1u);
    each.count = count;
    const unsigned threads = std::max(ctx.thread_count() / count, 1u);
    for (const std::string& word : {std::string("--threads"), fmt::format("{}", threads),
                                    std::string("--memory"), fmt::format("{}", ctx.memory_limit() / count)})
        each.arguments.push_back(word);
    if (!ctx.scratch.empty()) {
        each.arguments.emplace_back("--tmp");
        each.arguments.push_back(ctx.scratch.native());
    }
    local_run(plan, share, each, ctx).run();
}

void run_ray(const fs::path& share, const ray_launcher& launcher, const context& ctx) {
    const descriptor nothing = open_file("/dev/null", O_RDONLY);
    std::vector<std::string> words{launcher.python, "-m",
                                   "quern.cluster", share.native(),
                                   "--program",     launcher.program.native(),
                                   "--cpus",        fmt::format("{}", ctx.thread_count())};
    if (ctx.memory_bytes != 0) {
        words.emplace_back("--memory");
        words.push_back(fmt::format("{}", ctx.memory_bytes));
    }
    const pid_t process = started(std::move(words), -1, nothing.number());
    int status = 0;
    bool is_stopped = false;
    while (::waitpid(process, &status, WNOHANG) == 0) {
        if (ctx.stop_signal != nullptr && ctx.stop_signal->load() != 0 && !is_stopped) {
            ::kill(process, SIGINT);
            is_stopped = true;
        }
        std::this_thread::sleep_for(between_looks);
    }
    ctx.check_stop();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 4;
    if (code == 0) return;
    const bool is_missing = code == 127;
    std::string reason = fmt::format("the Ray launcher, {} -m quern.cluster, ", launcher.python);
    reason += is_missing ? "could not be started" : fmt::format("ended with exit code {}", code);
    reason +=
        is_missing || code == 1
            ? " (its messages are above; expected a Python with quern-engine[ray], by PATH or QUERN_PYTHON)"
            : " (its messages are above)";
    throw task_failed(reason, is_missing || code == 1 ? 2 : code);
}

}  // namespace quern
