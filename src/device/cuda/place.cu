// SPDX-License-Identifier: Apache-2.0
// Transfers of pageable memory go through two pinned buffers: while the device copies one, threads of the CPU
// fill or empty the other. Straight from pageable memory the driver does the same with one thread, at a sixth of
// the bus.
#include "device/cuda/place.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "device/cpu/threads.hpp"
#include "device/cuda/check.cuh"
#include "quern/base/error.hpp"

namespace quern {
namespace cuda {

void check(cudaError_t error, const char* call, const char* file, int line) {
    if (error == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // the next caller starts clean
    std::string_view where(file);
    if (const auto root = where.rfind("/src/"); root != std::string_view::npos) where.remove_prefix(root + 1);
    throw device_error(std::string(call) + " failed: " + cudaGetErrorString(error) + " (" +
                       std::string(where) + ":" + std::to_string(line) + ")");
}

}  // namespace cuda

namespace {

constexpr std::size_t staged_from = 256 << 10;    // below, the driver's own way is quicker
constexpr std::size_t staging_bytes = 16 << 20;   // long enough that starting a copy does not show
constexpr std::size_t copied_by_one = 512 << 10;  // bytes that one thread moves at a time
constexpr std::size_t short_bytes = 64;  // counts and sums: they come with the fault word, in one wait

cudaMemPool_t pool_of(void* pool) {
    return static_cast<cudaMemPool_t>(pool);
}

void copy_on_threads(const context& run, void* to, const void* from, std::size_t bytes) {
    run_parallel(run, [&] {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, bytes, copied_by_one), [&](const auto& range) {
            std::memcpy(static_cast<char*>(to) + range.begin(),
                        static_cast<const char*>(from) + range.begin(), range.size());
        });
    });
}

}  // namespace

struct cuda_place::staging {
    struct half {
        void* pinned = nullptr;
        cudaEvent_t done = nullptr;
    };
    half halves[2];

    staging() {
        for (half& h : halves) {
            QUERN_CHECK(cudaMallocHost(&h.pinned, staging_bytes));
            QUERN_CHECK(cudaEventCreateWithFlags(&h.done, cudaEventDisableTiming));
        }
    }
    staging(const staging&) = delete;  // owns pinned memory
    staging& operator=(const staging&) = delete;
    ~staging() {
        for (half& h : halves) {
            cudaFreeHost(h.pinned);
            cudaEventDestroy(h.done);
        }
    }
};

cuda_place::cuda_place(context run, int ordinal) : run_(std::move(run)), ordinal_(ordinal) {
    QUERN_CHECK(cudaSetDevice(ordinal));
    cudaDeviceProp properties{};
    QUERN_CHECK(cudaGetDeviceProperties(&properties, ordinal));
    multiprocessors_ = static_cast<unsigned>(properties.multiProcessorCount);
    l2_bytes_ = static_cast<std::size_t>(properties.l2CacheSize);
    std::size_t free = 0, total = 0;
    QUERN_CHECK(cudaMemGetInfo(&free, &total));
    memory_ =
        std::make_unique<memory_budget>(run_.gpu_memory_bytes != 0 ? run_.gpu_memory_bytes : free / 10 * 9);
    QUERN_CHECK(cudaStreamCreateWithFlags(&handles_.stream, cudaStreamNonBlocking));
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location = {cudaMemLocationTypeDevice, ordinal};
    cudaMemPool_t pool = nullptr;
    QUERN_CHECK(cudaMemPoolCreate(&pool, &wanted));
    handles_.pool = pool;
    std::uint64_t keep = UINT64_MAX;  // memory goes back when the place goes
    QUERN_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    QUERN_CHECK(cudaMalloc(&handles_.fault_word, sizeof(std::uint64_t)));
    QUERN_CHECK(cudaMallocHost(&handles_.fault_seen, sizeof(std::uint64_t) + short_bytes));
    fill_bytes(handles_.fault_word, 0xff, sizeof(std::uint64_t));
}

// A destructor reports nothing; what fails here has failed, and been thrown, before.
cuda_place::handles::~handles() {
    if (stream != nullptr) cudaStreamSynchronize(stream);
    cudaFree(fault_word);
    cudaFreeHost(fault_seen);
    if (pool != nullptr) cudaMemPoolDestroy(pool_of(pool));
    if (stream != nullptr) cudaStreamDestroy(stream);
    static_cast<void>(cudaGetLastError());
}

