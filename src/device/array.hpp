// SPDX-License-Identifier: Apache-2.0
// Arrays of a place: uninitialised memory that counts against the place's budget and is freed with its owner; and the
// few functions with which code for every place creates, fills and reads them.
//
//     auto keys = array_from(place, std::span<const float>(host));   // host → place
//     sort_keys(place, keys.span());
//     std::vector<float> sorted = to_host(place, keys.span());       // place → host, synchronises
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "device/span.hpp"
#include "quern/base/error.hpp"

namespace quern {

/// The size of an array in bytes; if it overflows, more than any budget has.
template <class T>
constexpr std::uint64_t array_bytes(std::size_t size) {
    constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max();
    return size > max / sizeof(T) ? max : size * sizeof(T);
}

/// Host memory, aligned to 64 bytes, not initialised. Move-only; its place must outlive it.
template <class T>
class cpu_array {
    static_assert(std::is_trivially_copyable_v<T>, "arrays hold plain values");

  public:
    cpu_array() = default;
    cpu_array(cpu_place& place, std::size_t size, std::string_view what_for = "an array")
        : place_(&place),
          data_(static_cast<T*>(place.allocate(array_bytes<T>(size), what_for))),
          size_(size) {}
    cpu_array(cpu_array&& other) noexcept { swap(other); }
    cpu_array& operator=(cpu_array&& other) noexcept {
        cpu_array(std::move(other)).swap(*this);
        return *this;
    }
    ~cpu_array() {
        if (place_ != nullptr) place_->release(data_, size_ * sizeof(T));
    }
    void swap(cpu_array& other) noexcept {
        std::swap(place_, other.place_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::span<T> span() const noexcept { return {data_, size_}; }

  private:
    cpu_place* place_ = nullptr;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Device memory, stream-ordered, not initialised. Move-only; its place must outlive it.
template <class T>
class cuda_array {
    static_assert(std::is_trivially_copyable_v<T>, "arrays hold plain values");

  public:
    cuda_array() = default;
    cuda_array(cuda_place& place, std::size_t size, std::string_view what_for = "an array")
        : place_(&place),
          data_(static_cast<T*>(place.allocate(array_bytes<T>(size), what_for))),
          size_(size) {}
    cuda_array(cuda_array&& other) noexcept { swap(other); }
    cuda_array& operator=(cuda_array&& other) noexcept {
        cuda_array(std::move(other)).swap(*this);
        return *this;
    }
    ~cuda_array() {
        if (place_ != nullptr) place_->release(data_, size_ * sizeof(T));
    }
    void swap(cuda_array& other) noexcept {
        std::swap(place_, other.place_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    device_span<T> span() const noexcept { return {data_, size_}; }

  private:
    cuda_place* place_ = nullptr;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

template <class Place>
struct memory_of;
template <>
struct memory_of<cpu_place> {
    template <class T>
    using array = cpu_array<T>;
    template <class T>
    using span = std::span<T>;
};
template <>
struct memory_of<cuda_place> {
    template <class T>
    using array = cuda_array<T>;
    template <class T>
    using span = device_span<T>;
};
/// The array and span types of a place, for code written once for every place.
template <class Place, class T>
using array_on = typename memory_of<Place>::template array<T>;
template <class Place, class T>
using span_on = typename memory_of<Place>::template span<T>;

template <class T, class Place>
array_on<Place, T> make_array(Place& place, std::size_t size, std::string_view what_for = "an array") {
    return array_on<Place, T>(place, size, what_for);
}

inline void check_copy(std::size_t from, std::size_t to) {
    if (from != to) {
        throw usage_error("a copy of " + std::to_string(from) + " values into " + std::to_string(to));
    }
}

/// Host → place. Throws usage_error if the sizes differ.
template <class T>
void copy_in(cpu_place&, std::span<const T> from, std::span<T> to) {
    check_copy(from.size(), to.size());
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}
template <class T>
void copy_in(cuda_place& place, std::span<const T> from, device_span<T> to) {
    check_copy(from.size(), to.size());
    place.copy_in(to.data(), from.data(), from.size_bytes());
}

/// Place → host. Throws usage_error if the sizes differ. Synchronises.
template <class T>
void copy_out(cpu_place&, std::span<const T> from, std::span<T> to) {
    check_copy(from.size(), to.size());
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
}
template <class T>
void copy_out(cuda_place& place, device_span<const T> from, std::span<T> to) {
    check_copy(from.size(), to.size());
    place.copy_out(to.data(), from.data(), from.size_bytes());
}

template <class Place, class T>
array_on<Place, T> array_from(Place& place, std::span<const T> host, std::string_view what_for = "an array") {
    auto made = make_array<T>(place, host.size(), what_for);
    copy_in<T>(place, host, made.span());
    return made;
}

template <class T>
std::vector<std::remove_const_t<T>> to_host(cpu_place&, std::span<T> values) {
    return {values.begin(), values.end()};
}
template <class T>
std::vector<std::remove_const_t<T>> to_host(cuda_place& place, device_span<T> values) {
    std::vector<std::remove_const_t<T>> host(values.size());
    place.copy_out(host.data(), values.data(), values.size_bytes());
    return host;
}

}  // namespace quern
