// SPDX-License-Identifier: Apache-2.0
// Memory for the pieces of a file (pages, buffers) that are read or decompressed. Pieces are of similar sizes, and
// fresh memory costs the system more than the decompression of some codecs: large blocks are reused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "device/cpu/memory_pool.hpp"

namespace quern::io {

/// Blocks for pieces. Large ones are kept until they fit another piece. What is in use and kept never exceeds what was once in
/// use at the same time, but for an eighth; if less is needed later, the rest is freed in small steps. Thread-safe.
class buffer_pool {
  public:
    /// Returns null if the memory cannot be had.
    char* allocate(std::size_t bytes) noexcept {
        if (bytes < large) return static_cast<char*>(blocks_.allocate(bytes, UINT64_MAX));
        const std::lock_guard hold(mutex_);
        in_use_ += bytes;
        recent_ = std::max(in_use_, recent_ - recent_ / 16);
        auto* const made = static_cast<char*>(blocks_.allocate(bytes, recent_ - in_use_));
        if (made == nullptr) in_use_ -= bytes;
        return made;
    }
    /// `bytes` as requested.
    void release(char* memory, std::size_t bytes) noexcept {
        const std::lock_guard hold(mutex_);
        if (bytes >= large) in_use_ -= bytes;
        blocks_.release(memory, bytes);
    }
    std::uint64_t kept() const noexcept { return blocks_.kept(); }

  private:
    static constexpr std::size_t large = std::size_t{1} << 20;  // smaller ones are not kept

    memory_pool blocks_;
    std::mutex mutex_;                       ///< guards the rest
    std::uint64_t in_use_ = 0, recent_ = 0;  ///< bytes of large pieces, now and lately
};

/// Move-only; gives the memory back to the pool.
class pooled_bytes {
  public:
    pooled_bytes() = default;
    /// Not filled. Throws std::bad_alloc. Without a pool the memory comes from the heap, and goes back to it.
    pooled_bytes(std::shared_ptr<buffer_pool> pool, std::size_t size) : pool_(std::move(pool)), size_(size) {
        data_ = pool_ ? pool_->allocate(size) : static_cast<char*>(::operator new(size, std::nothrow));
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
        if (pool_ && data_ != nullptr) {
            pool_->release(data_, size_);
        } else {
            ::operator delete(data_);
        }
    }

    std::span<char> bytes() const { return {data_, size_}; }

  private:
    void swap(pooled_bytes& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

    std::shared_ptr<buffer_pool> pool_;
    char* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace quern::io
