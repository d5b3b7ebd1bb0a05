// SPDX-License-Identifier: Apache-2.0
// What one piece of a file (a page, a buffer) is read or decompressed into. The pieces of a file are of similar sizes, and
// fresh memory costs the system more than the decompression of some codecs: large blocks are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "device/cpu/memory_pool.hpp"

namespace quern::io {

/// Move-only; gives the memory back to the pool. Memory that a pool keeps is freed before it takes more from the system: what
/// is in use and kept never exceeds what was once in use at the same time, but for an eighth.
class pooled_bytes {
  public:
    pooled_bytes() = default;
    /// Not filled. Throws std::bad_alloc.
    pooled_bytes(std::shared_ptr<memory_pool> pool, std::size_t size) : pool_(std::move(pool)), size_(size) {
        constexpr std::size_t large = std::size_t{1} << 20;  // smaller ones do not come from what is kept
        data_ = static_cast<char*>(pool_->allocate(size, size < large ? UINT64_MAX : 0));
        if (data_ == nullptr) throw std::bad_alloc();
    }
    pooled_bytes(pooled_bytes&& other) noexcept { swap(other); }
    pooled_bytes& operator=(pooled_bytes&& other) noexcept {
        pooled_bytes(std::move(other)).swap(*this);
        return *this;
    }
    pooled_bytes(const pooled_bytes&) = delete;  // each block has one owner
    pooled_bytes& operator=(const pooled_bytes&) = delete;
    ~pooled_bytes() {
        if (data_ != nullptr) pool_->release(data_, size_);
    }

    std::span<char> bytes() const { return {data_, size_}; }

  private:
    void swap(pooled_bytes& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    std::shared_ptr<memory_pool> pool_;
    char* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace quern::io
