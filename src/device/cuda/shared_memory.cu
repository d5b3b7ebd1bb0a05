// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "device/cuda/check.cuh"
#include "device/cuda/shared_pages.hpp"
#include "device/input_array.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::size_t shared_from = 64 << 10;  // fewer bytes are copied in less time than they are pinned
constexpr std::uintptr_t alignment = 16;       // kernels read up to so many bytes at once

/// The value of an attribute of the place's device; 0 if the driver does not know it.
int attribute(const cuda_place& place, cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, place.ordinal()) != cudaSuccess)
        static_cast<void>(cudaGetLastError());
    return value;
}

bool shares_host_memory(const cuda_place& place) {
    if (const char* forced = std::getenv("QUERN_CUDA_INTEGRATED")) {
        const std::string_view value(forced);
        if (value != "0" && value != "1")
            throw device_error("QUERN_CUDA_INTEGRATED is \"" + std::string(value) + "\"; expected 0 or 1");
        return value == "1";
    }
    return attribute(place, cudaDevAttrIntegrated) != 0;
}

std::uintptr_t address_of(const void* host) {
    return reinterpret_cast<std::uintptr_t>(host);
}
std::uintptr_t first_page(const void* host) {
    return address_of(host) / cuda::page_bytes() * cuda::page_bytes();
}
std::uintptr_t last_page_end(const void* host, std::size_t bytes) {
    const std::uintptr_t page = cuda::page_bytes();
    return (address_of(host) + bytes + page - 1) / page * page;
}

/// Pages that a file lends may be readable only, which not every device can pin.
bool pin(std::uintptr_t begin, std::uintptr_t end, bool read_only) {
    void* const memory = reinterpret_cast<void*>(begin);  // CUDA's functions do not write it
    constexpr unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
    if (cudaHostRegister(memory, end - begin, flags) == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());
    if (read_only && cudaHostRegister(memory, end - begin, flags | cudaHostRegisterReadOnly) == cudaSuccess)
        return true;
    static_cast<void>(cudaGetLastError());
    return false;
}

void unpin(std::uintptr_t begin) {
    if (cudaHostUnregister(reinterpret_cast<void*>(begin)) != cudaSuccess)
        static_cast<void>(cudaGetLastError());
}

}  // namespace

namespace cuda {

const void* shared_pages::acquire(const void* host, std::size_t bytes, bool read_only) {
    const std::uintptr_t begin = first_page(host), end = last_page_end(host, bytes);
    const std::lock_guard hold(mutex_);
    auto at = first_after(begin);
    if (at == ranges_.end() || at->first >= end) {
        if (!pin(begin, end, read_only)) return nullptr;
        at = ranges_.emplace(begin, range{end, 0}).first;
    } else if (at->first > begin || at->second.end < end) {
        return nullptr;
    }
    void* address = nullptr;
    if (cudaHostGetDevicePointer(&address, const_cast<void*>(host), 0) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        if (at->second.users == 0) {
            unpin(at->first);
            ranges_.erase(at);
        }
        return nullptr;
    }
    ++at->second.users;
    return address;
}

void shared_pages::release(const void* host) noexcept {
    const std::lock_guard hold(mutex_);
    const auto at = first_after(address_of(host));
    if (--at->second.users != 0) return;
    unpin(at->first);
    ranges_.erase(at);
}

}  // namespace cuda

shared_memory::shared_memory(cuda_place& place, const void* host, std::size_t bytes) : place_(&place) {
    if (bytes < shared_from || !shares_host_memory(place)) return;
    if (address_of(host) % alignment != 0) return;
    place.make_current();
    address_ = cuda::shared_pages::of_process().acquire(
        host, bytes, attribute(place, cudaDevAttrHostRegisterReadOnlySupported) != 0);
    if (address_ != nullptr) host_ = host;
}

// A destructor reports nothing; anything that fails here has failed, and been thrown, before.
shared_memory::~shared_memory() {
    if (host_ == nullptr) return;
    static_cast<void>(cudaSetDevice(place_->ordinal()));
    static_cast<void>(cudaDeviceSynchronize());
    cuda::shared_pages::of_process().release(host_);
}

}  // namespace quern
