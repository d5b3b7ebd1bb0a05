// SPDX-License-Identifier: Apache-2.0
// Arrays whose size is known only when a file has been read. Addresses are reserved first, for as much as the budget
// allows; memory comes as it is touched. So the array grows without ever being copied, threads may fill it while it
// grows, and what is handed out in the end takes what it holds and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "device/memory_budget.hpp"

namespace quern::io {

/// Move-only. Memory that was never written is 0.
class reserved_memory {
  public:
    reserved_memory() = default;
    /// Addresses for what the budget has left; the system may grant less. `budget` must outlive settle().
    reserved_memory(memory_budget& budget, std::string_view what_for);
    reserved_memory(reserved_memory&& other) noexcept { swap(other); }
    reserved_memory& operator=(reserved_memory&& other) noexcept {
        reserved_memory(std::move(other)).swap(*this);
        return *this;
    }
    reserved_memory(const reserved_memory&) = delete;  // two owners would unmap the same pages twice
    reserved_memory& operator=(const reserved_memory&) = delete;
    ~reserved_memory();

    /// The first `bytes` may be touched from now on, which is counted. What was there stays where it is. One thread at
    /// a time; others may read and write what they were given before. Throws out_of_memory.
    void grow(std::uint64_t bytes);
    /// Gives back the addresses behind, and is no longer counted: from here on it is the caller's.
    void settle() noexcept;

    void* data() const noexcept { return memory_; }
    std::uint64_t size() const noexcept { return used_; }

  private:
    void swap(reserved_memory& other) noexcept;

    void* memory_ = nullptr;
    std::uint64_t reserved_ = 0, used_ = 0;
    memory_budget* budget_ = nullptr;
    std::string what_for_;
};

template <class T>
class large_array {
    static_assert(std::is_trivially_copyable_v<T>, "arrays hold plain values");

  public:
    large_array() = default;
    large_array(memory_budget& budget, std::string_view what_for) : memory_(budget, what_for) {}
    /// `size` zeros.
    large_array(memory_budget& budget, std::string_view what_for, std::uint64_t size)
        : memory_(budget, what_for) {
        grow(size);
    }

    void grow(std::uint64_t size) {
        constexpr std::uint64_t most = ~std::uint64_t{0} >> 1;
        memory_.grow(size > most / sizeof(T) ? most : size * sizeof(T));
    }
    void settle() noexcept { memory_.settle(); }

    T* data() const noexcept { return static_cast<T*>(memory_.data()); }
    std::uint64_t size() const noexcept { return memory_.size() / sizeof(T); }
    bool empty() const noexcept { return size() == 0; }
    std::span<T> span() const noexcept { return {data(), size()}; }
    T& operator[](std::uint64_t i) const noexcept { return data()[i]; }

  private:
    reserved_memory memory_;
};

}  // namespace quern::io
