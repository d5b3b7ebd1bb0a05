// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_place.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "device/cuda/check.cuh"
#include "device/cuda/shared_pages.hpp"
#include "device/cuda/staging.cuh"
#include "quern/base/error.hpp"

namespace quern {
namespace cuda {

void check(cudaError_t error, const char* call, const char* file, int line) {
    if (error == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // leaves no error for the next caller
    std::string_view where(file);
    for (const std::string_view folder :
         {"/src/", "/tests/", "/bench/"}) {  // of the repository, wherever it was built
        if (const auto root = where.rfind(folder); root != std::string_view::npos)
            where.remove_prefix(root + 1);
    }
    throw device_error(std::string(call) + " failed: " + cudaGetErrorString(error) + " (" +
                       std::string(where) + ":" + std::to_string(line) + ")");
}

}  // namespace cuda

namespace {

constexpr std::size_t staged_from = 8 << 20;  // below, waking threads costs more than they save
/// Opening the staging costs as much as the driver's slower path loses for so many bytes.
constexpr std::size_t staged_after = 64 << 20;
constexpr std::size_t landing_offset = 64;       // after the copy of the fault word, on a separate cache line
constexpr std::size_t landing_bytes = 64 << 10;  // the host copies these in less time than a call takes

cudaMemPool_t pool_of(void* pool) {
    return static_cast<cudaMemPool_t>(pool);
}

/// Whether the device can access this memory directly: pinned, or managed.
bool reaches(const void* first, std::size_t bytes) {
    const auto pinned = [](const void* at) {
        cudaPointerAttributes attributes{};
        QUERN_CHECK(cudaPointerGetAttributes(&attributes, at));
        return attributes.type != cudaMemoryTypeUnregistered;
    };
    return pinned(first) && pinned(static_cast<const char*>(first) + bytes - 1);
}

}  // namespace

cuda_place::cuda_place(context ctx, int ordinal) : ctx_(std::move(ctx)), ordinal_(ordinal) {
    QUERN_CHECK(cudaSetDevice(ordinal));
    int multiprocessors = 0, l2_bytes = 0;
    QUERN_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
    QUERN_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, ordinal));
    multiprocessors_ = static_cast<unsigned>(multiprocessors);
    l2_bytes_ = static_cast<std::size_t>(l2_bytes);
    abilities_ = cuda::abilities_of(ordinal);
    std::size_t free = 0, total = 0;
    QUERN_CHECK(cudaMemGetInfo(&free, &total));
    memory_ =
        std::make_unique<memory_budget>(ctx_.gpu_memory_bytes != 0 ? ctx_.gpu_memory_bytes : free / 10 * 9);
    QUERN_CHECK(cudaStreamCreateWithFlags(&handles_.stream, cudaStreamNonBlocking));
    cudaMemPoolProps wanted{};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location = {cudaMemLocationTypeDevice, ordinal};
    cudaMemPool_t pool = nullptr;
    QUERN_CHECK(cudaMemPoolCreate(&pool, &wanted));
    handles_.pool = pool;
    std::uint64_t keep =
        std::numeric_limits<std::uint64_t>::max();  // releases memory when the place is destroyed
    QUERN_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    QUERN_CHECK(cudaMalloc(&handles_.fault_word, sizeof(std::uint64_t)));
    QUERN_CHECK(cudaMallocHost(&handles_.fault_seen, landing_offset + landing_bytes));
    fill_bytes(handles_.fault_word, 0xff, sizeof(std::uint64_t));
}

// A destructor reports nothing; anything that fails here has failed, and been thrown, before.
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
    cudaStreamSynchronize(handles_.stream);  // before its staging is destroyed
}

void cuda_place::make_current() const {
    int current = -1;
    QUERN_CHECK(cudaGetDevice(&current));
    if (current != ordinal_) QUERN_CHECK(cudaSetDevice(ordinal_));
}

CUstream_st* cuda_place::stream() const {
    make_current();
    return handles_.stream;
}

