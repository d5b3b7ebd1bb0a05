// SPDX-License-Identifier: Apache-2.0
// Memory kept ready for one small object, and an allocator that takes it.
#pragma once

#include <cstddef>
#include <new>

namespace quern::server {

/// Room for one small object, given out once: what an answer needs on its way back to the thread of the connections, kept
/// ready from the time of the request. Out of memory there the answer would be lost, or the process with it.
class reserve {
  public:
    void* take(std::size_t bytes) {
        if (bytes > sizeof(room_) || taken_) return ::operator new(bytes);
        taken_ = true;
        return room_;
    }
    void give(void* place) noexcept {
        if (place == static_cast<void*>(room_)) {
            taken_ = false;
        } else {
            ::operator delete(place);
        }
    }

  private:
    alignas(std::max_align_t) std::byte room_[256] = {};
    bool taken_ = false;
};

template <typename T>
struct reserve_allocator {
    using value_type = T;
    explicit reserve_allocator(reserve& r) noexcept : from(&r) {}
    template <typename U>
    reserve_allocator(const reserve_allocator<U>& other) noexcept : from(other.from) {}
    T* allocate(std::size_t n) { return static_cast<T*>(from->take(n * sizeof(T))); }
    void deallocate(T* place, std::size_t) noexcept { from->give(place); }
    template <typename U>
    bool operator==(const reserve_allocator<U>& other) const noexcept {
        return from == other.from;
    }
    reserve* from;
};

}  // namespace quern::server
