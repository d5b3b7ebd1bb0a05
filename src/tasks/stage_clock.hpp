// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "quern/tasks/statistics.hpp"

namespace quern {

/// Writes down how long the stages of a task take; one that comes again adds to what it took before.
class stage_clock {
  public:
    explicit stage_clock(run_statistics& statistics) : statistics_(statistics) {}
    void end_stage(std::string name, std::uint64_t bytes) {
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::chrono::duration<double>(now - begin_).count();
        begin_ = now;
        statistics_.seconds += seconds;
        auto at = std::ranges::find(statistics_.stages, name, &stage_statistics::name);
        if (at == statistics_.stages.end()) {
            at = statistics_.stages.insert(at, {std::move(name), 0, 0, 0});
        }
        at->seconds += seconds;
        at->thread_seconds += seconds;
        at->bytes += bytes;
    }
    /// A step that overlaps with others, added up over threads.
    void add_step(std::string name, double thread_seconds) {
        statistics_.stages.push_back({std::move(name), 0, thread_seconds, 0});
    }

  private:
    run_statistics& statistics_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace quern
