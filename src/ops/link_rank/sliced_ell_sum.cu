// SPDX-License-Identifier: Apache-2.0
// Sums over links in slices (sliced_ell.cuh).
//
// Narrow sums: one block of 1,024 threads per multiprocessor keeps a hot group's contributions in shared memory (224 KiB,
// filled by the copy engine on Hopper; less where a block may have less).
// - Even warps start with hot slices, odd ones with cold slices, whose gathers wait for the second-level cache: the two
//   kinds of work overlap. A warp switches to the other kind when its own is done.
// - Blocks own slices in turn (lengths descend, so shares are equal). The warps of a block draw from its share by a counter
//   in shared memory.
// - A lane sums its segment in 64 bits and adds it to its target in device memory: integers, in any order.
#include <algorithm>

#include "device/cuda/check.cuh"
#include "device/cuda/hopper.cuh"
#include "device/cuda/portable.cuh"
#include "ops/link_rank/sliced_ell.cuh"

namespace quern::link_rank_detail {
namespace {

using cuda::launch_shape;

constexpr unsigned block_threads = 1024;
constexpr unsigned max_bulk_bytes = 32768;  // per request to the copy engine

/// Processes four words of ids at a time, or the rest of a lane; look(id) gives the contribution.
template <class Id, class Look>
__device__ __forceinline__ std::int64_t sum_word(std::uint32_t word, Look look) {
    if constexpr (sizeof(Id) == 2)
        return std::int64_t{look(word & 0xffff)} + std::int64_t{look(word >> 16)};
    else
        return look(word);
}
template <class Id, class Look>
__device__ __forceinline__ std::int64_t sum_words(uint4 words, Look look) {
    return sum_word<Id>(words.x, look) + sum_word<Id>(words.y, look) + sum_word<Id>(words.z, look) +
           sum_word<Id>(words.w, look);
}

/// Σ look(id) over the calling lane's ids of a slice, in the order of id_position. The reads of ids bypass the caches.
template <class Id, class Look>
__device__ __forceinline__ std::int64_t sum_lane(const void* ids, std::uint64_t begin, std::uint32_t width,
                                                 Look look) {
    const unsigned lane = threadIdx.x % 32;
    const char* at = static_cast<const char*>(ids) + begin * 32 * sizeof(Id);
    const auto* four = reinterpret_cast<const uint4*>(at) + lane;
    std::int64_t sum = 0;
    std::uint32_t left = width / ids_together<Id>;
    at += std::uint64_t{left} * 512;
    for (; left >= 4; left -= 4, four += 128) {
        const uint4 a = __ldcs(four), b = __ldcs(four + 32), c = __ldcs(four + 64), d = __ldcs(four + 96);
        sum += (sum_words<Id>(a, look) + sum_words<Id>(b, look)) +
               (sum_words<Id>(c, look) + sum_words<Id>(d, look));
    }
    uint4 more[3];
#pragma unroll
    for (unsigned i = 0; i < 3; ++i)
        if (i < left) more[i] = __ldcs(four + 32 * i);
    uint2 two{};
    std::uint32_t one = 0, half = 0;
    const std::uint32_t rest = width % ids_together<Id> * sizeof(Id);  // in bytes
    if (rest & 8) {
        two = __ldcs(reinterpret_cast<const uint2*>(at) + lane);
        at += 256;
    }
    if (rest & 4) {
        one = __ldcs(reinterpret_cast<const std::uint32_t*>(at) + lane);
        at += 128;
    }
    if (rest & 2) half = __ldcs(reinterpret_cast<const std::uint16_t*>(at) + lane);
#pragma unroll
    for (unsigned i = 0; i < 3; ++i)
        if (i < left) sum += sum_words<Id>(more[i], look);
    if (rest & 8) sum += sum_word<Id>(two.x, look) + sum_word<Id>(two.y, look);
    if (rest & 4) sum += sum_word<Id>(one, look);
    if (rest & 2) sum += look(half);
    return sum;
}

/// Adds a warp's 32 sums to their targets; one addition where all share a target, as in a row of thousands.
__device__ __forceinline__ void add_up(std::uint64_t* sums, std::uint32_t target, std::uint32_t width,
                                       std::int64_t sum) {
    if (width == segment_links && __all_sync(~0u, target == __shfl_sync(~0u, target, 0))) {
        for (unsigned d = 16; d != 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
        if (threadIdx.x % 32 != 0) return;
    }
    if (target != no_target)
        atomicAdd(reinterpret_cast<unsigned long long*>(sums + target), static_cast<unsigned long long>(sum));
}

/// A slice drawn by a warp: what it must know before it reads the ids.
struct taken_slice {
    std::uint64_t begin = 0;
    std::uint32_t width = 0;  ///< 0: none left
    std::uint32_t target = no_target;
};
__device__ __forceinline__ taken_slice take_slice(const ell_group& group, std::uint32_t* counter,
                                                  std::uint32_t until) {
    std::uint32_t mine = 0;
    if (threadIdx.x % 32 == 0) mine = atomicAdd(counter, 1u);
    mine = __shfl_sync(~0u, mine, 0);
    if (mine >= until) return {};
    const std::uint32_t slice = mine * gridDim.x + blockIdx.x;
    const std::uint64_t begin = group.begins[slice];
    return {begin, static_cast<std::uint32_t>(group.begins[slice + 1] - begin),
            group.targets[std::uint64_t{slice} * 32 + threadIdx.x % 32]};
}

/// A warp draws the block's slices from the counter until `until`. It draws the next one before it processes the current
/// one, so that the next one's beginning is known in time.
template <class Id, class Look>
__device__ __forceinline__ void sum_slices(const ell_group& group, std::uint32_t* counter,
                                           std::uint32_t until, std::uint64_t* sums, Look look) {
    taken_slice now = take_slice(group, counter, until);
    while (now.width != 0) {
        const taken_slice following = take_slice(group, counter, until);
        add_up(sums, now.target, now.width, sum_lane<Id>(group.ids, now.begin, now.width, look));
        now = following;
    }
}

__device__ __forceinline__ std::uint32_t slices_of_block(const ell_group& group) {
    return group.slices > blockIdx.x ? (group.slices - blockIdx.x - 1) / gridDim.x + 1 : 0;
}

/// Fills shared memory with a table. Thread 0 orders the copy after a barrier of the block; all threads await it. With
/// Hopper's copy engine, the block works meanwhile.
template <bool Hopper>
__device__ __forceinline__ void order_copy(std::int32_t* to, const std::int32_t* from, std::uint32_t bytes,
                                           std::uint64_t* barrier) {
    if constexpr (Hopper) {
        if (threadIdx.x != 0) return;
        cuda::order_reads_before_copies();
        cuda::arrive_expecting(barrier, bytes);
        for (std::uint32_t at = 0; at < bytes; at += max_bulk_bytes)
            cuda::bring(reinterpret_cast<char*>(to) + at, reinterpret_cast<const char*>(from) + at,
                        min(bytes - at, max_bulk_bytes), barrier);
    } else {
        for (std::uint32_t at = threadIdx.x; at < bytes / 16; at += block_threads)
            cuda::copy_16(reinterpret_cast<uint4*>(to) + at, reinterpret_cast<const uint4*>(from) + at);
        cuda::end_copy_group();
    }
}
template <bool Hopper>
__device__ __forceinline__ void await_copy(std::uint64_t* barrier, std::uint32_t parity) {
    if constexpr (Hopper) {
        cuda::wait_for(barrier, parity);
    } else {
        cuda::wait_for_copies<0>();
        __syncthreads();
    }
}

/// See the head of the file. Shared memory: the table of a hot group. Grid: one block per multiprocessor, or any other
/// number.
template <bool Hopper>
__global__ void __launch_bounds__(block_threads, 1)
    sum_narrow_kernel(sliced_ell_view links, const std::int32_t* table, std::uint64_t* sums,
                      const std::uint32_t* halted) {
    if (Hopper && !cuda::hopper_code) return;
    extern __shared__ __align__(128) std::int32_t hot[];
    __shared__ alignas(8) std::uint64_t barrier;
    __shared__ std::uint32_t next_hot, next_cold;
    cuda::wait_for_previous_kernel();
    if (*halted != 0) return;
    const bool cold_first = threadIdx.x / 32 % 2 != 0;
    const std::uint32_t all_cold = slices_of_block(links.cold);
    const auto cold = [&](std::uint32_t until) {
        sum_slices<std::uint32_t>(links.cold, &next_cold, until, sums,
                                  [table](std::uint32_t slot) { return __ldg(table + slot); });
    };
    if (threadIdx.x == 0) {
        next_cold = 0;
        if constexpr (Hopper) {
            cuda::make_barrier(&barrier, 1);
            cuda::show_barriers();
        }
    }
    if (links.hot_groups == 0) {
        __syncthreads();
        cold(all_cold);
        return;
    }
    std::uint32_t cold_before = 0;
    for (std::uint32_t g = 0; g < links.hot_groups; ++g) {
        __syncthreads();  // the previous table is no longer read
        const auto cold_until =
            static_cast<std::uint32_t>(std::uint64_t{all_cold} * links.cold_share[g] >> 16);
        if (threadIdx.x == 0) {
            next_hot = 0;
            next_cold = cold_before;  // warps that found none left have counted too far
        }
        order_copy<Hopper>(hot, table + std::uint64_t{g} * links.table_slots, links.hot_slots[g] * 4,
                           &barrier);
        __syncthreads();
        if (cold_first) cold(cold_until);
        await_copy<Hopper>(&barrier, g % 2);
        sum_slices<std::uint16_t>(links.hot[g], &next_hot, slices_of_block(links.hot[g]), sums,
                                  [](std::uint32_t id) { return hot[id]; });
        if (!cold_first) cold(cold_until);
        cold_before = cold_until;
    }
}

/// One slice at a time per warp, all contributions through the caches. Any grid of whole warps.
template <class Id>
__device__ void sum_wide_slices(const ell_group& group, const std::int64_t* table, std::uint64_t* sums) {
    const std::uint32_t warps = gridDim.x * (blockDim.x / 32);
    for (std::uint32_t s = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; s < group.slices; s += warps) {
        const std::uint64_t begin = group.begins[s];
        const auto width = static_cast<std::uint32_t>(group.begins[s + 1] - begin);
        const std::int64_t sum = sum_lane<Id>(group.ids, begin, width,
                                              [table](std::uint32_t slot) { return __ldg(table + slot); });
        add_up(sums, group.targets[std::uint64_t{s} * 32 + threadIdx.x % 32], width, sum);
    }
}

__global__ void __launch_bounds__(512) sum_wide_kernel(sliced_ell_view links, const std::int64_t* table,
                                                       std::uint64_t* sums, const std::uint32_t* halted) {
    cuda::wait_for_previous_kernel();
    if (*halted != 0) return;
    for (std::uint32_t g = 0; g < links.hot_groups; ++g)
        sum_wide_slices<std::uint16_t>(links.hot[g], table + std::uint64_t{g} * links.table_slots, sums);
    sum_wide_slices<std::uint32_t>(links.cold, table, sums);
}

}  // namespace

void sliced_ell::add(cuda_place& place, const std::int32_t* table, std::uint64_t* sums,
                     const std::uint32_t* halted) const {
    const std::size_t shared = view_.hot_groups != 0 ? std::size_t{view_.table_slots} * 4 : 0;
    auto* const kernel = place.abilities().hopper() ? sum_narrow_kernel<true> : sum_narrow_kernel<false>;
    place.make_current();
    QUERN_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    QUERN_LAUNCH(place, (launch_shape{place.multiprocessors(), block_threads, shared, false, true}), kernel,
                 view_, table, sums, halted);
}

void sliced_ell::add(cuda_place& place, const std::int64_t* table, std::uint64_t* sums,
                     const std::uint32_t* halted) const {
    QUERN_LAUNCH(place, (launch_shape{4 * place.multiprocessors(), 512, 0, false, true}), sum_wide_kernel,
                 view_, table, sums, halted);
}

}  // namespace quern::link_rank_detail
