// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

/// The parent's instructions for a child before it executes the program.
struct start_settings {
    int input = -1, output = -1, errors = -1;
    const child_limits* limits = nullptr;
    const char* program = nullptr;
    char* const* arguments = nullptr;
    char* const* environment = nullptr;
    int failure = -1;  ///< where errno is written if the program cannot be started
};

/// A lower limit of this process stays.
void set_limit(__rlimit_resource what, rlim_t most) {
    rlimit now{};
    if (getrlimit(what, &now) == 0) most = std::min(most, now.rlim_max);
    const rlimit value{most, most};
    setrlimit(what, &value);
}

/// Runs in the child, which has the parent's memory until the program begins: system calls only, no allocation. Handlers of
/// the parent must not run here: signals stay blocked until all are as usual again.
[[noreturn, gnu::noinline]] void begin_program(const start_settings& settings) {
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    for (int each = 1; each < NSIG; ++each) sigaction(each, &usual, nullptr);
    const auto is_moved = [](int from, int to) { return dup2(from, to) == to; };
    if (is_moved(settings.input, STDIN_FILENO) && is_moved(settings.output, STDOUT_FILENO) &&
        is_moved(settings.errors, STDERR_FILENO)) {
        set_limit(RLIMIT_CPU, static_cast<rlim_t>(settings.limits->processor_time.count()));
        set_limit(RLIMIT_AS, settings.limits->address_space);
        set_limit(RLIMIT_CORE, 0);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        set_limit(RLIMIT_FSIZE, 0);
        execve(settings.program, settings.arguments, settings.environment);
    }
    const int failed = errno;
    static_cast<void>(!write(settings.failure, &failed, sizeof failed));
    _exit(127);
}

/// Starts a child. posix_spawn cannot set its limits, and fork copies the page tables of this process, which may have much
/// memory: so the child borrows the memory, and this thread waits until the program has begun. Throws io_error.
pid_t start(start_settings settings) {
    pipe_ends failure;
    settings.failure = failure.write.number();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): the child does nothing before execve that may wait
    const pid_t process = vfork();
    if (process == 0) begin_program(settings);  // NOLINT(clang-analyzer-unix.Vfork): it does not return
    const int refused = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (process < 0) throw io_error(settings.program, "cannot start", refused);
    failure.write.close_quietly();
    int failed = 0;
    ssize_t bytes_read = 0;
    do {
        bytes_read = read(failure.read.number(), &failed, sizeof failed);
    } while (bytes_read < 0 && errno == EINTR);
    if (bytes_read == 0) return process;  // closed as the program began
    waitpid(process, nullptr, 0);
    throw io_error(settings.program, "cannot start", failed);
}

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
    const ssize_t bytes_read = read(from.number(), piece, sizeof piece);
    if (bytes_read < 0) return errno == EINTR || errno == EAGAIN;
    if (to.size() < most)
        to.append(piece, std::min<std::size_t>(static_cast<std::size_t>(bytes_read), most - to.size()));
    return bytes_read != 0;
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
    std::vector<char*> list{const_cast<char*>(program.c_str())};
    for (const std::string& each : arguments) list.push_back(const_cast<char*>(each.c_str()));
    list.push_back(nullptr);
    char locale[] = "LC_ALL=C.UTF-8", path[] = "PATH=/usr/bin:/bin", home[] = "HOME=/";
    char* environment[] = {locale, path, home, nullptr};
    const start_settings settings{.input = source.number(),
                                  .output = output.write.number(),
                                  .errors = errors.write.number(),
                                  .limits = &limits,
                                  .program = program.c_str(),
                                  .arguments = list.data(),
                                  .environment = environment};
    child running(start(settings));
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
