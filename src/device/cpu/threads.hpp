// SPDX-License-Identifier: Apache-2.0
// The CPU place: everything parallel runs inside an arena of the run's own size.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <utility>

#include "quern/base/context.hpp"

namespace quern {

/// Calls `work` so that the parallel algorithms in it use exactly `run.thread_count()` threads at most.
template <class Work>
auto run_parallel(const context& run, Work&& work) {
    return tbb::task_arena(static_cast<int>(run.thread_count())).execute(std::forward<Work>(work));
}

}  // namespace quern
