// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// A copy of a descriptor that is none of the three standard ones, which the child replaces.
descriptor above_standard(descriptor given) {
    if (given.number() > STDERR_FILENO) return given;
    descriptor copy(fcntl(given.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!copy.is_open()) throw io_error("pipe", "cannot create", errno);
    return copy;
}

struct pipe_ends {
    descriptor read, write;

    pipe_ends() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) throw io_error("pipe", "cannot create", errno);
        descriptor first(ends[0]), second(ends[1]);
        read = above_standard(std::move(first));
        write = above_standard(std::move(second));
    }
};

/// Actions and attributes of a start.
struct start_settings {
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};

    start_settings(int input, int output, int errors) {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
        sigset_t none, usual;
        sigemptyset(&none);
        sigemptyset(&usual);
        for (const int each : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) sigaddset(&usual, each);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &usual);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    start_settings(const start_settings&) = delete;
    start_settings& operator=(const start_settings&) = delete;
    ~start_settings() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
};

/// A started child: killed, if it still runs, and waited for.
class child {
  public:
    explicit child(pid_t process) : process_(process) {}
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
        if (process_ == 0) return;
        kill(process_, SIGKILL);
        wait();
    }

    void limit(const child_limits& limits) const {
        const auto set = [this](__rlimit_resource what, rlim_t most) {
            const rlimit value{most, most};
            // A limit of this process that is lower stays: it cannot be raised, and need not be.
            static_cast<void>(prlimit(process_, what, &value, nullptr));
        };
        const auto seconds = static_cast<rlim_t>(limits.processor_time.count());
        set(RLIMIT_CPU, seconds);
        set(RLIMIT_AS, limits.address_space);
        set(RLIMIT_FSIZE, 0);
        set(RLIMIT_CORE, 0);
    }
    void end() const { kill(process_, SIGKILL); }
    /// The status of waitpid(2); 0 if the process lets the system forget its children.
    int wait() {
        int status = 0;
        while (waitpid(process_, &status, 0) < 0) {
            if (errno == EINTR) continue;
            status = 0;
            break;
        }
        process_ = 0;
        return status;
    }

  private:
    pid_t process_;
};

/// Appends what can be read; false at the end.
bool take(const descriptor& from, std::string& to, std::size_t most) {
    char piece[16 << 10];
    const ssize_t got = read(from.number(), piece, sizeof piece);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (to.size() < most)
        to.append(piece, std::min<std::size_t>(static_cast<std::size_t>(got), most - to.size()));
    return got != 0;
}

}  // namespace

child_result run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                         const descriptor& input, const child_limits& limits, const context& ctx,
                         const std::function<void(std::uint64_t)>& check_room) {
    using clock = std::chrono::steady_clock;
    constexpr std::size_t errors_kept = 4 << 10;
    constexpr int look_again = 100;  // milliseconds
    ctx.check_stop();
    pipe_ends output, errors;
    descriptor source(fcntl(input.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!source.is_open()) throw io_error(program.native(), "cannot start", errno);
    pid_t process = 0;
    {
        const start_settings settings(source.number(), output.write.number(), errors.write.number());
        std::vector<char*> list{const_cast<char*>(program.c_str())};
        for (const std::string& each : arguments) list.push_back(const_cast<char*>(each.c_str()));
        list.push_back(nullptr);
        char locale[] = "LC_ALL=C.UTF-8", path[] = "PATH=/usr/bin:/bin", home[] = "HOME=/";
        char* environment[] = {locale, path, home, nullptr};
        const int failed = posix_spawn(&process, program.c_str(), &settings.actions, &settings.attributes,
                                       list.data(), environment);
        if (failed != 0) throw io_error(program.native(), "cannot start", failed);
    }
    child running(process);
    running.limit(limits);
    source.close_quietly();
    output.write.close_quietly();
    errors.write.close_quietly();

    child_result result;
    const auto deadline = clock::now() + limits.time;
    bool output_open = true, errors_open = true;
    while (output_open || errors_open) {
        ctx.check_stop();
        if (clock::now() > deadline) {
            result.timed_out = true;
            running.end();
            break;
        }
        pollfd waits[2] = {{output_open ? output.read.number() : -1, POLLIN, 0},
                           {errors_open ? errors.read.number() : -1, POLLIN, 0}};
        if (poll(waits, 2, look_again) <= 0) continue;
        if (waits[0].revents != 0) {
            output_open = take(output.read, result.output, SIZE_MAX);
            check_room(result.output.size());
        }
        if (waits[1].revents != 0) errors_open = take(errors.read, result.errors, errors_kept);
    }
    const int status = running.wait();
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    return result;
}

}  // namespace quern::io
