// SPDX-License-Identifier: Apache-2.0
// Histograms.
// - Few bins: every block counts in its own table in shared memory, with up to 32 copies, one per lane, so that lanes with
//   equal samples do not wait for each other.
// - Many bins: samples are counted in device memory, but each block keeps frequent ones (the first to claim a slot of a
//   small hash table) in shared memory, so that a frequent word causes no queue at one address.
// - Neighbouring equal samples are counted together. Sums of integers: the order of the atomics does not matter.
#include <algorithm>
#include <bit>

#include "device/cuda/check.cuh"
#include "primitives/histogram/histogram.hpp"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 1024;
constexpr unsigned blocks_per_multiprocessor = 2;
constexpr std::size_t max_shared_for_two = 112 << 10;  // bytes per block, so that a multiprocessor holds two
constexpr std::size_t max_shared_for_one = 226 << 10;
constexpr unsigned max_copies = 32;
constexpr unsigned cache_bits = 13;  // 64 KB: a bin and a count per slot
constexpr unsigned cache_slots = 1 << cache_bits;
constexpr std::uint32_t free_slot = ~0u;

template <class Sample>
struct samples_to_count {
    const Sample* samples;
    std::uint64_t count;
    std::uint64_t bins;
    unsigned long long* counts;
    std::uint64_t* fault_word;
};

/// Calls add(bin, times) for this thread's share of all samples, combining equal neighbours, and records the first sample
/// without a bin. Reads whole 16 bytes at a time; block 0 takes the few samples before and after those.
template <class Sample, class Add>
__device__ void count_share(const samples_to_count<Sample>& a, Add add) {
    constexpr unsigned width = 16 / sizeof(Sample);
    struct alignas(16) pack {
        Sample samples[width];
    };
    std::uint64_t first_wrong = no_fault;
    const auto count_pack = [&](const Sample* samples, unsigned size, std::uint64_t position) {
        unsigned times = 0;
#pragma unroll
        for (unsigned k = 0; k < width; ++k) {
            if (k >= size) break;
            ++times;
            if (k + 1 < size && samples[k + 1] == samples[k]) continue;
            if (samples[k] < a.bins) {
                add(samples[k], times);
            } else {
                first_wrong = min(first_wrong, position + k + 1 - times);
            }
            times = 0;
        }
    };
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
    const auto misaligned = reinterpret_cast<std::uintptr_t>(a.samples) % 16 / sizeof(Sample);
    const std::uint64_t before = misaligned == 0 ? 0 : min(std::uint64_t{width - misaligned}, a.count);
    const std::uint64_t packs = (a.count - before) / width, after = before + packs * width;
    const pack* const from = reinterpret_cast<const pack*>(a.samples + before);
    if (thread < before) count_pack(a.samples + thread, 1, thread);
    if (after + thread < a.count) count_pack(a.samples + after + thread, 1, after + thread);
    std::uint64_t p = thread;
    for (; p + threads < packs; p += 2 * threads) {  // two loads in flight
        const pack one = from[p], other = from[p + threads];
        count_pack(one.samples, width, before + p * width);
        count_pack(other.samples, width, before + (p + threads) * width);
    }
    if (p < packs) {
        const pack one = from[p];
        count_pack(one.samples, width, before + p * width);
    }
    if (first_wrong != no_fault) cuda::note_fault(a.fault_word, fault::sample_out_of_range, first_wrong);
}

