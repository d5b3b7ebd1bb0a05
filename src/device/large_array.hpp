// SPDX-License-Identifier: Apache-2.0
// Arrays whose size is known only when a file has been read. Address space is reserved first, as much as the budget
// allows; memory is committed on first access. So the array grows without copying, threads may fill it while it grows,
// and the final array takes only what it holds.
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
    /// Reserves addresses for what the budget has left; the system may grant less. `budget` must outlive settle().
    reserved_memory(memory_budget& budget, std::string_view what_for);
    reserved_memory(reserved_memory&& other) noexcept { swap(other); }
    reserved_memory& operator=(reserved_memory&& other) noexcept {
        reserved_memory(std::move(other)).swap(*this);
        return *this;
    }
    reserved_memory(const reserved_memory&) = delete;  // two owners would unmap the same pages twice
    reserved_memory& operator=(const reserved_memory&) = delete;
    ~reserved_memory();

    /// Makes the first `bytes` accessible, and counts them. Earlier contents stay in place. One thread at a time;
    /// others may read and write what was granted before. Throws out_of_memory.
    void grow(std::uint64_t bytes);
    /// Releases the addresses past the end, and stops counting: from here on the memory belongs to the caller.
    void settle() noexcept;

    void* data() const noexcept { return memory_; }
    std::uint64_t size() const noexcept { return used_; }
    std::uint64_t reserved() const noexcept { return reserved_; }

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
        constexpr std::uint64_t max = ~std::uint64_t{0} >> 1;
        memory_.grow(size > max / sizeof(T) ? max : size * sizeof(T));
    }
    void settle() noexcept { memory_.settle(); }

    T* data() const noexcept { return static_cast<T*>(memory_.data()); }
    std::uint64_t size() const noexcept { return memory_.size() / sizeof(T); }
    /// What it can grow to.
    std::uint64_t capacity() const noexcept { return memory_.reserved() / sizeof(T); }
    bool empty() const noexcept { return size() == 0; }
    std::span<T> span() const noexcept { return {data(), size()}; }
    T& operator[](std::uint64_t i) const noexcept { return data()[i]; }

  private:
    reserved_memory memory_;
};

}  // namespace quern::io
