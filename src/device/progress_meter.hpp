// SPDX-License-Identifier: Apache-2.0
// Progress of one loop's threads: they share a counter, and whichever thread passes when a report is due makes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

/// Reports the stage at its beginning, at most ten times a second while it runs, and at its end. Any thread may add.
class progress_meter {
  public:
    /// `stage` and `unit` outlive the meter. `total` is 0 if unknown.
    progress_meter(const context& ctx, std::string_view stage, std::uint64_t total, std::string_view unit)
        : ctx_(ctx), stage_(stage), unit_(unit), total_(total) {
        report();
    }
    progress_meter(const progress_meter&) = delete;  // one counter
    progress_meter& operator=(const progress_meter&) = delete;

    /// Cheap enough for every piece of work, but not for every number. Throws `interrupted` if a stop is requested.
    void add(std::uint64_t count) {
        done_.fetch_add(count, std::memory_order_relaxed);
        look();
    }
    /// Increases the total.
    void extend(std::uint64_t count) { total_.fetch_add(count, std::memory_order_relaxed); }
    std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
    std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
    /// Reports the final count.
    void finish() {
        const std::lock_guard lock(reporting_);
        report();
    }

  private:
    using clock = std::chrono::steady_clock;

    void look() {
        ctx_.check_stop();
        if (!ctx_.on_progress) return;
        if (done() >= total() && total() != 0) return finish();
        const auto now = clock::now().time_since_epoch().count();
        if (now < next_.load(std::memory_order_relaxed)) return;
        if (const std::unique_lock lock(reporting_, std::try_to_lock); lock.owns_lock()) report();
    }
    void report() {
        constexpr clock::duration pause = std::chrono::milliseconds(100);
        next_.store((clock::now() + pause).time_since_epoch().count(), std::memory_order_relaxed);
        const std::uint64_t done = this->done();
        ctx_.report({stage_, done, total() == 0 ? 0 : std::max(done, total()), unit_});
    }

    const context& ctx_;
    std::string_view stage_, unit_;
    std::atomic<std::uint64_t> done_{0}, total_;
    std::atomic<clock::rep> next_{0};
    std::mutex reporting_;
};

}  // namespace quern
