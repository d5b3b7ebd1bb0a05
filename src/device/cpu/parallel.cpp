// SPDX-License-Identifier: Apache-2.0
// All of oneTBB's loops and arenas are compiled here, once.
#include "device/cpu/parallel.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <optional>

#include "device/cpu/threads.hpp"

namespace quern {

void run_in_arena(const context& ctx, function_ref<void()> work) {
    const auto threads = static_cast<int>(ctx.thread_count());
    std::optional<tbb::global_control> beyond_cores;
    if (threads > tbb::info::default_concurrency()) {
        beyond_cores.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    }
    tbb::task_arena(threads).execute([&] { work(); });
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
