// SPDX-License-Identifier: Apache-2.0
// The exception to throw when some of several threads fail.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>

namespace quern {

/// Keeps the exception of the lowest number (of a unit, a place, a file), whichever is thrown first; of those of one number,
/// the earliest. Thread-safe, except rethrow().
class first_failure {
  public:
    /// Keeps the exception that is being handled.
    void keep(std::size_t number) {
        const std::lock_guard lock(mutex_);
        if (number >= number_) return;
        thrown_ = std::current_exception();
        number_ = number;
    }
    /// Calls work() and keeps what it throws.
    template <class Work>
    void watch(std::size_t number, const Work& work) {
        try {
            work();
        } catch (...) {
            keep(number);
        }
    }
    /// The lowest number that failed; without one, greater than all.
    std::size_t number() const { return number_; }
    bool any() const { return number_ != none; }
    void rethrow() const {
        if (thrown_) std::rethrow_exception(thrown_);
    }

  private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    std::mutex mutex_;
    std::exception_ptr thrown_;
    std::atomic<std::size_t> number_{none};
};

}  // namespace quern
