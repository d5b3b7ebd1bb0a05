// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/staging.cuh"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "device/cpu/huge_pages.hpp"
#include "device/cpu/threads.hpp"
#include "device/cuda/check.cuh"
#include "device/cuda/cuda_place.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

/// Host threads of the context for a device, each with the device made current.
template <class Work>
void on_threads(const cuda_place& place, std::size_t threads, const Work& work) {
    run_parallel(place.ctx(), [&] {
        tbb::parallel_for(
            std::size_t{0}, threads,
            [&](std::size_t t) {
                place.make_current();
                work(t);
            },
            tbb::simple_partitioner());
    });
}

// Measured on one H200 and 16 cores (docs/places.md): more threads, or smaller slots, spend their time in the driver.
constexpr std::size_t slot_bytes = 4 << 20;
constexpr unsigned max_threads = 8;
constexpr std::size_t bytes_a_thread = 4 << 20;  // fewer bytes do not pay for waking it
constexpr std::size_t min_step = 512 << 10;

/// Chunks of a transfer, which threads take as they become free.
class chunks {
  public:
    chunks(std::size_t bytes, std::size_t threads)
        : bytes_(bytes), step_(std::clamp(bytes / (4 * threads), min_step, slot_bytes)) {}
    struct chunk {
        std::size_t begin, size;  ///< size 0: none left
    };
    chunk take() {
        const std::size_t begin = next_.fetch_add(step_, std::memory_order_relaxed);
        return {begin, begin < bytes_ ? std::min(step_, bytes_ - begin) : 0};
    }

  private:
    std::size_t bytes_, step_;
    std::atomic<std::size_t> next_{0};
};

std::size_t staging_threads(const cuda_place& place) {
    return std::min(place.ctx().thread_count(), max_threads);
}

}  // namespace

cuda_place::staging::staging(const cuda_place& place)
    : memory_(place, 2 * staging_threads(place) * slot_bytes), slots_(2 * staging_threads(place)) {
    try {
        for (std::size_t s = 0; s < slots_.size(); ++s) {
            slots_[s].pinned = static_cast<char*>(memory_.data()) + s * slot_bytes;
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
            place.ctx().check_stop();
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
            place.ctx().check_stop();
            const auto following = start(slots_[2 * t + (turn ^ 1)]);
            const slot& mine = slots_[2 * t + turn];
            QUERN_CHECK(cudaEventSynchronize(mine.done));
            std::memcpy(static_cast<char*>(to) + now.begin, mine.pinned, now.size);
            now = following;
        }
    });
}

pinned_memory::pinned_memory(const cuda_place& place, std::size_t bytes) {
    if (bytes == 0) return;
    constexpr std::size_t large_page = std::size_t{2} << 20, each = 2 * large_page;
    place.make_current();
    const std::size_t whole = (bytes + large_page - 1) / large_page * large_page;
    data_ = std::aligned_alloc(large_page, whole);
    if (data_ == nullptr) throw out_of_memory("pinned memory for a device", bytes, 0);
    try {
        wish_for_huge_pages(data_, whole);
        on_threads(place, (whole + each - 1) / each, [&](std::size_t t) {
            std::memset(static_cast<char*>(data_) + t * each, 0, std::min(each, whole - t * each));
        });
        QUERN_CHECK(cudaHostRegister(data_, whole, cudaHostRegisterDefault));
        pinned_ = true;
    } catch (...) {
        give_back();
        throw;
    }
}

void pinned_memory::give_back() noexcept {
    if (pinned_) cudaHostUnregister(data_);
    std::free(data_);
}

}  // namespace quern
