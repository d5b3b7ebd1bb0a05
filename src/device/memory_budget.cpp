// SPDX-License-Identifier: Apache-2.0
#include "device/memory_budget.hpp"

#include "quern/base/error.hpp"

namespace quern {

void memory_budget::take(std::uint64_t bytes, std::string_view what_for) {
    std::uint64_t before = used_.load(std::memory_order_relaxed);
    do {
        if (bytes > limit_ - before) throw out_of_memory(what_for, bytes, limit_ - before);
    } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    std::uint64_t highest = peak_.load(std::memory_order_relaxed);
    while (highest < before + bytes &&
           !peak_.compare_exchange_weak(highest, before + bytes, std::memory_order_relaxed)) {
    }
}

}  // namespace quern
