// SPDX-License-Identifier: Apache-2.0
// The first position of a fault among those that several threads find: the minimum, independent of their order.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/fault.hpp"

namespace quern::primitives {

class first_position {
  public:
    /// Any number of threads in parallel.
    void note(std::uint64_t position) {
        std::uint64_t before = found_.load(std::memory_order_relaxed);
        while (position < before &&
               !found_.compare_exchange_weak(before, position, std::memory_order_relaxed)) {
        }
    }
    /// After the threads are done: the position found, if any.
    std::uint64_t position() const { return found_.load(std::memory_order_relaxed); }
    bool none() const { return position() == nowhere; }
    void throw_if_any(fault kind) const {
        if (!none()) throw_fault(kind, position());
    }

  private:
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
    std::atomic<std::uint64_t> found_{nowhere};
};

}  // namespace quern::primitives
