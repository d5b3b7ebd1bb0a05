// SPDX-License-Identifier: Apache-2.0
// Reuses large blocks of memory. A fresh page costs the system a fault and its clearing, on a virtual machine several
// times the operation's own work. An operation that is called again and again (the runs of a sort beyond memory) would
// spend most of its time there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace quern {

/// Keeps large released blocks until they fit another request or the pool is destroyed. Thread-safe.
class memory_pool {
  public:
    memory_pool() = default;
    memory_pool(const memory_pool&) = delete;  // each block has one owner
    memory_pool& operator=(const memory_pool&) = delete;
    ~memory_pool() { keep_at_most(0); }

    /// Aligned to 64 bytes, large blocks in huge pages if the system grants them; null if there is no memory. At most
    /// `may_keep` bytes stay kept in addition.
    void* allocate(std::size_t bytes, std::uint64_t may_keep) noexcept;
    /// `bytes` as requested.
    void release(void* memory, std::size_t bytes) noexcept;
    /// Bytes of the blocks kept for reuse.
    std::uint64_t kept() const noexcept { return kept_bytes_.load(std::memory_order_relaxed); }

  private:
    struct block {
        void* memory;
        std::size_t bytes;
    };
    void* allocate_small(std::size_t bytes, std::uint64_t may_keep) noexcept;
    void keep_at_most(std::uint64_t bytes) noexcept;

    std::mutex mutex_;
    std::vector<block> kept_;
    std::atomic<std::uint64_t> kept_bytes_{0};  ///< written under the mutex
};

}  // namespace quern
