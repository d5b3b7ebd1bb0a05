// SPDX-License-Identifier: Apache-2.0
#include "quern/base/context.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "device/files/mapped_pages.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

// How many threads this process may have. oneTBB (before 2022) counts on every thread that it tries to create, and ends
// the process if the system refuses one. So the threads are tried first. If not all of them fit, together with the few
// that read and write files, oneTBB gets fewer and creates them at once, before others take their place.

using clock = std::chrono::steady_clock;

/// Threads besides those of the arenas: decoders, read-ahead and write-after of files. All of them are optional.
constexpr unsigned kept_for_files = 3;

struct gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;

    static void* wait(void* at) {
        auto& self = *static_cast<gate*>(at);
        std::unique_lock lock(self.mutex);
        self.changed.wait(lock, [&] { return self.open; });
        return nullptr;
    }
};

/// How many of the wanted threads the system creates at once. They have ended when it returns.
unsigned count_startable(unsigned wanted) {
    constexpr std::size_t stack_bytes = std::size_t{4} << 20;  // oneTBB's
    pthread_attr_t like_workers;
    if (pthread_attr_init(&like_workers) != 0) return 0;
    pthread_attr_setstacksize(&like_workers, stack_bytes);
    std::vector<pthread_t> threads;
    threads.reserve(wanted);
    gate until_all_are_present;
    pthread_t one{};
    while (threads.size() < wanted &&
           pthread_create(&one, &like_workers, gate::wait, &until_all_are_present) == 0)
        threads.push_back(one);
    pthread_attr_destroy(&like_workers);
    {
        const std::lock_guard lock(until_all_are_present.mutex);
        until_all_are_present.open = true;
    }
    until_all_are_present.changed.notify_all();
    for (const pthread_t each : threads) pthread_join(each, nullptr);
    return static_cast<unsigned>(threads.size());
}

std::size_t threads_of_this_process() {
    std::error_code unseen;
    const std::filesystem::directory_iterator all("/proc/self/task", unseen);
    return unseen ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// A joined thread still counts towards the limits until the kernel has released it.
void wait_until_gone(std::size_t threads_before) {
    const auto patience = clock::now() + std::chrono::seconds(1);
    while (threads_of_this_process() > threads_before && clock::now() < patience) std::this_thread::yield();
}

/// Returns when oneTBB has created its workers, which it does only once there is work for them.
void start_workers(unsigned threads) {
    const auto patience = clock::now() + std::chrono::seconds(1);
    std::atomic<unsigned> present{0};
    tbb::task_arena(static_cast<int>(threads)).execute([&] {
        tbb::parallel_for(
            0U, threads,
            [&](unsigned) {
                ++present;
                while (present < threads && clock::now() < patience) std::this_thread::yield();
            },
            tbb::simple_partitioner());
    });
}

bool addresses_are_limited() {
    rlimit addresses{};
    return getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
}

class thread_slots {
  public:
    unsigned of(unsigned wanted) {
        if (wanted <= proved_.load(std::memory_order_acquire)) return wanted;
        const std::lock_guard lock(mutex_);
        if (limit_ == 0 && wanted > proved_.load(std::memory_order_relaxed)) try_out(wanted);
        return limit_ != 0 ? std::min(wanted, limit_) : wanted;
    }

  private:
    void try_out(unsigned wanted) {
        const std::size_t before = threads_of_this_process();
        // Leaves room for the threads that a decoder or a server starts meanwhile.
        const unsigned plenty = wanted + std::min(2 * wanted, 16U) + kept_for_files;
        const unsigned startable = count_startable(plenty);
        if (startable == plenty && !addresses_are_limited()) {
            proved_.store(wanted, std::memory_order_release);
            return;
        }
        wait_until_gone(before);
        limit_ = std::clamp(startable > kept_for_files ? startable - kept_for_files + 1 : 1, 1U, wanted);
        no_more_.emplace(tbb::global_control::max_allowed_parallelism, limit_);
        if (limit_ > 1) start_workers(limit_);
    }

    std::atomic<unsigned> proved_{1};
    std::mutex mutex_;    ///< guards all below
    unsigned limit_ = 0;  ///< none
    std::optional<tbb::global_control> no_more_;
};

/// How many threads parallel algorithms can have if `wanted` are requested: fewer, down to 1, if the system creates no
/// more (a control group's pids.max, ulimit -u, ulimit -v). Determined by the first call for several threads, by
/// creating them: about 15 us each. Thread-safe.
unsigned available_threads(unsigned wanted) {
    static auto& slots = *new thread_slots;  // lives as long as oneTBB's threads, which end with the process
    return slots.of(wanted);
}

/// The limit in one control-group file, or the largest number if there is none ("max", no such file).
std::uint64_t limit_in(const std::string& path) {
    std::ifstream file(path);
    std::uint64_t bytes = 0;
    return file >> bytes ? bytes : UINT64_MAX;
}

/// The smallest limit of this process's control group and of all groups around it (version 2, or version 1's memory
/// controller).
std::uint64_t control_group_limit() {
    std::uint64_t min_limit = UINT64_MAX;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t controllers = line.find(':'), path = line.find(':', controllers + 1);
        if (path == std::string::npos) continue;
        const std::string named = line.substr(controllers + 1, path - controllers - 1);
        const bool second = named.empty();
        if (!second && named.find("memory") == std::string::npos) continue;
        const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const std::string file = second ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string group = line.substr(path + 1);; group.resize(group.rfind('/'))) {
            while (group.ends_with('/')) group.pop_back();
            if (group.find('/') == std::string::npos) group.clear();
            min_limit = std::min(min_limit, limit_in(std::string(root).append(group).append(file)));
            if (group.empty()) break;
        }
    }
    return min_limit;
}

}  // namespace

std::uint64_t memory_limit_seen() {
    const auto physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    return std::min(physical, control_group_limit());
}

context context::cpu(unsigned threads) {
    context result;
    result.device.where = device_choice::kind::cpu;
    result.threads = threads;
    return result;
}

context context::cuda(int ordinal) {
    context result;
    result.device = {device_choice::kind::cuda, ordinal};
    return result;
}

void context::check_stop() const {
    give_back_mapped_pages();
    if (stop_signal == nullptr) return;
    if (const int signal = stop_signal->load(std::memory_order_relaxed); signal != 0) {
        throw interrupted(signal);
    }
}

void context::log(log_level level, std::string_view message) const {
    if (on_log) on_log(level, message);
}

void context::report(const progress& now) const {
    if (on_progress) on_progress(now);
}

unsigned context::thread_count() const {
    if (threads != 0) return available_threads(threads);
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return available_threads(static_cast<unsigned>(std::max(1, CPU_COUNT(&set))));
}

std::uint64_t context::memory_limit() const {
    return memory_bytes != 0 ? memory_bytes : memory_limit_seen() / 4 * 3;
}

std::filesystem::path context::scratch_folder() const {
    return scratch.empty() ? std::filesystem::path("/tmp") : scratch;
}

}  // namespace quern
