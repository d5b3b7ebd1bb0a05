// SPDX-License-Identifier: Apache-2.0
// A range of a GPU's memory, as std::span is one of the host's: a separate type, so that confusing the two does not
// compile.
#pragma once

#include <cstddef>
#include <type_traits>

namespace quern {

/// Pointer and length, not owning. Any compiler can read it; only kernels dereference it.
template <class T>
class device_span {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr device_span() = default;
    constexpr device_span(T* data, std::size_t size) : data_(data), size_(size) {}
    template <class U>
        requires std::is_convertible_v<U (*)[], T (*)[]>
    constexpr device_span(device_span<U> other) : data_(other.data()), size_(other.size()) {}

    constexpr T* data() const { return data_; }
    constexpr std::size_t size() const { return size_; }
    constexpr std::size_t size_bytes() const { return size_ * sizeof(T); }
    constexpr bool empty() const { return size_ == 0; }
    constexpr device_span first(std::size_t count) const { return {data_, count}; }
    constexpr device_span subspan(std::size_t offset, std::size_t count) const {
        return {data_ + offset, count};
    }
    constexpr device_span subspan(std::size_t offset) const { return {data_ + offset, size_ - offset}; }

    T& operator[](std::size_t) const = delete;  // the host cannot read it: copy_out first

  private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace quern
