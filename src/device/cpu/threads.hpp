// SPDX-License-Identifier: Apache-2.0
// The CPU place: everything parallel runs inside an arena of the run's own size.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <optional>
#include <utility>

#include "quern/base/context.hpp"

namespace quern {

/// Calls `work` so that the parallel algorithms in it use at most `run.thread_count()` threads, more than there
/// are cores where that is asked for.
template <class Work>
auto run_parallel(const context& run, Work&& work) {
    const auto threads = static_cast<int>(run.thread_count());
    std::optional<tbb::global_control> beyond_cores;
    if (threads > tbb::info::default_concurrency()) {
        beyond_cores.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    }
    return tbb::task_arena(threads).execute(std::forward<Work>(work));
}

}  // namespace quern
