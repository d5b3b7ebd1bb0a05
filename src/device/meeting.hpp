// SPDX-License-Identifier: Apache-2.0
// Threads that take the steps of one computation together: a barrier that a thread can leave when it fails.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace quern {

class meeting {
  public:
    struct left {};  ///< thrown by meet() when another thread has left

    explicit meeting(std::size_t threads) : threads_(threads) {}

    /// Waits for all threads. The last one calls last() before any goes on; if that throws, it leaves.
    template <class Last>
    void meet(const Last& last) {
        std::unique_lock lock(mutex_);
        if (left_) throw left();
        if (++arrived_ == threads_) {
            try {
                last();
            } catch (...) {
                left_ = true;
                all_here_.notify_all();
                throw;
            }
            arrived_ = 0;
            ++round_;
            all_here_.notify_all();
            return;
        }
        const std::size_t round = round_;
        all_here_.wait(lock, [&] { return left_ || round_ != round; });
        if (round_ == round) throw left();
    }
    void meet() {
        meet([] {});
    }

    /// Nobody waits for this thread any more: it failed, and the others stop at their next meeting.
    void leave() {
        const std::lock_guard lock(mutex_);
        left_ = true;
        all_here_.notify_all();
    }

  private:
    std::size_t threads_, arrived_ = 0, round_ = 0;
    bool left_ = false;
    std::mutex mutex_;
    std::condition_variable all_here_;
};

}  // namespace quern
