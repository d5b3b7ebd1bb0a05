// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/raw_memory.hpp"

#include <cuda_runtime.h>

#include "device/cuda/caller_order.hpp"
#include "device/cuda/check.cuh"
#include "quern/base/error.hpp"

namespace quern::cuda {
namespace {

/// Makes a device current for the calling thread, and then the one that was: other libraries rely on it.
class current_device {
  public:
    explicit current_device(int ordinal) {
        QUERN_CHECK(cudaGetDevice(&before_));
        QUERN_CHECK(cudaSetDevice(ordinal));
    }
    current_device(const current_device&) = delete;  // restores once
    current_device& operator=(const current_device&) = delete;
    ~current_device() { static_cast<void>(cudaSetDevice(before_)); }

  private:
    int before_ = 0;
};

/// A stream for one transfer, so that it does not wait for the default stream's work.
class transfer_stream {
  public:
    transfer_stream() { QUERN_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    transfer_stream(const transfer_stream&) = delete;  // one owner
    transfer_stream& operator=(const transfer_stream&) = delete;
    ~transfer_stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
    cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace

void wait_for_caller(const data_location& data, CUstream_st* stream) {
    using order = data_location::order;
    if (data.ready == order::complete) return;
    if (data.ready == order::after_device) return QUERN_CHECK(cudaDeviceSynchronize());
    cudaEvent_t event = nullptr;
    QUERN_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cudaError_t error = cudaEventRecord(event, static_cast<cudaStream_t>(data.stream));
    if (error == cudaSuccess) error = cudaStreamWaitEvent(stream, event, 0);
    static_cast<void>(cudaEventDestroy(event));  // it lives until the stream no longer needs it
    check(error, "waiting for the caller's stream", __FILE__, __LINE__);
}
void wait_for_caller(const data_location& data, const cuda_place& place) {
    wait_for_caller(data, place.stream());
}

data_location location_of(const void* address) {
    cudaPointerAttributes attributes{};
    QUERN_CHECK(cudaPointerGetAttributes(&attributes, address));
    if (attributes.type != cudaMemoryTypeDevice) return {};
    return {.ordinal = attributes.device};
}

void* allocate(int ordinal, std::uint64_t bytes) {
    const current_device here(ordinal);
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
        static_cast<void>(cudaGetLastError());
        std::size_t free = 0, total = 0;
        QUERN_CHECK(cudaMemGetInfo(&free, &total));
        throw out_of_memory("a result in the memory of cuda:" + std::to_string(ordinal), bytes, free);
    }
    check(error, "cudaMalloc", __FILE__, __LINE__);
    return memory;
}

// A destructor reports nothing; anything that fails here has failed, and been thrown, before.
void release(int ordinal, void* memory) noexcept {
    int before = 0;
    const bool known = cudaGetDevice(&before) == cudaSuccess;
    static_cast<void>(cudaSetDevice(ordinal));
    static_cast<void>(cudaFree(memory));
    if (known) static_cast<void>(cudaSetDevice(before));
    static_cast<void>(cudaGetLastError());
}

void copy_in(int ordinal, void* to, const void* from, std::size_t bytes) {
    const current_device here(ordinal);
    const transfer_stream stream;
    QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream.get()));
    QUERN_CHECK(cudaStreamSynchronize(stream.get()));
}

void copy_out(const data_location& location, void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const current_device here(location.ordinal);
    const transfer_stream stream;
    wait_for_caller(location, stream.get());
    QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()));
    QUERN_CHECK(cudaStreamSynchronize(stream.get()));
}

}  // namespace quern::cuda
