// SPDX-License-Identifier: Apache-2.0
// Radix sort of an array on a GPU: 8 bits per pass from the lowest, each pass reading and writing everything once (Adinets
// and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022).
//
// First, one kernel counts the digits of all passes. In a pass, a block takes the next tile, ranks its keys, and finds
// where its digits go by looking back at the counts of the earlier tiles (Merrill and Garland, "Single-pass Parallel Prefix
// Scan with Decoupled Look-back", 2016). Differences from CUB's DeviceRadixSort, which has the same structure:
//   - Counting reads every key, and so finds NaN for free; a separate pass takes 3 % of a sort of (float, id).
//   - A digit that all keys share needs no pass: numbers below 2¹⁶ take half the time. The device decides after counting.
//   - Blocks clear the look-back words of the pass after theirs, where CUB has a memset before each, which is noticeable up
//     to some million keys.
//   - The direction and the sign are a mask (raw_keys.cuh): a third of the kernels.
#pragma once

#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_scan.cuh>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "primitives/sort/block_sort.cuh"
#include "primitives/sort/radix_sort.cuh"

namespace quern::primitives::cuda {
namespace {

using quern::cuda::blocks_for;
using quern::cuda::launch_shape;

constexpr unsigned digits = 256;
constexpr unsigned max_passes = 8;
/// Counts of look-back have 30 bits: longer arrays are processed in portions.
constexpr std::uint64_t portion_size = std::uint64_t{1} << 28;

/// The decisions of counting for each pass, and one entry more for the end.
struct pass_plan {
    std::uint32_t skipped;
    std::uint32_t passes_before;  ///< executed ones: their parity gives the location of the keys
};

/// One allocation, zeroed: the state of a sort.
struct sort_state {
    std::uint64_t bins[max_passes][digits];  ///< counts, then the start of each digit
    pass_plan plan[max_passes + 1];
    std::uint32_t blocks_done;
};

constexpr unsigned count_threads = 512;
constexpr unsigned count_per_thread = 8;

/// Blocks take every gridDim-th chunk of count_threads · count_per_thread keys, and count in shared memory; the last block
/// to finish turns the counts into starts and plans the passes. A pass whose digit all keys share is skipped, except one if
/// an odd number would remain, so that the sort ends where it began. Shared memory: one KiB per pass. Bound by memory.
template <class Raw>
__global__ void __launch_bounds__(count_threads)
    count_digits_kernel(const Raw* keys, std::uint64_t count, key_bits_t<Raw> mask, unsigned passes,
                        sort_state* state, std::uint64_t* nan_fault) {
    constexpr unsigned key_passes = sizeof(Raw);
    __shared__ std::uint32_t bins[key_passes][digits];
    __shared__ bool last;
    for (unsigned i = threadIdx.x; i < passes * digits; i += count_threads) bins[i / digits][i % digits] = 0;
    __syncthreads();
    constexpr std::uint64_t keys_of_block = count_threads * count_per_thread;
    for (std::uint64_t begin = blockIdx.x * keys_of_block; begin < count;
         begin += gridDim.x * keys_of_block) {
        Raw loaded[count_per_thread];
#pragma unroll
        for (unsigned u = 0; u < count_per_thread; ++u) {
            const std::uint64_t at = begin + u * count_threads + threadIdx.x;
            if (at < count) loaded[u] = keys[at];
        }
#pragma unroll
        for (unsigned u = 0; u < count_per_thread; ++u) {
            const std::uint64_t at = begin + u * count_threads + threadIdx.x;
            if (at >= count) break;
            if (nan_fault != nullptr && is_not_a_number(loaded[u]))
                quern::cuda::note_fault(nan_fault, fault::key_not_a_number, at);
            const auto rising = without_negative_zero<Raw>(rising_bits(masked(loaded[u], mask)));
#pragma unroll
            for (unsigned pass = 0; pass < key_passes; ++pass)
                if (pass < passes) atomicAdd(&bins[pass][rising >> 8 * pass & 255u], 1u);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < passes * digits; i += count_threads) {
        const std::uint32_t found = bins[i / digits][i % digits];
        if (found != 0)
            atomicAdd(reinterpret_cast<unsigned long long*>(&state->bins[i / digits][i % digits]),
                      static_cast<unsigned long long>(found));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&state->blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();

    using scan = cub::BlockScan<std::uint64_t, count_threads>;
    __shared__ typename scan::TempStorage scanning;
    __shared__ bool shared_digit[key_passes];
    if (threadIdx.x < key_passes) shared_digit[threadIdx.x] = false;
    __syncthreads();
    for (unsigned pass = 0; pass < passes; ++pass) {
        const std::uint64_t mine = threadIdx.x < digits ? __ldcg(&state->bins[pass][threadIdx.x]) : 0;
        if (mine == count) shared_digit[pass] = true;
        std::uint64_t before = 0;
        scan(scanning).ExclusiveSum(mine, before);
        if (threadIdx.x < digits) state->bins[pass][threadIdx.x] = before;
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    unsigned needed = 0;
    for (unsigned pass = 0; pass < passes; ++pass) needed += !shared_digit[pass];
    bool keep_one = needed % 2 == 1;
    unsigned executed = 0;
    for (unsigned pass = 0; pass < passes; ++pass) {
        const bool skipped = shared_digit[pass] && !keep_one;
        if (shared_digit[pass]) keep_one = false;
        state->plan[pass] = {skipped, executed};
        executed += !skipped;
    }
    state->plan[passes] = {0, executed};
}

/// Tiles as large as registers allow with two blocks per multiprocessor, and 48 KiB of shared memory.
template <class Raw, class Value>
struct tile_shape {
    static constexpr unsigned widest =
        std::max<unsigned>(sizeof(Raw), std::is_same_v<Value, no_value> ? 0 : sizeof(Value));
    static constexpr unsigned threads = 512;
    static constexpr unsigned per_thread = widest == 4 ? 16 : 11;
    static constexpr unsigned size = threads * per_thread;
};

template <class Raw, class Value>
struct pass_arguments {
    Raw* keys[2];
    Value* values[2];
    std::uint64_t begin;  ///< of the portion
    std::uint32_t count;  ///< of the portion
    key_bits_t<Raw> mask;
    unsigned shift;
    unsigned portion, portions;
    const pass_plan* plan;
    std::uint32_t* ticket;
    const std::uint64_t* bins;  ///< the start of each digit of this portion
    std::uint64_t* next_bins;   ///< the same for the next portion; null for the last
    std::uint32_t* look_back;   ///< two areas, used in turns
    std::uint32_t rows;         ///< per area: tiles of the longest portion
};

constexpr std::uint32_t count_of_tile = std::uint32_t{1} << 30;
constexpr std::uint32_t count_to_tile = std::uint32_t{2} << 30;  // of all tiles up to this one
constexpr std::uint32_t count_bits = count_of_tile - 1;

__device__ __forceinline__ std::uint32_t load_word(const std::uint32_t* word) {
    std::uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
__device__ __forceinline__ void store_word(std::uint32_t* word, std::uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/// The number of keys of a thread's digit in the earlier tiles.
__device__ __forceinline__ std::uint32_t keys_before(const std::uint32_t* area, std::uint32_t tile,
                                                     unsigned digit) {
    std::uint32_t sum = 0;
    for (std::uint32_t before = tile; before-- > 0;) {
        std::uint32_t word = 0;
        do word = load_word(area + std::size_t{before} * digits + digit);
        while (word == 0);
        sum += word & count_bits;
        if (word & count_to_tile) break;
    }
    return sum;
}

/// A digit's thread publishes its count as soon as it is known, before the keys are ranked.
struct publish_counts {
    std::uint32_t* row;
    std::uint32_t flag;
    std::uint32_t padding;  ///< places past the last key, which hold the last digit
    __device__ __forceinline__ void operator()(int (&counts)[1]) const {
        if (threadIdx.x >= digits) return;
        const std::uint32_t real =
            static_cast<std::uint32_t>(counts[0]) - (threadIdx.x == digits - 1 ? padding : 0);
        store_word(row + threadIdx.x, real | flag);
    }
};

/// A block moves a tile, the next one by a ticket, so that the earlier tiles are already in progress. A warp owns 32 ·
/// per_thread consecutive places and a thread every 32nd of them: ranks ascend with places, which makes the sort stable.
/// The first 256 threads own one digit each. Shared memory (about 36 KiB): the ranking's counters (one KiB per warp), then
/// the tile's keys, then its values, ordered by digit, so that stores to one place of the output are combined; and the
/// destination of each digit.
template <class Raw, class Value, class Position>
__global__ void __launch_bounds__(tile_shape<Raw, Value>::threads, 2)
    sort_pass_kernel(const pass_arguments<Raw, Value> pass) {
    using shape = tile_shape<Raw, Value>;
    using bits = key_bits_t<Raw>;
    using ranking = cub::BlockRadixRankMatchEarlyCounts<shape::threads, 8, false, cub::BLOCK_SCAN_WARP_SCANS,
                                                        cub::WARP_MATCH_ANY>;
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    __shared__ union {
        typename ranking::TempStorage ranks;
        bits keys[shape::size];
        Value values[shape::size];
    } shared;
    __shared__ Position digit_begins[digits];  // minus the digit's place in the tile
    __shared__ std::uint32_t ticket;
    const pass_plan plan = *pass.plan;
    if (plan.skipped) return;
    if (threadIdx.x == 0) ticket = atomicAdd(pass.ticket, 1u);
    const unsigned source = plan.passes_before % 2;
    const Raw* from_keys = (source == 0 ? pass.keys[0] : pass.keys[1]) + pass.begin;
    Raw* to_keys = source == 0 ? pass.keys[1] : pass.keys[0];
    const std::size_t area_words = std::size_t{pass.rows} * digits;
    const unsigned area = (plan.passes_before * pass.portions + pass.portion) % 2;
    std::uint32_t* words = pass.look_back + area * area_words;
    std::uint32_t* next_words = pass.look_back + (1 - area) * area_words;
    __syncthreads();
    const std::uint32_t tile = ticket;
    const std::uint32_t begin = tile * shape::size;
    const std::uint32_t count = min(pass.count - begin, shape::size);
    const unsigned first = threadIdx.x / 32 * 32 * shape::per_thread + threadIdx.x % 32;

    for (std::uint32_t cleared = tile; cleared < pass.rows; cleared += gridDim.x)
        if (threadIdx.x < digits) next_words[std::size_t{cleared} * digits + threadIdx.x] = 0;
    // Instantiated for whole tiles, without a test at each key, and for the last one.
    const auto move = [&]<bool Whole>(std::bool_constant<Whole>) {
        bits keys[shape::per_thread];
#pragma unroll
        for (unsigned u = 0; u < shape::per_thread; ++u) {
            const unsigned at = first + u * 32;
            keys[u] = Whole || at < count ? rising_bits(masked(from_keys[begin + at], pass.mask))
                                          : static_cast<bits>(~bits{0});
        }
        int ranks[shape::per_thread];
        int before_digit[1];  // in the tile
        std::uint32_t* row = words + std::size_t{tile} * digits;
        const digit_of_rising<Raw> digit{pass.shift};
        ranking(shared.ranks)
            .RankKeys(keys, ranks, digit, before_digit,
                      publish_counts{row, tile == 0 ? count_to_tile : count_of_tile, shape::size - count});
        __syncthreads();
#pragma unroll
        for (unsigned u = 0; u < shape::per_thread; ++u) shared.keys[ranks[u]] = keys[u];
        if (threadIdx.x < digits) {
            const std::uint32_t own = load_word(row + threadIdx.x) & count_bits;
            const std::uint32_t before = keys_before(words, tile, threadIdx.x);
            if (tile != 0) store_word(row + threadIdx.x, (before + own) | count_to_tile);
            const std::uint64_t digit_begin = pass.bins[threadIdx.x] + before;
            digit_begins[threadIdx.x] =
                static_cast<Position>(digit_begin - static_cast<std::uint64_t>(before_digit[0]));
            if (pass.next_bins != nullptr && tile == gridDim.x - 1)
                pass.next_bins[threadIdx.x] = digit_begin + own;
        }
        __syncthreads();

        [[maybe_unused]] std::uint32_t packed_digits[(shape::per_thread + 3) / 4] = {};
#pragma unroll
        for (unsigned u = 0; u < shape::per_thread; ++u) {
            const unsigned i = threadIdx.x + u * shape::threads;
            const bits key = shared.keys[i];
            const std::uint32_t key_digit = digit.Digit(key);
            if constexpr (paired) packed_digits[u / 4] |= key_digit << u % 4 * 8;
            if (Whole || i < count)
                to_keys[static_cast<Position>(digit_begins[key_digit] + i)] =
                    masked(from_rising_bits<Raw>(key), pass.mask);
            __syncwarp();  // keeps the compiler from hoisting all loads of keys, which costs registers
        }
        if constexpr (paired) {
            const Value* from_values = (source == 0 ? pass.values[0] : pass.values[1]) + pass.begin + begin;
            Value* to_values = source == 0 ? pass.values[1] : pass.values[0];
            Value values[shape::per_thread];
#pragma unroll
            for (unsigned u = 0; u < shape::per_thread; ++u)
                if (Whole || first + u * 32 < count) values[u] = from_values[first + u * 32];
            __syncthreads();
#pragma unroll
            for (unsigned u = 0; u < shape::per_thread; ++u) shared.values[ranks[u]] = values[u];
            __syncthreads();
#pragma unroll
            for (unsigned u = 0; u < shape::per_thread; ++u) {
                const unsigned i = threadIdx.x + u * shape::threads;
                const std::uint32_t key_digit = packed_digits[u / 4] >> u % 4 * 8 & 255u;
                if (Whole || i < count)
                    to_values[static_cast<Position>(digit_begins[key_digit] + i)] = shared.values[i];
                __syncwarp();
            }
        }
    };
    if (count == shape::size)
        move(std::true_type());
    else
        move(std::false_type());
}

/// After an odd number of passes: copies everything back, one thread per pair.
template <class Raw, class Value>
__global__ void bring_back_kernel(Raw* keys, const Raw* spare_keys, Value* values, const Value* spare_values,
                                  std::uint64_t count, const pass_plan* end) {
    if (end->passes_before % 2 == 0) return;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
        keys[i] = spare_keys[i];
        if constexpr (!std::is_same_v<Value, no_value>) values[i] = spare_values[i];
    }
}

/// Cuts one allocation into aligned pieces: each allocation takes a microsecond, which matters for a million keys.
class pieces_of_memory {
  public:
    std::size_t add(std::size_t bytes) {
        const std::size_t at = bytes_;
        bytes_ += (bytes + 255) / 256 * 256;
        return at;
    }
    std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_ = 0;
};

template <class Raw, class Value>
void sort_in_passes(cuda_place& place, Raw* keys, Value* values, std::uint64_t count, key_bits_t<Raw> mask,
                    unsigned passes, std::uint64_t* nan_fault, sort_scratch<Raw, Value> capacity) {
    using shape = tile_shape<Raw, Value>;
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    const unsigned portions = blocks_for(count, portion_size);
    const unsigned rows = blocks_for(std::min(count, portion_size), shape::size);
    pieces_of_memory pieces;
    const std::size_t state_at = pieces.add(sizeof(sort_state));
    const std::size_t tickets_at = pieces.add(std::size_t{passes} * portions * sizeof(std::uint32_t));
    const std::size_t look_back_at = pieces.add(std::size_t{rows} * digits * sizeof(std::uint32_t));
    const std::size_t zeroed = pieces.bytes();
    pieces.add(std::size_t{rows} * digits * sizeof(std::uint32_t));  // the second area
    const std::size_t next_bins_at = pieces.add(std::size_t{portions - 1} * digits * sizeof(std::uint64_t));
    const std::size_t keys_at = pieces.add(capacity.keys == nullptr ? count * sizeof(Raw) : 0);
    const std::size_t values_at =
        pieces.add(paired && capacity.values == nullptr ? count * sizeof(Value) : 0);
    const cuda_array<std::byte> memory(place, pieces.bytes(), "a copy of what is sorted");
    std::byte* base = memory.data();
    if (capacity.keys == nullptr) capacity.keys = reinterpret_cast<Raw*>(base + keys_at);
    if (paired && capacity.values == nullptr) capacity.values = reinterpret_cast<Value*>(base + values_at);
    auto* state = reinterpret_cast<sort_state*>(base + state_at);
    auto* tickets = reinterpret_cast<std::uint32_t*>(base + tickets_at);
    auto* next_bins = reinterpret_cast<std::uint64_t*>(base + next_bins_at);
    place.fill_bytes(base, 0, zeroed);

    const unsigned count_blocks =
        std::min(4 * place.multiprocessors(), blocks_for(count, count_threads * count_per_thread));
    QUERN_LAUNCH(place, (launch_shape{count_blocks, count_threads}), count_digits_kernel<Raw>, keys, count,
                 mask, passes, state, nan_fault);
    for (unsigned p = 0; p < passes; ++p) {
        for (unsigned q = 0; q < portions; ++q) {
            const std::uint64_t begin = q * portion_size;
            const auto length = static_cast<std::uint32_t>(std::min(portion_size, count - begin));
            const pass_arguments<Raw, Value> pass{
                {keys, capacity.keys},
                {values, capacity.values},
                begin,
                length,
                mask,
                8 * p,
                q,
                portions,
                &state->plan[p],
                tickets + p * portions + q,
                q == 0 ? state->bins[p] : next_bins + (q - 1) * digits,
                q + 1 < portions ? next_bins + q * digits : nullptr,
                reinterpret_cast<std::uint32_t*>(base + look_back_at),
                rows,
            };
            const launch_shape grid{blocks_for(length, shape::size), shape::threads};
            if (count <= std::uint32_t(-1))
                QUERN_LAUNCH(place, grid, (sort_pass_kernel<Raw, Value, std::uint32_t>), pass);
            else
                QUERN_LAUNCH(place, grid, (sort_pass_kernel<Raw, Value, std::uint64_t>), pass);
        }
    }
    if (passes % 2 == 1) {
        const unsigned blocks = std::min(8 * place.multiprocessors(), blocks_for(count, 256));
        QUERN_LAUNCH(place, (launch_shape{blocks, 256}), (bring_back_kernel<Raw, Value>), keys, capacity.keys,
                     values, capacity.values, count, &state->plan[passes]);
    }
}

constexpr unsigned nan_threads = 256;
constexpr unsigned nan_per_thread = 16;

/// A thread checks 16 keys. Bound by memory.
template <class Raw>
__global__ void __launch_bounds__(nan_threads)
    find_nan_kernel(const Raw* keys, std::uint64_t count, std::uint64_t* fault_word) {
    const std::uint64_t first = std::uint64_t{blockIdx.x} * nan_threads * nan_per_thread + threadIdx.x;
    Raw loaded[nan_per_thread];
#pragma unroll
    for (unsigned u = 0; u < nan_per_thread; ++u) {
        const std::uint64_t at = first + u * nan_threads;
        loaded[u] = at < count ? keys[at] : Raw{};
    }
#pragma unroll
    for (unsigned u = 0; u < nan_per_thread; ++u)
        if (is_not_a_number(loaded[u]))
            quern::cuda::note_fault(fault_word, fault::key_not_a_number, first + u * nan_threads);
}

}  // namespace

template <class Raw, class Value>
void radix_sort(cuda_place& place, Raw* keys, Value* values, std::uint64_t count, key_bits_t<Raw> mask,
                unsigned bits, bool look_for_nan, sort_scratch<Raw, Value> capacity) {
    if (count <= longest_block_range || bits == 0) {
        if (look_for_nan) refuse_nan(place, keys, count);
        if (count > 1 && bits != 0)
            sort_block_range<Raw, Value>(place, static_cast<std::uint32_t>(count),
                                         {keys, nullptr, values, nullptr, mask, bits});
        return;
    }
    std::uint64_t* nan_fault = look_for_nan && floating_value<Raw> ? place.fault_word() : nullptr;
    sort_in_passes(place, keys, values, count, mask, (bits + 7) / 8, nan_fault, capacity);
}

template <class Raw>
void refuse_nan(cuda_place& place, const Raw* keys, std::uint64_t count) {
    if constexpr (floating_value<Raw>)
        QUERN_LAUNCH(place, (launch_shape{blocks_for(count, nan_threads * nan_per_thread), nan_threads}),
                     find_nan_kernel<Raw>, keys, count, place.fault_word());
}

}  // namespace quern::primitives::cuda

/// Everything above for one raw type of key.
#define QUERN_RADIX_SORT_OF(RAW)                                                                           \
    namespace quern::primitives::cuda {                                                                    \
    template void refuse_nan(cuda_place&, const RAW*, std::uint64_t);                                      \
    template void radix_sort(cuda_place&, RAW*, no_value*, std::uint64_t, key_bits_t<RAW>, unsigned, bool, \
                             sort_scratch<RAW, no_value>);                                                 \
    template void radix_sort(cuda_place&, RAW*, std::uint32_t*, std::uint64_t, key_bits_t<RAW>, unsigned,  \
                             bool, sort_scratch<RAW, std::uint32_t>);                                      \
    template void radix_sort(cuda_place&, RAW*, std::uint64_t*, std::uint64_t, key_bits_t<RAW>, unsigned,  \
                             bool, sort_scratch<RAW, std::uint64_t>);                                      \
    }