cuda_place::~cuda_place() {
    cudaSetDevice(ordinal_);
}

void cuda_place::synchronise() {
    QUERN_CHECK(cudaMemcpyAsync(handles_.fault_seen, handles_.fault_word, sizeof(std::uint64_t),
                                cudaMemcpyDeviceToHost, handles_.stream));
    QUERN_CHECK(cudaStreamSynchronize(handles_.stream));
    if (*handles_.fault_seen == no_fault) return;
    fill_bytes(handles_.fault_word, 0xff, sizeof(std::uint64_t));
    throw_packed_fault(*handles_.fault_seen);
}

void* cuda_place::allocate(std::size_t bytes, std::string_view what_for) {
    if (bytes == 0) return nullptr;
    memory_->take(bytes, what_for);
    void* memory = nullptr;
    const cudaError_t error =
        cudaMallocFromPoolAsync(&memory, bytes, pool_of(handles_.pool), handles_.stream);
    if (error == cudaSuccess) return memory;
    memory_->give_back(bytes);
    if (error != cudaErrorMemoryAllocation) QUERN_CHECK(error);
    static_cast<void>(cudaGetLastError());
    std::size_t free = 0, total = 0;
    QUERN_CHECK(cudaMemGetInfo(&free, &total));
    throw out_of_memory(what_for, bytes, free);
}

void cuda_place::release(void* memory, std::size_t bytes) noexcept {
    if (memory == nullptr) return;
    cudaFreeAsync(memory, handles_.stream);
    memory_->give_back(bytes);
}

void cuda_place::copy_in(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    if (bytes < staged_from) {
        QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, handles_.stream));
        return;  // of pageable memory the driver has a copy now
    }
    if (!staging_) staging_ = std::make_unique<staging>();
    for (std::size_t at = 0, turn = 0; at < bytes; at += staging_bytes, ++turn) {
        auto& half = staging_->halves[turn % 2];
        const std::size_t count = std::min(staging_bytes, bytes - at);
        QUERN_CHECK(cudaEventSynchronize(half.done));
        copy_on_threads(run_, half.pinned, static_cast<const char*>(from) + at, count);
        QUERN_CHECK(cudaMemcpyAsync(static_cast<char*>(to) + at, half.pinned, count, cudaMemcpyHostToDevice,
                                    handles_.stream));
        QUERN_CHECK(cudaEventRecord(half.done, handles_.stream));
    }
}

void cuda_place::copy_out(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0 && bytes <= short_bytes) {
        QUERN_CHECK(
            cudaMemcpyAsync(handles_.fault_seen + 1, from, bytes, cudaMemcpyDeviceToHost, handles_.stream));
        synchronise();
        std::memcpy(to, handles_.fault_seen + 1, bytes);
        return;
    }
    if (bytes != 0 && bytes < staged_from) {
        QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, handles_.stream));
    }
    if (bytes < staged_from) return synchronise();
    if (!staging_) staging_ = std::make_unique<staging>();
    const auto enqueue = [&](std::size_t at, std::size_t turn) {
        auto& half = staging_->halves[turn % 2];
        QUERN_CHECK(cudaMemcpyAsync(half.pinned, static_cast<const char*>(from) + at,
                                    std::min(staging_bytes, bytes - at), cudaMemcpyDeviceToHost,
                                    handles_.stream));
        QUERN_CHECK(cudaEventRecord(half.done, handles_.stream));
    };
    enqueue(0, 0);
    for (std::size_t at = 0, turn = 0; at < bytes; at += staging_bytes, ++turn) {
        if (at + staging_bytes < bytes) enqueue(at + staging_bytes, turn + 1);
        auto& half = staging_->halves[turn % 2];
        QUERN_CHECK(cudaEventSynchronize(half.done));
        copy_on_threads(run_, static_cast<char*>(to) + at, half.pinned, std::min(staging_bytes, bytes - at));
    }
    synchronise();
}

void cuda_place::copy_within(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, handles_.stream));
}

void cuda_place::fill_bytes(void* memory, int byte, std::size_t bytes) {
    if (bytes != 0) QUERN_CHECK(cudaMemsetAsync(memory, byte, bytes, handles_.stream));
}

}  // namespace quern
