// SPDX-License-Identifier: Apache-2.0
// Progress of an iteration: the steps done, and the expected total if the change keeps falling at the current rate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "quern/base/context.hpp"

namespace quern::link_rank_detail {

class step_report {
  public:
    step_report(const context& ctx, double tolerance, std::uint32_t max_iterations)
        : ctx_(ctx), tolerance_(tolerance), max_(max_iterations) {}

    /// Call after step `done`. `change` is in the unit of the tolerance, `shown` in the unit for users.
    void step(std::uint32_t done, double change, double shown) {
        const double fall = before_ > 0 ? change / before_ : 0;
        before_ = change;
        if (!ctx_.on_progress) return;
        std::uint64_t expected = 0;  // unknown
        if (fall > 0 && fall < 1 && change > 0) {
            const double left = std::ceil(std::log(tolerance_ / change) / std::log(fall));
            expected = done + static_cast<std::uint64_t>(std::clamp(left, 0.0, double{0xffffffff}));
            expected = std::max<std::uint64_t>(done, std::min<std::uint64_t>(expected, max_));
        }
        char unit[48];
        std::snprintf(unit, sizeof unit, "iterations, change %.3g", shown);
        ctx_.report({"rank", done, expected, unit});
    }

  private:
    const context& ctx_;
    double tolerance_, before_ = 0;
    std::uint32_t max_;
};

}  // namespace quern::link_rank_detail
