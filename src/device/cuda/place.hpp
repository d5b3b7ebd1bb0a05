// SPDX-License-Identifier: Apache-2.0
// One CUDA device as a place: a stream of its own (never the default stream), a pool of memory within a budget,
// pinned staging for transfers. Without CUDA types, so that every compiler reads it; a program built without CUDA
// declares it and cannot open one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "device/memory_budget.hpp"
#include "quern/base/context.hpp"

struct CUstream_st;  // what cudaStream_t points to

namespace quern {

/// All work of a place is enqueued on its stream, in order; calls return before it is done unless their contract
/// says that they synchronise. One thread at a time. Every CUDA error is a device_error that names call, file and
/// line, and is cleared.
class cuda_place {
  public:
    /// Opens device `ordinal`. The budget is run.gpu_memory_bytes, or nine tenths of what is free.
    explicit cuda_place(context run, int ordinal = 0);
    cuda_place(const cuda_place&) = delete;  // its arrays point to it
    cuda_place& operator=(const cuda_place&) = delete;
    ~cuda_place();

    const context& run() const noexcept { return run_; }
    int ordinal() const noexcept { return ordinal_; }
    /// The stream; what is enqueued there may be enqueued at once, for the device is made current (below).
    CUstream_st* stream() const;
    /// Makes the device the calling thread's current one, as CUDA wants it for all that is enqueued. Every call of
    /// a place does, so that places of several devices can be used in turn by one thread.
    void make_current() const;
    unsigned multiprocessors() const noexcept { return multiprocessors_; }
    std::size_t l2_bytes() const noexcept { return l2_bytes_; }
    memory_budget& memory() noexcept { return *memory_; }

    /// Waits for all that was enqueued. Throws what the device reports, and invalid_value for the first fault that
    /// kernels noted since (device/fault.hpp); results of the calls before it are then worth nothing. Each fault is
    /// thrown once; the place is usable after it. After an error inside a kernel CUDA refuses all further work of
    /// the process on that device.
    void synchronise();

    /// Stream-ordered memory, aligned to 256 bytes; null for 0 bytes. Arrays call these. Throws out_of_memory where
    /// the budget or the device has less left. What is released is kept for the next array, not given back to the
    /// device before the place closes.
    void* allocate(std::size_t bytes, std::string_view what_for);
    void release(void* memory, std::size_t bytes) noexcept;

    /// Host memory to the device: pinned memory straight, pageable memory through pinned staging on the run's
    /// threads. Returns when `from` may be reused. Throws `interrupted` where the run is to stop.
    void copy_in(void* to, const void* from, std::size_t bytes);
    /// Synchronises, like every transfer to the host.
    void copy_out(void* to, const void* from, std::size_t bytes);
    /// Between two stretches of this device that do not overlap.
    void copy_within(void* to, const void* from, std::size_t bytes);
    void fill_bytes(void* memory, int byte, std::size_t bytes);

    /// Where kernels note a fault: the least packed_fault so far, or no_fault. In device memory.
    std::uint64_t* fault_word() const noexcept { return handles_.fault_word; }

  private:
    struct staging;
    /// How to move so many bytes of this host memory; null: straight.
    staging* staging_for(const void* host, std::size_t bytes);
    void* try_allocate(std::size_t bytes);  ///< null where there is no memory left
    /// What the driver gave, given back together, also where the constructor fails half-way.
    struct handles {
        CUstream_st* stream = nullptr;
        void* pool = nullptr;
        std::uint64_t* fault_word = nullptr;
        std::uint64_t* fault_seen = nullptr;  ///< its copy in pinned host memory, and room for short results
        handles() = default;
        handles(const handles&) = delete;  // one owner
        handles& operator=(const handles&) = delete;
        ~handles();
    };

    context run_;
    int ordinal_;
    unsigned multiprocessors_ = 0;
    std::size_t l2_bytes_ = 0;
    std::unique_ptr<memory_budget> memory_;
    handles handles_;
    std::unique_ptr<staging> staging_;
    std::size_t unstaged_bytes_ = 0;  ///< pageable bytes moved before there was staging
};

}  // namespace quern
