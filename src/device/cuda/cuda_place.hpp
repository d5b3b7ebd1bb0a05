// SPDX-License-Identifier: Apache-2.0
// One CUDA device as a place: a separate stream (never the default stream), a memory pool within a budget, pinned
// staging for transfers. Has no CUDA types, so that every compiler can read it; a program built without CUDA declares
// it and cannot open one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "device/cuda/abilities.hpp"
#include "device/memory_budget.hpp"
#include "quern/base/context.hpp"

struct CUstream_st;  // the target of cudaStream_t

namespace quern {

/// All work of a place is enqueued on its stream, in order; calls return before it is done unless their contract says
/// that they synchronise. Use by one thread at a time. Every CUDA error becomes a device_error that names call, file
/// and line, and is cleared.
class cuda_place {
  public:
    /// Opens device `ordinal`. The budget is run.gpu_memory_bytes, or nine tenths of the free memory.
    explicit cuda_place(context ctx, int ordinal = 0);
    cuda_place(const cuda_place&) = delete;  // its arrays point to it
    cuda_place& operator=(const cuda_place&) = delete;
    ~cuda_place();

    const context& ctx() const noexcept { return ctx_; }
    int ordinal() const noexcept { return ordinal_; }
    /// The stream. Work can be enqueued on it immediately, because this makes the device current (below).
    CUstream_st* stream() const;
    /// Makes the device current for the calling thread, as CUDA requires for everything enqueued. Every call of a place
    /// does so, so that one thread can alternate between places of several devices.
    void make_current() const;
    unsigned multiprocessors() const noexcept { return multiprocessors_; }
    std::size_t l2_bytes() const noexcept { return l2_bytes_; }
    /// What the device may do: operations choose their kernels by it.
    const cuda::abilities& abilities() const noexcept { return abilities_; }
    memory_budget& memory() noexcept { return *memory_; }

    /// Waits for everything enqueued. Throws what the device reports, and invalid_value for the first fault that
    /// kernels recorded since (device/fault.hpp); results of the calls before it are then invalid. Each fault is thrown
    /// once; the place is usable afterwards. After an error inside a kernel CUDA refuses all further work of the
    /// process on that device.
    void synchronise();

    /// Stream-ordered memory, aligned to 256 bytes; null for 0 bytes. Called by arrays. Throws out_of_memory if the
    /// budget or the device has less left. Released memory is kept for the next array and returned to the device only
    /// when the place closes.
    void* allocate(std::size_t bytes, std::string_view what_for);
    void release(void* memory, std::size_t bytes) noexcept;

    /// Host memory to the device: pinned memory directly, pageable memory through pinned staging on the context's
    /// threads. Returns when `from` may be reused. Throws `interrupted` if a stop is requested.
    void copy_in(void* to, const void* from, std::size_t bytes);
    /// Synchronises, like every transfer to the host.
    void copy_out(void* to, const void* from, std::size_t bytes);
    /// Between two ranges of this device that do not overlap.
    void copy_within(void* to, const void* from, std::size_t bytes);
    void fill_bytes(void* memory, int byte, std::size_t bytes);

    /// Where kernels record a fault: the smallest packed_fault so far, or no_fault. In device memory.
    std::uint64_t* fault_word() const noexcept { return handles_.fault_word; }

  private:
    struct staging;
    /// The staging for a transfer of that many bytes of this host memory; null: transfer directly.
    staging* staging_for(const void* host, std::size_t bytes);
    void* try_allocate(std::size_t bytes);  ///< null if there is no memory left
    /// The driver's handles, released together, even if the constructor fails half-way.
    struct handles {
        CUstream_st* stream = nullptr;
        void* pool = nullptr;
        std::uint64_t* fault_word = nullptr;
        std::uint64_t* fault_seen = nullptr;  ///< its copy in pinned host memory, and space for short results
        handles() = default;
        handles(const handles&) = delete;  // one owner
        handles& operator=(const handles&) = delete;
        ~handles();
    };

    context ctx_;
    int ordinal_;
    unsigned multiprocessors_ = 0;
    std::size_t l2_bytes_ = 0;
    cuda::abilities abilities_;
    std::unique_ptr<memory_budget> memory_;
    handles handles_;
    std::unique_ptr<staging> staging_;
    std::size_t unstaged_bytes_ = 0;  ///< pageable bytes moved before the staging existed
};

}  // namespace quern
