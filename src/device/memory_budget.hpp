// SPDX-License-Identifier: Apache-2.0
// How much memory a place may still allocate.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace quern {

/// Counts allocations and releases. Thread-safe.
class memory_budget {
  public:
    explicit memory_budget(std::uint64_t limit) noexcept : limit_(limit) {}
    memory_budget(const memory_budget&) = delete;  // two counters for one budget would both be wrong
    memory_budget& operator=(const memory_budget&) = delete;

    /// Throws out_of_memory (purpose, requested, left) if less is left, and takes nothing then.
    void take(std::uint64_t bytes, std::string_view what_for);
    void give_back(std::uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

    std::uint64_t limit() const noexcept { return limit_; }
    std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::uint64_t left() const noexcept { return limit_ - used(); }
    std::uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  private:
    std::uint64_t limit_;
    std::atomic<std::uint64_t> used_{0}, peak_{0};
};

}  // namespace quern
