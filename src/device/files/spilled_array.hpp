// SPDX-License-Identifier: Apache-2.0
// A CPU array that spills if the budget is exhausted: the same algorithm runs, slower, on a mapped scratch file, whose
// pages can be released (mapped_pages.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "device/array.hpp"
#include "device/files/scratch_array.hpp"
#include "quern/base/error.hpp"

namespace quern {

/// Not initialised. Move-only; its place must outlive it.
template <class T>
class spilled_array {
  public:
    spilled_array() = default;
    /// In memory if `left_over` bytes of the place's budget stay free, by default a quarter of the budget; a small
    /// array if it fits at all. Throws io_error if the scratch folder is full.
    spilled_array(cpu_place& place, std::size_t size, std::string_view what_for = "an array")
        : spilled_array(place, size, what_for, place.memory().limit() / 4) {}
    spilled_array(cpu_place& place, std::size_t size, std::string_view what_for, std::uint64_t left_over)
        : size_(size) {
        constexpr std::uint64_t small = std::uint64_t{256} << 10;
        const std::uint64_t bytes = array_bytes<T>(size), left = place.memory().left();
        if (bytes <= left && (bytes <= small || left - bytes >= left_over)) {
            try {
                memory_ = cpu_array<T>(place, size, what_for);
                data_ = memory_.data();
                return;
            } catch (const out_of_memory&) {  // another thread took the memory meanwhile
            }
        }
        scratch_folder folder(place.ctx());  // the file is unlinked with the folder
        file_ = std::make_unique<scratch_array<T>>(folder, "array", size);
        data_ = file_->span().data();
    }
    spilled_array(spilled_array&& other) noexcept { swap(other); }
    spilled_array& operator=(spilled_array&& other) noexcept {
        spilled_array(std::move(other)).swap(*this);
        return *this;
    }

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::span<T> span() const noexcept { return {data_, size_}; }
    std::uint64_t spilled_bytes() const noexcept { return file_ ? size_ * sizeof(T) : 0; }

  private:
    void swap(spilled_array& other) noexcept {
        memory_.swap(other.memory_);
        file_.swap(other.file_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    cpu_array<T> memory_;
    std::unique_ptr<scratch_array<T>> file_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace quern
