// SPDX-License-Identifier: Apache-2.0
// The CPU as a place: a number of threads and a budget of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/cpu/memory_pool.hpp"
#include "device/memory_budget.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"

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

    /// Memory aligned to 64 bytes; null for 0 bytes. Arrays call these. Large blocks are kept for the next array,
    /// within the budget, until the place goes: use one place for what is done again and again.
    void* allocate(std::uint64_t bytes, std::string_view what_for) {
        if (bytes == 0) return nullptr;
        memory_.take(bytes, what_for);
        void* const memory = pool_.allocate(bytes, memory_.left());
        if (memory != nullptr) return memory;
        memory_.give_back(bytes);
        throw out_of_memory(what_for, bytes, 0);
    }
    void release(void* memory, std::uint64_t bytes) noexcept {
        if (memory == nullptr) return;
        pool_.release(memory, bytes);
        memory_.give_back(bytes);
    }

    /// What is kept for the next array, beside memory().used().
    std::uint64_t kept() const noexcept { return pool_.kept(); }

    /// Nothing is ever under way here: for code that is written once for every place.
    void synchronise() const noexcept {}

  private:
    context run_;
    memory_budget memory_;
    memory_pool pool_;
};

}  // namespace quern
