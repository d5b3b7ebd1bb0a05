// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "quern/tasks/statistics.hpp"

namespace quern {

/// Records the durations of a task's stages; a repeated stage is added to its earlier duration.
class stage_clock {
  public:
    explicit stage_clock(run_statistics& statistics) : statistics_(statistics) {}
    void end_stage(std::string name, std::uint64_t bytes) {
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::chrono::duration<double>(now - begin_).count();
        begin_ = now;
        const double cpu = process_cpu_seconds();
        const double thread_seconds = cpu - std::exchange(cpu_begin_, cpu);
        statistics_.seconds += seconds;
        auto at = std::ranges::find(statistics_.stages, name, &stage_statistics::name);
        if (at == statistics_.stages.end()) {
            at = statistics_.stages.insert(at, {std::move(name), 0, 0, 0});
        }
        at->seconds += seconds;
        at->thread_seconds += thread_seconds;
        at->bytes += bytes;
    }
    /// A step that overlaps with others, summed over threads.
    void add_step(std::string name, double thread_seconds) {
        statistics_.stages.push_back({std::move(name), 0, thread_seconds, 0});
    }

  private:
    run_statistics& statistics_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    double cpu_begin_ = process_cpu_seconds();
};

}  // namespace quern
