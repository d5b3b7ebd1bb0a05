// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/pinned_memory.cuh"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device/cpu/huge_pages.hpp"
#include "device/cuda/check.cuh"
#include "device/cuda/host_threads.cuh"
#include "quern/base/error.hpp"

namespace quern {

pinned_memory::pinned_memory(const cuda_place& place, std::size_t bytes) {
    if (bytes == 0) return;
    constexpr std::size_t large_page = std::size_t{2} << 20, each = 2 * large_page;
    place.make_current();
    const std::size_t whole = (bytes + large_page - 1) / large_page * large_page;
    data_ = std::aligned_alloc(large_page, whole);
    if (data_ == nullptr) throw out_of_memory("pinned memory for a device", bytes, 0);
    try {
        wish_for_huge_pages(data_, whole);
        on_threads(place, (whole + each - 1) / each, [&](std::size_t t) {
            std::memset(static_cast<char*>(data_) + t * each, 0, std::min(each, whole - t * each));
        });
        QUERN_CHECK(cudaHostRegister(data_, whole, cudaHostRegisterDefault));
        pinned_ = true;
    } catch (...) {
        give_back();
        throw;
    }
}

void pinned_memory::give_back() noexcept {
    if (pinned_) cudaHostUnregister(data_);
    std::free(data_);
}

}  // namespace quern
