// SPDX-License-Identifier: Apache-2.0
// A device array that grows and keeps its contents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "device/array.hpp"

namespace quern {

/// Doubles its capacity while memory allows, so that growing costs a constant number of copies a value.
template <class T>
class growing_array {
  public:
    /// Makes room for `size` values and keeps the first `used`. While it grows, the old and the new memory exist. Throws
    /// out_of_memory; then nothing changes.
    void reserve(cuda_place& place, std::size_t size, std::size_t used, std::string_view what_for) {
        if (size <= array_.size()) return;
        constexpr std::size_t first = 1024;
        const std::size_t twice = std::max({size, 2 * array_.size(), first});
        const auto fit =
            static_cast<std::size_t>(place.memory().left() / 2 / sizeof(T));  // half is for others
        cuda_array<T> grown(place, std::clamp(twice, size, std::max(size, fit)), what_for);
        if (used != 0) place.copy_within(grown.data(), array_.data(), used * sizeof(T));
        array_ = std::move(grown);
    }
    /// Without its contents: the old memory is released first.
    void replace(cuda_place& place, std::size_t size, std::string_view what_for) {
        if (size <= array_.size()) return;
        array_ = {};
        array_ = cuda_array<T>(place, size + size / 4, what_for);
    }

    device_span<T> span() const { return array_.span(); }
    device_span<T> first(std::size_t count) const { return array_.span().first(count); }
    T* data() const { return array_.data(); }
    std::uint64_t bytes() const { return array_.span().size_bytes(); }

  private:
    cuda_array<T> array_;
};

}  // namespace quern
