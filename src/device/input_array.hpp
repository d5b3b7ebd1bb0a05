// SPDX-License-Identifier: Apache-2.0
// What an operation reads from the host's memory while it runs. A GPU that shares the host's memory (Jetson, DGX Spark) reads
// it in place; any other gets a copy.
//
//     const input_array<Place, float> x(place, host_values, "a vector");
//     multiply(place, matrix, x.span(), y.span());
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "device/array.hpp"

namespace quern {

/// Host memory at an address of the device, until it ends. Move-only; its place and the memory must outlive it.
class shared_memory {
  public:
    shared_memory() = default;
    /// Null where a copy is needed: the device has its own memory, the system refuses, the bytes are few or do not begin at a
    /// multiple of 16, or some of their pages are in use by another array. With QUERN_CUDA_INTEGRATED=1 in the environment every
    /// device is taken to share the host's memory, for tests: one with its own memory then reads across the bus. With 0 none is.
    shared_memory(cuda_place& place, const void* host, std::size_t bytes);
    shared_memory(shared_memory&& other) noexcept { swap(other); }
    shared_memory& operator=(shared_memory&& other) noexcept {
        shared_memory(std::move(other)).swap(*this);
        return *this;
    }
    /// Waits for the place's work, which may still read.
    ~shared_memory();
    void swap(shared_memory& other) noexcept {
        std::swap(place_, other.place_);
        std::swap(host_, other.host_);
        std::swap(address_, other.address_);
    }

    const void* address() const noexcept { return address_; }

  private:
    cuda_place* place_ = nullptr;
    const void* host_ = nullptr;     ///< null: a copy is needed
    const void* address_ = nullptr;  ///< of the device
};

/// Values in the host's memory, for reading on a place. The place and the values must outlive it, and the values must not
/// change.
template <class Place, class T>
class input_array;

template <class T>
class input_array<cpu_place, T> {
  public:
    input_array() = default;
    input_array(cpu_place& /*place*/, std::span<const T> host, std::string_view /*what_for*/ = {})
        : values_(host) {}

    const T* data() const noexcept { return values_.data(); }
    std::size_t size() const noexcept { return values_.size(); }
    std::span<const T> span() const noexcept { return values_; }

  private:
    std::span<const T> values_;
};

template <class T>
class input_array<cuda_place, T> {
  public:
    input_array() = default;
    /// `lasts`: the values outlive this object; otherwise they are always copied. Throws out_of_memory, device_error.
    input_array(cuda_place& place, std::span<const T> host, std::string_view what_for = "an array",
                bool lasts = true)
        : size_(host.size()) {
        if (lasts) shared_ = shared_memory(place, host.data(), host.size_bytes());
        if (shared_.address() == nullptr) copy_ = array_from(place, host, what_for);
    }

    /// A copy that was made already.
    explicit input_array(cuda_array<T> copy) : copy_(std::move(copy)), size_(copy_.size()) {}
    /// Nothing if the device needs a copy.
    static input_array in_place(cuda_place& place, std::span<const T> host) {
        input_array made;
        made.shared_ = shared_memory(place, host.data(), host.size_bytes());
        if (made.is_in_place()) made.size_ = host.size();
        return made;
    }
    bool is_in_place() const noexcept { return shared_.address() != nullptr; }

    const T* data() const noexcept {
        return shared_.address() != nullptr ? static_cast<const T*>(shared_.address()) : copy_.data();
    }
    std::size_t size() const noexcept { return size_; }
    device_span<const T> span() const noexcept { return {data(), size_}; }

  private:
    shared_memory shared_;
    cuda_array<T> copy_;
    std::size_t size_ = 0;
};

}  // namespace quern
