// SPDX-License-Identifier: Apache-2.0
// What the kernels of top-k are made of, for a team of threads that is a whole grid (one long list) or one block (a
// row of a matrix): looking at every key in 16-byte pieces, narrowing composites digit by digit, sorting tiles, and
// merging sorted tiles by rank. The composites are all different, so nothing here depends on who comes first.
#pragma once

#include <cooperative_groups.h>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>

#include "device/cuda/check.cuh"
#include "primitives/top_k/composite.hpp"

namespace quern::primitives::top_k_detail {

/// One thread for each composite of a tile: what block_sort sorts, and how many threads every block has.
constexpr unsigned tile_size = 1024;

constexpr unsigned digit_bits = 11, digits = 1u << digit_bits;
template <class Composite>
constexpr unsigned composite_bits = sizeof(Composite) == 8 ? 64 : 96;
template <class Composite>
constexpr unsigned digit_passes = (composite_bits<Composite> + digit_bits - 1) / digit_bits;

/// A list of keys to select from.
template <class Key>
struct key_list {
    const Key* keys;
    const std::uint32_t* ids;  ///< null: positions
    std::uint64_t size;
    ranking<Key> ranks;
    std::uint64_t first_position = 0;  ///< of a NaN that is noted

    __device__ std::uint32_t id(std::uint64_t position) const {
        return ids != nullptr ? ids[position] : static_cast<std::uint32_t>(position);
    }
};

/// Thread `rank` of `size` threads looks at its share of the keys: calls take(turned key, position) for those that
/// fit(turned key). Neighbouring threads load neighbouring 16 bytes, `Loads` of them before the first is looked at.
template <unsigned Loads, class Key, class Fit, class Take>
__device__ void for_each_key(const key_list<Key>& list, std::uint64_t rank, std::uint64_t size,
                             const Fit& fit, const Take& take) {
    constexpr unsigned wide = 16 / sizeof(Key);
    union vector {
        uint4 words;
        Key keys[wide];
    };
    const auto one = [&](std::uint64_t position) {
        const Key turned = list.ranks.turned(list.keys[position]);
        if (fit(turned)) take(turned, position);
    };
    const std::uint64_t behind = reinterpret_cast<std::uintptr_t>(list.keys) % 16 / sizeof(Key);
    const std::uint64_t odd = behind == 0 ? 0 : wide - behind, head = odd < list.size ? odd : list.size;
    const std::uint64_t vectors = (list.size - head) / wide, tail = head + vectors * wide;
    if (rank < head) one(rank);
    if (rank < list.size - tail) one(tail + rank);
    const uint4* const first = reinterpret_cast<const uint4*>(list.keys + head);
    for (std::uint64_t round = rank; round < vectors; round += size * Loads) {
        vector loaded[Loads];
#pragma unroll
        for (unsigned u = 0; u < Loads; ++u)
            if (round + u * size < vectors) loaded[u].words = first[round + u * size];
        unsigned hits = 0;  // vectors with a key that fits; these few are read again
#pragma unroll
        for (unsigned u = 0; u < Loads; ++u) {
            bool any = false;
#pragma unroll
            for (unsigned j = 0; j < wide; ++j) any |= fit(list.ranks.turned(loaded[u].keys[j]));
            if (any && round + u * size < vectors) hits |= 1u << u;
        }
        for (; hits != 0; hits &= hits - 1) {
            const std::uint64_t at =
                head + (round + static_cast<unsigned>(__ffs(static_cast<int>(hits)) - 1) * size) * wide;
            for (unsigned j = 0; j < wide; ++j) one(at + j);
        }
    }
}

/// The best composite of those that thread `thread` of `threads` samples: `rounds` keys, one of each stretch
/// thread + r · threads of the list cut into rounds · threads of them; the first NaN ends its sample. Neighbouring
/// stretches go to different threads, so that the first of a sorted list are different samples.
constexpr unsigned most_rounds = 4;
template <class Key>
__device__ typename ranking<Key>::composite sample_best(const key_list<Key>& list, unsigned rounds,
                                                        unsigned thread, unsigned threads) {
    using composite = typename ranking<Key>::composite;
    const float each = static_cast<float>(list.size) / static_cast<float>(rounds * threads);
    Key turned[most_rounds];
    std::uint64_t positions[most_rounds];
#pragma unroll
    for (unsigned r = 0; r < most_rounds; ++r) {
        if (r >= rounds) break;
        const unsigned stretch = r * threads + thread;
        // Where in its stretch: the upper bits of a product with an odd number (Knuth), the same in every run.
        const std::uint64_t begin = list.size * stretch / (rounds * threads);
        const auto into =
            static_cast<std::uint64_t>(each * (static_cast<float>((stretch * 2654435769u) >> 8) * 0x1p-24f));
        positions[r] = min(begin + into, list.size - 1);
        turned[r] = list.ranks.turned(list.keys[positions[r]]);
    }
    composite best = ranking<Key>::worst;
#pragma unroll
    for (unsigned r = 0; r < most_rounds; ++r) {
        if (r >= rounds || turned[r] != turned[r]) break;
        const composite packed = ranking<Key>::pack(turned[r], list.id(positions[r]));
        if (packed < best) best = packed;
    }
    return best;
}

/// All threads of all blocks of a cluster; writes to shared memory before it are seen after it.
__device__ inline void cluster_barrier() {
    cooperative_groups::this_cluster().sync();
}
/// The same variable of shared memory in another block of the cluster.
template <class T>
__device__ T* in_block_of_cluster(T* variable, unsigned block) {
    return cooperative_groups::this_cluster().map_shared_rank(variable, block);
}

template <class Composite>
__device__ Composite shuffle_xor(Composite value, unsigned stride) {
    if constexpr (sizeof(Composite) == 8) {
        return __shfl_xor_sync(0xffffffffu, value, stride);
    } else {
        const auto high = __shfl_xor_sync(0xffffffffu, static_cast<std::uint64_t>(value >> 64), stride);
        const auto low = __shfl_xor_sync(0xffffffffu, static_cast<std::uint64_t>(value), stride);
        return Composite{high} << 64 | low;
    }
}

/// Sorts the composites that the threads of a block hold, one each, within every `width` neighbouring threads
/// (a power of two, at most the block): thread t then holds the (t % width)-th of its group. Batcher's bitonic
/// network: strides within a warp by shuffles, longer ones through `exchange`, 2 · blockDim.x composites of shared
/// memory. All threads of the block call it; it ends without a barrier.
template <class Composite>
__device__ Composite block_sort(Composite mine, unsigned width, Composite* exchange) {
    const unsigned t = threadIdx.x;
    unsigned half = 0;  // two buffers by turns: one barrier an exchange
    for (unsigned size = 2; size <= width; size *= 2) {
        const bool falling = size < width && (t & size) != 0;
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            Composite other;
            if (stride >= 32) {
                Composite* const board = exchange + half * blockDim.x;
                board[t] = mine;
                __syncthreads();
                other = board[t ^ stride];
                half ^= 1;
            } else {
                other = shuffle_xor(mine, stride);
            }
            const bool keep_smaller = ((t & stride) == 0) != falling;
            if ((other < mine) == keep_smaller) mine = other;
        }
    }
    return mine;
}

