// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/staging.cuh"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "device/cpu/huge_pages.hpp"
#include "device/cpu/threads.hpp"
#include "device/cuda/check.cuh"
#include "quern/base/error.hpp"

namespace quern {
namespace {

// Measured on one H200 and 16 cores (docs/places.md): more threads, or smaller slots, spend their time in the driver.
constexpr std::size_t slot_bytes = 4 << 20;
constexpr unsigned most_threads = 8;
constexpr std::size_t bytes_a_thread = 4 << 20;  // fewer do not pay for waking it
constexpr std::size_t least_step = 512 << 10;
constexpr std::size_t large_page = 2 << 20;

/// Chunks of a transfer, taken by threads as they are free.
class chunks {
  public:
    chunks(std::size_t bytes, std::size_t threads)
        : bytes_(bytes), step_(std::clamp(bytes / (4 * threads), least_step, slot_bytes)) {}
    struct chunk {
        std::size_t begin, size;  ///< size 0: there are no more
    };
    chunk take() {
        const std::size_t begin = next_.fetch_add(step_, std::memory_order_relaxed);
        return {begin, begin < bytes_ ? std::min(step_, bytes_ - begin) : 0};
    }

  private:
    std::size_t bytes_, step_;
    std::atomic<std::size_t> next_{0};
};

template <class Work>
void on_threads(const cuda_place& place, std::size_t threads, const Work& work) {
    run_parallel(place.run(), [&] {
        tbb::parallel_for(
            std::size_t{0}, threads,
            [&](std::size_t t) {
                place.make_current();
                work(t);
            },
            tbb::simple_partitioner());
    });
}

}  // namespace

cuda_place::staging::staging(const cuda_place& place)
    : slots_(2 * std::size_t{std::min(place.run().thread_count(), most_threads)}) {
    place.make_current();
    try {
        // cudaMallocHost takes small pages, one after the other: four times as long.
        const std::size_t bytes = slots_.size() * slot_bytes;
        memory_ = std::aligned_alloc(large_page, bytes);
        if (memory_ == nullptr) throw out_of_memory("the staging of transfers", bytes, 0);
        wish_for_huge_pages(memory_, bytes);
        on_threads(place, slots_.size() / 2, [&](std::size_t t) {
            std::memset(static_cast<char*>(memory_) + 2 * t * slot_bytes, 0, 2 * slot_bytes);
        });
        QUERN_CHECK(cudaHostRegister(memory_, bytes, cudaHostRegisterDefault));
        pinned_ = true;
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            slots_[s].pinned = static_cast<char*>(memory_) + s * slot_bytes;
            QUERN_CHECK(cudaEventCreateWithFlags(&slots_[s].done, cudaEventDisableTiming));
        }
    } catch (...) {
        give_back();
        throw;
    }
}

cuda_place::staging::~staging() {
    give_back();
}

void cuda_place::staging::give_back() noexcept {
    for (const slot& s : slots_) {
        if (s.done != nullptr) cudaEventDestroy(s.done);
    }
    if (pinned_) cudaHostUnregister(memory_);
    std::free(memory_);
}

std::size_t cuda_place::staging::threads_for(std::size_t bytes) const {
    return std::clamp<std::size_t>(bytes / bytes_a_thread, 1, slots_.size() / 2);
}

void cuda_place::staging::copy_in(const cuda_place& place, void* to, const void* from, std::size_t bytes) {
    const std::size_t threads = threads_for(bytes);
    chunks all(bytes, threads);
    on_threads(place, threads, [&](std::size_t t) {
        for (std::size_t turn = 0;; turn ^= 1) {
            const auto [begin, size] = all.take();
            if (size == 0) return;
            place.run().check_stop();
            const slot& mine = slots_[2 * t + turn];
            QUERN_CHECK(cudaEventSynchronize(mine.done));
            std::memcpy(mine.pinned, static_cast<const char*>(from) + begin, size);
            QUERN_CHECK(cudaMemcpyAsync(static_cast<char*>(to) + begin, mine.pinned, size,
                                        cudaMemcpyHostToDevice, place.stream()));
            QUERN_CHECK(cudaEventRecord(mine.done, place.stream()));
        }
    });
}

void cuda_place::staging::copy_out(const cuda_place& place, void* to, const void* from, std::size_t bytes) {
    const std::size_t threads = threads_for(bytes);
    chunks all(bytes, threads);
    on_threads(place, threads, [&](std::size_t t) {
        const auto start = [&](const slot& into) {
            const auto taken = all.take();
            if (taken.size != 0) {
                QUERN_CHECK(cudaMemcpyAsync(into.pinned, static_cast<const char*>(from) + taken.begin,
                                            taken.size, cudaMemcpyDeviceToHost, place.stream()));
                QUERN_CHECK(cudaEventRecord(into.done, place.stream()));
            }
            return taken;
        };
        auto now = start(slots_[2 * t]);
        for (std::size_t turn = 0; now.size != 0; turn ^= 1) {
            place.run().check_stop();
            const auto following = start(slots_[2 * t + (turn ^ 1)]);
            const slot& mine = slots_[2 * t + turn];
            QUERN_CHECK(cudaEventSynchronize(mine.done));
            std::memcpy(static_cast<char*>(to) + now.begin, mine.pinned, now.size);
            now = following;
        }
    });
}

}  // namespace quern
