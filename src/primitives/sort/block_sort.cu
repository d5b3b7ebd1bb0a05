// SPDX-License-Identifier: Apache-2.0
#include "primitives/sort/block_sort.cuh"

#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_scan.cuh>

#include <cuda/functional>
#include <type_traits>

#include "device/cuda/check.cuh"

namespace quern::primitives::cuda {
namespace {

using quern::cuda::blocks_for;
using quern::cuda::launch_shape;

/// A block sorts a range: digit by digit from the lowest, ranking by matching equal digits in a warp, and moving keys and
/// values through shared memory. A warp owns 32 · PerThread consecutive places, a thread every 32nd of them, so that ranks
/// by warp and round are ranks by place: stable. Shared memory: the ranking's counters (one KiB per warp), or one array of
/// keys or values. Threads and PerThread are chosen so that all keys and values of a thread stay in registers and several
/// blocks share a multiprocessor.
template <class Raw, class Value, unsigned Threads, unsigned PerThread>
__global__ void __launch_bounds__(Threads, Threads* PerThread < 4096 ? 1
                                           : Threads == 256          ? 3
                                                                     : 2)
    sort_block_ranges_kernel(const block_range* block_ranges, block_range only,
                             sorted_arrays<Raw, Value> arrays) {
    using bits = key_bits_t<Raw>;
    using ranking = cub::BlockRadixRankMatchEarlyCounts<Threads, 8, false, cub::BLOCK_SCAN_WARP_SCANS,
                                                        cub::WARP_MATCH_ANY>;
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    __shared__ union {
        typename ranking::TempStorage ranks;
        bits keys[Threads * PerThread];
        Value values[Threads * PerThread];
    } shared;
    const block_range mine = block_ranges == nullptr ? only : block_ranges[blockIdx.x];
    const unsigned first = threadIdx.x / 32 * 32 * PerThread + threadIdx.x % 32;
    bits keys[PerThread];
    Value values[PerThread];
#pragma unroll
    for (unsigned u = 0; u < PerThread; ++u) {
        const unsigned at = first + u * 32;
        const bool present = at < mine.length;
        keys[u] = present ? rising_bits(masked(arrays.keys[mine.begin + at], arrays.mask))
                          : static_cast<bits>(~bits{0});  // none comes after it
        if constexpr (paired) values[u] = present ? arrays.values[mine.begin + at] : Value{};
    }
    for (unsigned shift = 0; shift < arrays.bits; shift += 8) {
        int ranks[PerThread];
        ranking(shared.ranks).RankKeys(keys, ranks, digit_of_rising<Raw>{shift});
        __syncthreads();
#pragma unroll
        for (unsigned u = 0; u < PerThread; ++u) shared.keys[ranks[u]] = keys[u];
        __syncthreads();
#pragma unroll
        for (unsigned u = 0; u < PerThread; ++u) keys[u] = shared.keys[first + u * 32];
        __syncthreads();
        if constexpr (paired) {
#pragma unroll
            for (unsigned u = 0; u < PerThread; ++u) shared.values[ranks[u]] = values[u];
            __syncthreads();
#pragma unroll
            for (unsigned u = 0; u < PerThread; ++u) values[u] = shared.values[first + u * 32];
            __syncthreads();
        }
    }
    Raw* to_keys = mine.to_spare ? arrays.spare_keys : arrays.keys;
    Value* to_values = mine.to_spare ? arrays.spare_values : arrays.values;
#pragma unroll
    for (unsigned u = 0; u < PerThread; ++u) {
        const unsigned at = first + u * 32;
        if (at >= mine.length) continue;
        to_keys[mine.begin + at] = masked(from_rising_bits<Raw>(keys[u]), arrays.mask);
        if constexpr (paired) to_values[mine.begin + at] = values[u];
    }
}

constexpr unsigned counted_threads = 256;
constexpr unsigned counted_per_thread = 9;
constexpr unsigned window = 2048;  // where the segments of a block begin
constexpr unsigned reach = counted_threads * counted_per_thread;
static_assert(window + counted_length <= reach + 1 && counted_length <= 255);

/// A block sorts the segments that begin in its window, one thread per item: an item's place is the number of items of its
/// segment that precede it, counted by comparing. Up to some hundred comparisons per item this is faster than other
/// methods: no barriers, and a warp reads the same few words. Shared memory: the keys as ordered numbers, and for each item
/// the start of its segment and its length (a maximum scan passes on the word of the segment's first item). 18 KiB with
/// 32-bit keys, 28 with 64-bit ones.
template <class Raw, class Value>
__global__ void __launch_bounds__(counted_threads)
    sort_counted_kernel(const std::uint8_t* lengths, std::uint64_t items, sorted_arrays<Raw, Value> arrays) {
    using scan = cub::BlockScan<std::uint32_t, counted_threads>;
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    __shared__ typename scan::TempStorage scanning;
    __shared__ key_bits_t<Raw> keys[reach];
    __shared__ std::uint32_t segments[reach];  // first item · 256 + length
    const std::uint64_t base = std::uint64_t{blockIdx.x} * window;
    bool any = false;
#pragma unroll
    for (unsigned u = 0; u < counted_per_thread; ++u) {
        const unsigned i = threadIdx.x + u * counted_threads;
        const unsigned length = i < window && base + i < items ? lengths[base + i] : 0;
        segments[i] = length != 0 ? i * 256 + length : 0;
        any |= length != 0;
    }
    if (__syncthreads_or(any) == 0) return;
    std::uint32_t words[counted_per_thread];
#pragma unroll
    for (unsigned u = 0; u < counted_per_thread; ++u)
        words[u] = segments[threadIdx.x * counted_per_thread + u];
    scan(scanning).InclusiveScan(words, words, ::cuda::maximum<>{});
#pragma unroll
    for (unsigned u = 0; u < counted_per_thread; ++u)
        segments[threadIdx.x * counted_per_thread + u] = words[u];
    __syncthreads();

    Raw own_keys[counted_per_thread];
    Value own_values[counted_per_thread];
#pragma unroll
    for (unsigned u = 0; u < counted_per_thread; ++u) {
        const unsigned i = threadIdx.x + u * counted_threads;
        const std::uint32_t segment = segments[i];
        if (i >= segment / 256 + segment % 256) continue;
        own_keys[u] = arrays.keys[base + i];
        if constexpr (paired) own_values[u] = arrays.values[base + i];
        keys[i] = ordered_bits(masked(own_keys[u], arrays.mask));
    }
    __syncthreads();
#pragma unroll
    for (unsigned u = 0; u < counted_per_thread; ++u) {
        const unsigned i = threadIdx.x + u * counted_threads;
        const std::uint32_t segment = segments[i];
        const unsigned begin = segment / 256, end = begin + segment % 256;
        if (i >= end) continue;
        const auto key = keys[i];
        unsigned place = begin;
        for (unsigned j = begin; j < i; ++j) place += keys[j] <= key;
        for (unsigned j = i + 1; j < end; ++j) place += keys[j] < key;
        arrays.keys[base + place] = own_keys[u];
        if constexpr (paired) arrays.values[base + place] = own_values[u];
    }
}

}  // namespace

namespace {

template <class Raw, class Value>
void launch_block_ranges(cuda_place& place, unsigned kind, const block_range* block_ranges, block_range only,
                         std::uint64_t count, sorted_arrays<Raw, Value> arrays) {
    const auto sort = [&](auto kernel, unsigned threads) {
        QUERN_LAUNCH(place, (launch_shape{static_cast<unsigned>(count), threads}), kernel, block_ranges, only,
                     arrays);
    };
    constexpr unsigned largest = sizeof(Raw) == 4 ? 256 : 512;
    switch (kind) {
        case 0:
            return sort(sort_block_ranges_kernel<Raw, Value, 128, block_length(0) / 128>, 128);
        case 1:
            return sort(sort_block_ranges_kernel<Raw, Value, 256, block_length(1) / 256>, 256);
        default:
            return sort(sort_block_ranges_kernel<Raw, Value, largest, block_length(2) / largest>, largest);
    }
}

}  // namespace

template <class Raw, class Value>
void sort_block_ranges(cuda_place& place, unsigned kind, const block_range* block_ranges, std::uint64_t count,
                       sorted_arrays<Raw, Value> arrays) {
    launch_block_ranges(place, kind, block_ranges, {}, count, arrays);
}

template <class Raw, class Value>
void sort_block_range(cuda_place& place, std::uint32_t length, sorted_arrays<Raw, Value> arrays) {
    unsigned kind = 0;
    while (block_length(kind) < length) ++kind;
    launch_block_ranges(place, kind, nullptr, {0, length, 0}, 1, arrays);
}

template <class Raw, class Value>
void sort_counted(cuda_place& place, const std::uint8_t* lengths, std::uint64_t items,
                  sorted_arrays<Raw, Value> arrays) {
    QUERN_LAUNCH(place, (launch_shape{blocks_for(items, window), counted_threads}),
                 (sort_counted_kernel<Raw, Value>), lengths, items, arrays);
}

#define QUERN_BLOCK_SORT(RAW, VALUE)                                                          \
    template void sort_block_ranges(cuda_place&, unsigned, const block_range*, std::uint64_t, \
                                    sorted_arrays<RAW, VALUE>);                               \
    template void sort_block_range(cuda_place&, std::uint32_t, sorted_arrays<RAW, VALUE>);    \
    template void sort_counted(cuda_place&, const std::uint8_t*, std::uint64_t, sorted_arrays<RAW, VALUE>);
#define QUERN_BLOCK_SORTS(RAW)           \
    QUERN_BLOCK_SORT(RAW, no_value)      \
    QUERN_BLOCK_SORT(RAW, std::uint32_t) \
    QUERN_BLOCK_SORT(RAW, std::uint64_t)
QUERN_BLOCK_SORTS(std::uint32_t)
QUERN_BLOCK_SORTS(std::uint64_t)
QUERN_BLOCK_SORTS(float)
QUERN_BLOCK_SORTS(double)

}  // namespace quern::primitives::cuda
