// SPDX-License-Identifier: Apache-2.0
// Which pages of the host's memory the GPUs of this process read in place (input_array.hpp). CUDA refuses to pin a page twice,
// and to copy a range of which only a part is pinned. Pages at the ends of an array hold other data too, so copies of any
// memory have to know what is pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>

namespace quern::cuda {

/// The size of a page of this system.
std::uintptr_t page_bytes();

/// Pinned ranges of whole pages, each used by one or more arrays. They do not overlap. Thread-safe.
class shared_pages {
  public:
    static shared_pages& of_process();

    /// Pins the pages of this memory, or uses them again if all are pinned as one range. Null if the system refuses, or if some
    /// of the pages are pinned. The address is that of the current device. `read_only`: the device can pin pages that may not
    /// be written.
    const void* acquire(const void* host, std::size_t bytes, bool read_only);
    /// For what acquire() returned an address for. The devices have ended their work with it.
    void release(const void* host) noexcept;

  private:
    friend class unpinned_range;
    struct range {
        std::uintptr_t end;
        std::size_t users;
    };
    /// The first range that ends after `begin`.
    std::map<std::uintptr_t, range>::iterator first_after(std::uintptr_t begin);
    bool overlap(const void* host, std::size_t bytes);

    std::shared_mutex mutex_;
    std::map<std::uintptr_t, range> ranges_;  ///< by their begin
};

/// While it lives, no page of this memory becomes pinned. False: some are, so that a copy must go through other memory.
class unpinned_range {
  public:
    unpinned_range(const void* host, std::size_t bytes)
        : hold_(shared_pages::of_process().mutex_), free_(!shared_pages::of_process().overlap(host, bytes)) {}
    explicit operator bool() const noexcept { return free_; }

  private:
    std::shared_lock<std::shared_mutex> hold_;
    bool free_;
};

}  // namespace quern::cuda
