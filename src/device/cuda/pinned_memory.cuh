// SPDX-License-Identifier: Apache-2.0
// Host memory that the device reads and writes by itself.
#pragma once

#include <cstddef>

#include "device/cuda/place.hpp"

namespace quern {

/// Uninitialised. Large pages, touched by the run's threads and then pinned: cudaMallocHost takes small ones, one after the other,
/// which takes four times as long. Throws out_of_memory, device_error.
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
