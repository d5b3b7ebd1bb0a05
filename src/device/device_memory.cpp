// SPDX-License-Identifier: Apache-2.0
#include "quern/base/device_memory.hpp"

#include <utility>

#include "device/cuda/raw_memory.hpp"
#include "device/place.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

[[noreturn]] void refuse_without_cuda() {
    throw device_error("memory of a GPU was requested, but this program was built without CUDA");
}

}  // namespace

std::string name_of(const data_location& location) {
    return location.on_device() ? "cuda:" + std::to_string(location.ordinal) : "the host";
}

bool has_device_memory() noexcept {
    return has_cuda;
}

data_location location_of(const void* address) {
    if constexpr (has_cuda) return cuda::location_of(address);
    refuse_without_cuda();
}

void copy_to_host(const data_location& from, const void* data, std::span<std::byte> to) {
    if constexpr (has_cuda)
        cuda::copy_out(from, to.data(), data, to.size());
    else
        refuse_without_cuda();
}

device_memory::device_memory(int ordinal, std::uint64_t bytes) : ordinal_(ordinal), bytes_(bytes) {
    if constexpr (has_cuda) {
        if (bytes != 0) data_ = cuda::allocate(ordinal, bytes);
    } else {
        refuse_without_cuda();
    }
}

device_memory::~device_memory() {
    if constexpr (has_cuda) {
        if (data_ != nullptr) cuda::release(ordinal_, data_);
    }
}

void device_memory::swap(device_memory& other) noexcept {
    std::swap(ordinal_, other.ordinal_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
}

void device_memory::copy_in(std::span<const std::byte> from) {
    if (from.size() > bytes_)
        throw usage_error("a copy of " + std::to_string(from.size()) + " bytes into " +
                          std::to_string(bytes_));
    if constexpr (has_cuda) {
        if (!from.empty()) cuda::copy_in(ordinal_, data_, from.data(), from.size());
    }
}

}  // namespace quern
