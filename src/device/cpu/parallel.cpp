// SPDX-License-Identifier: Apache-2.0
// All of oneTBB's loops and arenas are compiled here, once.
#include "device/cpu/parallel.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <list>
#include <map>
#include <mutex>
#include <optional>

#include "device/cpu/threads.hpp"

namespace quern {
namespace {

/// An arena of some number of threads, used again by later calls; a call within a call borrows another one. oneTBB 2021.8
/// can keep the request for workers of an arena that it destroys. The arenas that follow then get fewer workers or none,
/// until the process ends.
class borrowed_arena {
  public:
    explicit borrowed_arena(int threads) {
        const std::lock_guard lock(all().mutex);
        idle_ = &all().idle[threads];
        if (idle_->empty()) {
            arena_.emplace_back(threads);
        } else {
            arena_.splice(arena_.begin(), *idle_, idle_->begin());
        }
    }
    borrowed_arena(const borrowed_arena&) = delete;
    borrowed_arena& operator=(const borrowed_arena&) = delete;
    ~borrowed_arena() {
        const std::lock_guard lock(all().mutex);
        idle_->splice(idle_->begin(), arena_);
    }

    void execute(function_ref<void()> work) {
        arena_.front().execute([&] { work(); });
    }

  private:
    using arenas = std::list<tbb::task_arena>;  // whose elements change lists without taking memory
    struct pool {
        std::mutex mutex;
        std::map<int, arenas> idle;  ///< by threads
    };
    static pool& all() {
        static auto& one = *new pool;  // lives as long as oneTBB's threads, which end with the process
        return one;
    }

    arenas* idle_;
    arenas arena_;
};

}  // namespace

void run_in_arena(const context& ctx, function_ref<void()> work) {
    const auto threads = static_cast<int>(ctx.thread_count());
    std::optional<tbb::global_control> beyond_cores;
    if (threads > tbb::info::default_concurrency()) {
        beyond_cores.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    }
    borrowed_arena(threads).execute(work);
}

void for_each_piece(cpu_place& place, std::size_t pieces, function_ref<void(std::size_t)> work) {
    if (pieces <= 1 || place.threads() == 1) {
        for (std::size_t p = 0; p < pieces; ++p) work(p);
        return;
    }
    const auto share_of_work = [&work](std::size_t p) {
        const happens_before::share mine;
        work(p);
    };
    const happens_before whole;  // after everything that the threads read: they see nothing later
    run_in_arena(place.ctx(), [&] {
        tbb::parallel_for(std::size_t{0}, pieces, share_of_work, tbb::simple_partitioner());
    });
}

}  // namespace quern