/// How many of the `size` rising composites at `sorted` are smaller.
template <class Composite>
__device__ unsigned count_smaller(const Composite* sorted, unsigned size, Composite than) {
    unsigned first = 0, length = size;
    while (length > 0) {
        const unsigned half = length / 2;
        const bool smaller = sorted[first + half] < than;
        first = smaller ? first + half + 1 : first;
        length = smaller ? length - half - 1 : half;
    }
    return first;
}

/// Of digit counts, the digit with the k-th (from 1) of all, how many stand before it and in it. All threads of a
/// block of tile_size call it and get the same.
struct found_digit {
    unsigned digit;
    std::uint64_t before, in;
};
__device__ inline found_digit find_digit(const unsigned* counts, std::uint64_t k) {
    __shared__ std::uint64_t warp_sums[tile_size / 32];
    __shared__ found_digit found;
    static_assert(digits == 2 * tile_size);
    const unsigned t = threadIdx.x;
    const std::uint64_t a = counts[2 * t], b = counts[2 * t + 1];
    std::uint64_t sum = a + b;
    for (unsigned d = 1; d < 32; d *= 2) {
        const std::uint64_t left = __shfl_up_sync(0xffffffffu, sum, d);
        if (t % 32 >= d) sum += left;
    }
    if (t % 32 == 31) warp_sums[t / 32] = sum;
    __syncthreads();
    for (unsigned w = 0; w < t / 32; ++w) sum += warp_sums[w];
    const std::uint64_t before = sum - a - b;
    if (before < k && k <= before + a) found = {2 * t, before, a};
    if (before + a < k && k <= sum) found = {2 * t + 1, before + a, b};
    __syncthreads();
    const found_digit result = found;
    __syncthreads();
    return result;
}

/// A composite that at least k and at most `most` of the list do not exceed (k ≤ most), by radix select from the
/// first digit down: the slow way, in up to digit_passes passes over all keys, for lists that mislead a sample. NaNs
/// take part as the composite of some number: the caller refuses them. `counts`: `digits` counters in shared memory;
/// combine(counts, pass) makes them sums over the team.
template <class Key, class Combine>
__device__ __noinline__ typename ranking<Key>::composite narrow(const key_list<Key>& list, std::uint64_t k,
                                                                std::uint64_t most, std::uint64_t rank,
                                                                std::uint64_t size, unsigned* counts,
                                                                const Combine& combine) {
    using composite = typename ranking<Key>::composite;
    constexpr unsigned bits = composite_bits<composite>;
    composite prefix = 0;  // the digits found, as a number
    std::uint64_t wanted = k, better = 0;
    unsigned shift = bits;
    for (unsigned pass = 0; shift > 0; ++pass) {
        const unsigned taken = shift < digit_bits ? shift : digit_bits, below = shift - taken;
        for (unsigned d = threadIdx.x; d < digits; d += blockDim.x) counts[d] = 0;
        __syncthreads();
        for_each_key<2>(
            list, rank, size, [](Key) { return true; },
            [&](Key turned, std::uint64_t position) {
                const composite packed = ranking<Key>::pack(turned, list.id(position));
                if (pass != 0 && packed >> shift != prefix) return;
                const unsigned digit = static_cast<unsigned>(packed >> below) & ((1u << taken) - 1);
                const unsigned active = __activemask();
                int uniform = 0;  // where all fall together, as equal keys do, one addition
                __match_all_sync(active, digit, &uniform);
                if (uniform == 0) {
                    atomicAdd(&counts[digit], 1u);
                } else if (threadIdx.x % 32 == static_cast<unsigned>(__ffs(static_cast<int>(active)) - 1)) {
                    atomicAdd(&counts[digit], static_cast<unsigned>(__popc(active)));
                }
            });
        __syncthreads();
        combine(counts, pass);
        const found_digit found = find_digit(counts, wanted);
        prefix = prefix << taken | found.digit;
        shift = below;
        if (better + found.before + found.in <= most) break;
        better += found.before;
        wanted -= found.before;
    }
    return ((prefix + 1) << shift) - 1;
}

}  // namespace quern::primitives::top_k_detail
