// SPDX-License-Identifier: Apache-2.0
// How many threads this process may have. oneTBB (before 2022) counts on every thread that it tries to create, and ends
// the process if the system refuses one. So the threads are tried first. If not all of them fit, together with the few
// that read and write files, oneTBB gets fewer and creates them at once, before others take their place.
#include "device/cpu/available_threads.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace quern {
namespace {

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
    std::vector<pthread_t> made;
    made.reserve(wanted);
    gate until_all_are_present;
    pthread_t one{};
    while (made.size() < wanted &&
           pthread_create(&one, &like_workers, gate::wait, &until_all_are_present) == 0)
        made.push_back(one);
    pthread_attr_destroy(&like_workers);
    {
        const std::lock_guard lock(until_all_are_present.mutex);
        until_all_are_present.open = true;
    }
    until_all_are_present.changed.notify_all();
    for (const pthread_t each : made) pthread_join(each, nullptr);
    return static_cast<unsigned>(made.size());
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
        const unsigned made = count_startable(plenty);
        if (made == plenty && !addresses_are_limited()) {
            proved_.store(wanted, std::memory_order_release);
            return;
        }
        wait_until_gone(before);
        limit_ = std::clamp(made > kept_for_files ? made - kept_for_files + 1 : 1, 1U, wanted);
        no_more_.emplace(tbb::global_control::max_allowed_parallelism, limit_);
        if (limit_ > 1) start_workers(limit_);
    }

    std::atomic<unsigned> proved_{1};
    std::mutex mutex_;    ///< guards all below
    unsigned limit_ = 0;  ///< none
    std::optional<tbb::global_control> no_more_;
};

}  // namespace

unsigned available_threads(unsigned wanted) {
    static auto& slots = *new thread_slots;  // lives as long as oneTBB's threads, which end with the process
    return slots.of(wanted);
}

}  // namespace quern
