// SPDX-License-Identifier: Apache-2.0
// row_blocks.hpp's pipe on CUDA: while the host reads one block, the bus copies the next one into pinned memory.
#pragma once

#include <array>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "device/cuda/staging.cuh"
#include "ops/ngram_likelihood/rows/row_blocks.hpp"

namespace quern::ngram_detail {

/// occurrences.hpp's loop on CUDA: one thread per item. Does not synchronise.
template <class Step>
__global__ void item_kernel(std::uint64_t items, Step step) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < items) step(i);
}

template <class Step>
void for_each_item(cuda_place& place, std::uint64_t items, const Step& step) {
    constexpr unsigned threads = 256;
    place.ctx().check_stop();
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(items, threads), threads}), item_kernel<Step>,
                 items, step);
}

template <>
class block_pipe<cuda_place> {
  public:
    static constexpr std::size_t depth = 2;

    block_pipe(cuda_place& place, std::uint64_t words)
        : place_(place), words_(words), pinned_(place, depth * words * sizeof(std::uint64_t)) {
        for (slot& s : slots_) {
            s.on_device = cuda_array<std::uint64_t>(place, words, "rows of n-grams");
            QUERN_CHECK(cudaEventCreateWithFlags(&s.arrived.event, cudaEventDisableTiming));
        }
    }
    /// Waits for transfers in flight.
    ~block_pipe() { cudaStreamSynchronize(place_.stream()); }
    block_pipe(const block_pipe&) = delete;  // owns events
    block_pipe& operator=(const block_pipe&) = delete;

    std::uint64_t* open() { return slots_[sent_ % depth].on_device.data(); }
    void send(std::uint64_t words) {
        const slot& s = slots_[sent_ % depth];
        QUERN_CHECK(cudaMemcpyAsync(here(sent_), s.on_device.data(), words * sizeof(std::uint64_t),
                                    cudaMemcpyDeviceToHost, place_.stream()));
        QUERN_CHECK(cudaEventRecord(s.arrived.event, place_.stream()));
        ++sent_;
    }
    std::uint64_t* receive() {
        QUERN_CHECK(cudaEventSynchronize(slots_[received_ % depth].arrived.event));
        return here(received_++);
    }

  private:
    struct owned_event {
        cudaEvent_t event = nullptr;
        ~owned_event() {
            if (event != nullptr) cudaEventDestroy(event);
        }
    };
    struct slot {
        cuda_array<std::uint64_t> on_device;
        owned_event arrived;
    };
    std::uint64_t* here(std::uint64_t block) const {
        return static_cast<std::uint64_t*>(pinned_.data()) + block % depth * words_;
    }

    cuda_place& place_;
    std::uint64_t words_;
    pinned_memory pinned_;
    std::array<slot, depth> slots_;
    std::uint64_t sent_ = 0, received_ = 0;
};

}  // namespace quern::ngram_detail
