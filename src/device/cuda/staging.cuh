// SPDX-License-Identifier: Apache-2.0
// Pinned memory through which a place moves pageable memory. Only several threads together saturate the bus: one copies
// 10 GB/s into pinned memory, the bus transfers 55. So the transfer is cut into chunks, which threads take as they
// become free. Each thread has two slots, fills one while the device empties the other, and waits for no other thread.
// The driver, given pageable memory, does the same with one thread.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "device/cuda/cuda_place.hpp"

namespace quern {

// Host memory that the device accesses directly.

/// Uninitialised. Large pages, touched by the context's threads and then pinned: cudaMallocHost uses small ones, one
/// after the other, which takes four times as long. Throws out_of_memory, device_error.
class pinned_memory {
  public:
    pinned_memory() = default;
    pinned_memory(const cuda_place& place, std::size_t bytes);
    pinned_memory(const pinned_memory&) = delete;  // owns memory
    pinned_memory& operator=(const pinned_memory&) = delete;
    ~pinned_memory() { give_back(); }

    void* data() const noexcept { return data_; }

  private:
    void give_back() noexcept;

    void* data_ = nullptr;
    bool pinned_ = false;
};

struct cuda_place::staging {
    explicit staging(const cuda_place& place);
    staging(const staging&) = delete;  // owns pinned memory
    staging& operator=(const staging&) = delete;
    ~staging();
    /// The place's buffer; the first call makes it.
    static staging& of(cuda_place& place);

    /// Returns when all of `from` has been copied into pinned memory or further.
    void copy_in(const cuda_place& place, void* to, const void* from, std::size_t bytes);
    /// Returns when all of `to` is written.
    void copy_out(const cuda_place& place, void* to, const void* from, std::size_t bytes);

  private:
    struct slot {
        void* pinned = nullptr;
        cudaEvent_t done = nullptr;  ///< the last copy from or to this slot
    };
    std::size_t threads_for(std::size_t bytes) const;
    void give_back() noexcept;

    pinned_memory memory_;
    std::vector<slot> slots_;  ///< two for each thread
};

}  // namespace quern
