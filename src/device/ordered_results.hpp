// SPDX-License-Identifier: Apache-2.0
// Results of units of work that several threads compute and one thread takes in the order of the units.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace quern {

/// Units are claimed in order; a unit is claimed only if fewer than `ahead` units from the next one to be taken are in
/// work or waiting, so that memory holds few results. Thread-safe.
template <class Result>
class ordered_results {
  public:
    ordered_results(std::size_t units, std::size_t ahead) : units_(units), ahead_(ahead) {}

    /// The next unit; waits until it may begin. None: all have begun, or one failed, or taking stopped.
    std::optional<std::size_t> claim() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return over() || claimed_ < taken_ + ahead_; });
        if (over()) return {};
        return claimed_++;
    }
    void put(std::size_t unit, Result result) {
        {
            const std::lock_guard lock(mutex_);
            ready_.emplace(unit, std::move(result));
        }
        changed_.notify_all();
    }
    /// The exception in flight is that of this unit.
    void fail(std::size_t unit) {
        {
            const std::lock_guard lock(mutex_);
            if (unit < failed_) failed_ = unit, thrown_ = std::current_exception();
        }
        changed_.notify_all();
    }
    /// No further unit begins.
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

    /// The result of the next unit to be taken; waits for it. Throws what it, or a unit before it, threw: those before the
    /// first failure are taken first, for any number of threads.
    Result take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ready_.contains(taken_) || failed_ <= taken_; });
        const auto found = ready_.find(taken_);
        if (found == ready_.end()) std::rethrow_exception(thrown_);
        Result result = std::move(found->second);
        ready_.erase(found);
        ++taken_;
        lock.unlock();
        changed_.notify_all();
        return result;
    }

  private:
    bool over() const { return stopped_ || claimed_ == units_ || failed_ != none; }

    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    const std::size_t units_, ahead_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t claimed_ = 0, taken_ = 0, failed_ = none;
    bool stopped_ = false;
    std::exception_ptr thrown_;
    std::map<std::size_t, Result> ready_;
};

}  // namespace quern
