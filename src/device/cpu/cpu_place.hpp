// SPDX-License-Identifier: Apache-2.0
// The CPU as a place: a number of threads and a memory budget.
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
    explicit cpu_place(context ctx) : ctx_(std::move(ctx)), memory_(ctx_.memory_limit()) {}
    cpu_place(const cpu_place&) = delete;  // its arrays point to it
    cpu_place& operator=(const cpu_place&) = delete;

    const context& ctx() const noexcept { return ctx_; }
    unsigned threads() const { return ctx_.thread_count(); }
    /// The budget that arrays of this place count against.
    memory_budget& memory() noexcept { return memory_; }

    /// Memory aligned to 64 bytes; null for 0 bytes. Called by arrays. Large blocks are kept for the next array, within
    /// the budget, until the place is destroyed: use one place for repeated operations.
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

    /// Bytes kept for the next array, in addition to memory().used().
    std::uint64_t kept() const noexcept { return pool_.kept(); }

    /// Nothing is ever pending here: for code written once for every place.
    void synchronise() const noexcept {}

  private:
    context ctx_;
    memory_budget memory_;
    memory_pool pool_;
};

}  // namespace quern
