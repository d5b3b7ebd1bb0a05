// SPDX-License-Identifier: Apache-2.0
// The CPU place: all parallel code runs inside an arena sized for the context.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <optional>
#include <utility>

#include "quern/base/context.hpp"

namespace quern {

/// Calls `work` so that its parallel algorithms use at most `ctx.thread_count()` threads, which may exceed the number
/// of cores.
template <class Work>
auto run_parallel(const context& ctx, Work&& work) {
    const auto threads = static_cast<int>(ctx.thread_count());
    std::optional<tbb::global_control> beyond_cores;
    if (threads > tbb::info::default_concurrency()) {
        beyond_cores.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
    }
    return tbb::task_arena(threads).execute(std::forward<Work>(work));
}

}  // namespace quern