void cuda_place::synchronise() {
    QUERN_CHECK(cudaMemcpyAsync(handles_.fault_seen, handles_.fault_word, sizeof(std::uint64_t),
                                cudaMemcpyDeviceToHost, stream()));
    QUERN_CHECK(cudaStreamSynchronize(handles_.stream));
    const std::uint64_t seen = *handles_.fault_seen;
    if (seen == no_fault) return;
    fill_bytes(handles_.fault_word, 0xff, sizeof(std::uint64_t));
    throw_packed_fault(seen);
}

void* cuda_place::allocate(std::size_t bytes, std::string_view what_for) {
    if (bytes == 0) return nullptr;
    memory_->take(bytes, what_for);
    try {
        if (void* memory = try_allocate(bytes)) return memory;
        // Released memory may be fragmented: return it to the device and allocate again.
        QUERN_CHECK(cudaStreamSynchronize(handles_.stream));
        QUERN_CHECK(cudaMemPoolTrimTo(pool_of(handles_.pool), 0));
        if (void* memory = try_allocate(bytes)) return memory;
        std::size_t free = 0, total = 0;
        QUERN_CHECK(cudaMemGetInfo(&free, &total));
        throw out_of_memory(what_for, bytes, free);
    } catch (...) {
        memory_->give_back(bytes);
        throw;
    }
}

void* cuda_place::try_allocate(std::size_t bytes) {
    void* memory = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&memory, bytes, pool_of(handles_.pool), stream());
    if (error == cudaErrorMemoryAllocation) {
        static_cast<void>(cudaGetLastError());
        return nullptr;
    }
    cuda::check(error, "cudaMallocFromPoolAsync", __FILE__, __LINE__);
    return memory;
}

void cuda_place::release(void* memory, std::size_t bytes) noexcept {
    if (memory == nullptr) return;
    // Anything that fails here has failed, and been thrown, before.
    static_cast<void>(cudaSetDevice(ordinal_));  // as make_current(), which throws
    if (cudaFreeAsync(memory, handles_.stream) != cudaSuccess) static_cast<void>(cudaGetLastError());
    memory_->give_back(bytes);
}

cuda_place::staging* cuda_place::staging_for(const void* host, std::size_t bytes) {
    if (bytes < staged_from || reaches(host, bytes)) return nullptr;
    unstaged_bytes_ += bytes;
    if (unstaged_bytes_ <= staged_after) return staging_.get();
    return &staging::of(*this);
}

cuda_place::staging& cuda_place::staging::of(cuda_place& place) {
    if (!place.staging_) place.staging_ = std::make_unique<staging>(place);
    return *place.staging_;
}

void cuda_place::copy_in(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    staging* by = staging_for(from, bytes);
    if (by == nullptr) {
        if (const cuda::unpinned_range direct(from, bytes); direct) {
            QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()));
            // The driver has copied pageable memory by now; it may still be reading pinned memory.
            if (reaches(from, bytes)) QUERN_CHECK(cudaStreamSynchronize(handles_.stream));
            return;
        }
        by = &staging::of(*this);
    }
    by->copy_in(*this, to, from, bytes);
}

void cuda_place::copy_out(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return synchronise();
    if (bytes <= landing_bytes) {  // one wait for this and the fault word
        char* landing = reinterpret_cast<char*>(handles_.fault_seen) + landing_offset;
        QUERN_CHECK(cudaMemcpyAsync(landing, from, bytes, cudaMemcpyDeviceToHost, stream()));
        synchronise();
        std::memcpy(to, landing, bytes);
        return;
    }
    staging* by = staging_for(to, bytes);
    if (by == nullptr) {
        if (const cuda::unpinned_range direct(to, bytes); direct) {
            QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()));
            return synchronise();
        }
        by = &staging::of(*this);
    }
    by->copy_out(*this, to, from, bytes);
    synchronise();
}

void cuda_place::copy_within(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) QUERN_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()));
}

void cuda_place::fill_bytes(void* memory, int byte, std::size_t bytes) {
    if (bytes != 0) QUERN_CHECK(cudaMemsetAsync(memory, byte, bytes, stream()));
}

}  // namespace quern
