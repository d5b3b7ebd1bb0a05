// SPDX-License-Identifier: Apache-2.0
// The CPU as a place: a number of threads and a budget of memory.
#pragma once

#include "device/memory_budget.hpp"
#include "quern/base/context.hpp"

namespace quern {

class cpu_place {
  public:
    explicit cpu_place(context run) : run_(std::move(run)), memory_(run_.memory_limit()) {}
    cpu_place(const cpu_place&) = delete;  // its arrays point to it
    cpu_place& operator=(const cpu_place&) = delete;

    const context& run() const noexcept { return run_; }
    unsigned threads() const { return run_.thread_count(); }
    /// What arrays of this place count against.
    memory_budget& memory() noexcept { return memory_; }
    /// Nothing is ever under way here: for code that is written once for every place.
    void synchronise() const noexcept {}

  private:
    context run_;
    memory_budget memory_;
};

}  // namespace quern