/// Any grid. Dynamic shared memory: bins · 2^copy_bits counts; lane l counts in copy l mod 2^copy_bits, so that copies of
/// one bin are neighbours in different banks. A block counts fewer than 2³² samples (the launch ensures this).
template <class Sample>
__global__ __launch_bounds__(block_threads) void count_few_bins_kernel(samples_to_count<Sample> a,
                                                                       unsigned copy_bits) {
    extern __shared__ unsigned table[];
    const unsigned entries = static_cast<unsigned>(a.bins) << copy_bits;
    for (unsigned e = threadIdx.x; e < entries; e += block_threads) table[e] = 0;
    __syncthreads();
    const unsigned copy = threadIdx.x & ((1u << copy_bits) - 1);
    count_share(a, [&](Sample bin, unsigned times) {
        atomicAdd(table + (static_cast<unsigned>(bin) << copy_bits | copy), times);
    });
    __syncthreads();
    for (unsigned base = 0; base < entries; base += block_threads) {
        const unsigned e = base + threadIdx.x;
        unsigned long long sum = e < entries ? table[e] : 0;
        for (unsigned d = 1u << copy_bits >> 1; d != 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
        if (e < entries && copy == 0 && sum != 0) atomicAdd(a.counts + (e >> copy_bits), sum);
    }
}

/// Any grid; 64 KB of shared memory. See the head of the file.
template <class Sample>
__global__ __launch_bounds__(block_threads) void count_many_bins_kernel(samples_to_count<Sample> a) {
    extern __shared__ unsigned table[];
    std::uint32_t* const owner = table;
    unsigned* const kept = table + cache_slots;
    for (unsigned s = threadIdx.x; s < cache_slots; s += block_threads) {
        owner[s] = free_slot;
        kept[s] = 0;
    }
    __syncthreads();
    count_share(a, [&](Sample bin, unsigned times) {
        if (bin < free_slot) {
            const auto key = static_cast<std::uint32_t>(bin);
            const unsigned slot = key * 2654435769u >> (32 - cache_bits);
            std::uint32_t found = *static_cast<volatile std::uint32_t*>(owner + slot);
            if (found == free_slot) {
                found = atomicCAS(owner + slot, free_slot, key);
                if (found == free_slot) found = key;
            }
            if (found == key) {
                atomicAdd(kept + slot, times);
                return;
            }
        }
        atomicAdd(a.counts + bin, static_cast<unsigned long long>(times));
    });
    __syncthreads();
    for (unsigned s = threadIdx.x; s < cache_slots; s += block_threads)
        if (kept[s] != 0) atomicAdd(a.counts + owner[s], static_cast<unsigned long long>(kept[s]));
}

/// Enough blocks to fill the device, each with enough work for its table and fewer than 2³² samples.
unsigned blocks_to_count(const cuda_place& place, std::uint64_t samples, std::uint64_t table_entries,
                         unsigned per_multiprocessor) {
    const std::uint64_t least = std::max<std::uint64_t>(std::uint64_t{block_threads} * 8, table_entries / 2);
    const std::uint64_t filling = std::uint64_t{place.multiprocessors()} * per_multiprocessor;
    const std::uint64_t wanted = std::clamp<std::uint64_t>(samples / least, 1, filling);
    return static_cast<unsigned>(std::max(wanted, samples >> 30));
}

}  // namespace

template <histogram_sample Sample>
void histogram(cuda_place& place, device_span<const Sample> samples, device_span<std::uint64_t> counts) {
    place.fill_bytes(counts.data(), 0, counts.size_bytes());
    if (samples.empty()) return;
    samples_to_count<Sample> arguments{samples.data(), samples.size(), counts.size(),
                                       reinterpret_cast<unsigned long long*>(counts.data()),
                                       place.fault_word()};
    if (sizeof(Sample) == 1) arguments.bins = std::min<std::uint64_t>(arguments.bins, 256);
    const std::uint64_t table = std::max<std::uint64_t>(arguments.bins, 1) * sizeof(unsigned);
    const std::size_t room = cuda::shared_room(place, count_few_bins_kernel<Sample>);
    const std::size_t shared_for_one = std::min(max_shared_for_one, room);
    const std::size_t shared_for_two = std::min(max_shared_for_two, room / 2);
    if (table <= shared_for_one) {
        const std::uint64_t fitting = std::max<std::uint64_t>(shared_for_two / table, 1);
        const unsigned copies =
            static_cast<unsigned>(std::bit_floor(std::min<std::uint64_t>(fitting, max_copies)));
        const std::size_t shared = table * copies;
        const unsigned per_multiprocessor = shared <= shared_for_two ? blocks_per_multiprocessor : 1;
        const unsigned blocks =
            blocks_to_count(place, samples.size(), arguments.bins * copies, per_multiprocessor);
        place.make_current();  // the attribute is the current device's
        QUERN_CHECK(cudaFuncSetAttribute(count_few_bins_kernel<Sample>,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(shared_for_one)));
        QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads, shared}),
                     count_few_bins_kernel<Sample>, arguments,
                     static_cast<unsigned>(std::countr_zero(copies)));
        return;
    }
    constexpr std::size_t shared = cache_slots * (sizeof(std::uint32_t) + sizeof(unsigned));
    const unsigned blocks = blocks_to_count(place, samples.size(), cache_slots, blocks_per_multiprocessor);
    place.make_current();
    QUERN_CHECK(cudaFuncSetAttribute(count_many_bins_kernel<Sample>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads, shared}), count_many_bins_kernel<Sample>,
                 arguments);
}

template void histogram(cuda_place&, device_span<const std::uint8_t>, device_span<std::uint64_t>);
template void histogram(cuda_place&, device_span<const std::uint32_t>, device_span<std::uint64_t>);
template void histogram(cuda_place&, device_span<const std::uint64_t>, device_span<std::uint64_t>);

}  // namespace quern::primitives
