// SPDX-License-Identifier: Apache-2.0
// Preallocated memory for one small object, and an allocator that uses it.
#pragma once

#include <cstddef>
#include <new>

namespace quern::server {

/// Memory for one small object, allocated with the request: passing the response back to the thread of the
/// connections needs it. Without it, running out of memory at that point would lose the response or end the
/// process.
class reserve {
  public:
    void* take(std::size_t bytes) {
        if (bytes > sizeof(memory_) || taken_) return ::operator new(bytes);
        taken_ = true;
        return memory_;
    }
    void give(void* memory) noexcept {
        if (memory == static_cast<void*>(memory_)) {
            taken_ = false;
        } else {
            ::operator delete(memory);
        }
    }

  private:
    alignas(std::max_align_t) std::byte memory_[256] = {};
    bool taken_ = false;
};

template <typename T>
struct reserve_allocator {
    using value_type = T;
    explicit reserve_allocator(reserve& r) noexcept : from(&r) {}
    template <typename U>
    reserve_allocator(const reserve_allocator<U>& other) noexcept : from(other.from) {}
    T* allocate(std::size_t n) { return static_cast<T*>(from->take(n * sizeof(T))); }
    void deallocate(T* memory, std::size_t) noexcept { from->give(memory); }
    template <typename U>
    bool operator==(const reserve_allocator<U>& other) const noexcept {
        return from == other.from;
    }
    reserve* from;
};

}  // namespace quern::server
