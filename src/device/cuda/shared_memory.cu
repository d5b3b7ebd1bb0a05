// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "device/cuda/check.cuh"
#include "device/input_array.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::size_t shared_from = 64 << 10;  // fewer bytes are copied in less time than they are pinned

/// The value of an attribute of the place's device; 0 if the driver does not know it.
int attribute(const cuda_place& place, cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, place.ordinal()) != cudaSuccess)
        static_cast<void>(cudaGetLastError());
    return value;
}

/// Only where it is asked for: it has not run on an integrated GPU.
bool shares_host_memory() {
    if (const char* forced = std::getenv("QUERN_CUDA_INTEGRATED")) {
        const std::string_view value(forced);
        if (value != "0" && value != "1")
            throw device_error("QUERN_CUDA_INTEGRATED is \"" + std::string(value) + "\"; expected 0 or 1");
        return value == "1";
    }
    return false;
}

}  // namespace

shared_memory::shared_memory(cuda_place& place, const void* host, std::size_t bytes) : place_(&place) {
    if (bytes < shared_from || !shares_host_memory()) return;
    place.make_current();
    void* const memory = const_cast<void*>(host);  // CUDA's functions do not write it
    // Pages that a file lends may be readable only, which not every driver pins; and a page can be pinned once.
    cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
    if (error != cudaSuccess && attribute(place, cudaDevAttrHostRegisterReadOnlySupported) != 0) {
        static_cast<void>(cudaGetLastError());
        error = cudaHostRegister(memory, bytes, cudaHostRegisterMapped | cudaHostRegisterReadOnly);
    }
    if (error == cudaSuccess) registered_ = memory;
    void* address = nullptr;
    if (error == cudaSuccess) error = cudaHostGetDevicePointer(&address, memory, 0);
    if (error == cudaSuccess)
        address_ = address;
    else
        static_cast<void>(cudaGetLastError());
}

// A destructor reports nothing; anything that fails here has failed, and been thrown, before.
shared_memory::~shared_memory() {
    if (registered_ == nullptr) return;
    static_cast<void>(cudaSetDevice(place_->ordinal()));
    static_cast<void>(cudaDeviceSynchronize());
    if (cudaHostUnregister(registered_) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

}  // namespace quern
