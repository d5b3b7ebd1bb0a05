// SPDX-License-Identifier: Apache-2.0
// Host memory that the device accesses directly.
#pragma once

#include <cstddef>

#include "device/cuda/cuda_place.hpp"

namespace quern {

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

}  // namespace quern
