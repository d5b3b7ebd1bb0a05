// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// Measures steps that follow each other, by wall time.
class step_clock {
  public:
    explicit step_clock(duplicate_counts& counts) : counts_(counts) {}
    void end(std::string step) { counts_.steps.emplace_back(std::move(step), next()); }
    /// Seconds since the last step, which end here.
    double next() {
        const auto now = std::chrono::steady_clock::now();
        return std::chrono::duration<double>(now - std::exchange(begin_, now)).count();
    }

  private:
    duplicate_counts& counts_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace quern::near_duplicates_detail
