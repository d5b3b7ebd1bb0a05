// SPDX-License-Identifier: Apache-2.0
// The buffer in which readers collect raw bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "io/corpus/record_reader.hpp"

namespace quern::io {

/// Bytes with spare capacity, not cleared when it grows: memory that is not filled is not touched.
class byte_buffer {
  public:
    std::string_view bytes() const { return {data_.get(), size_}; }
    std::size_t size() const { return size_; }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        auto larger = std::make_unique_for_overwrite<char[]>(capacity + unit_padding);
        if (size_ != 0) std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = capacity;
    }
    void append(std::string_view more) {
        reserve(size_ + more.size());
        if (!more.empty()) std::memcpy(data_.get() + size_, more.data(), more.size());
        size_ += more.size();
    }
    std::span<char> budget() { return {data_.get() + size_, capacity_ - size_}; }
    void grew(std::size_t by) { size_ += by; }
    void truncate(std::size_t size) { size_ = size; }
    /// The padding is read, but its value never matters; clearing it keeps memory checkers quiet.
    void seal() { std::memset(data_.get() + size_, 0, unit_padding); }

  private:
    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace quern::io
