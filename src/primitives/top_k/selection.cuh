// SPDX-License-Identifier: Apache-2.0
// The building blocks of the top-k kernels, for a team of threads that is a whole grid (one long list) or one block (a row
// of a matrix): reading every key in 16-byte pieces, narrowing composites digit by digit, sorting tiles, and merging sorted
// tiles by rank. The composites are all different, so nothing here depends on the order of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda/atomic>

#include "device/cuda/check.cuh"
#include "device/cuda/cuda_place.hpp"
#include "primitives/top_k/composite.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::primitives::top_k_detail {

// The selection shared by both entry points of the GPU.

/// The k best (at least one) of the n keys, by key and id; `ids` null: positions. Only checks for NaN, whose position is
/// relative to `first_position`.
template <class Key>
void select_best(cuda_place& place, const Key* keys, const std::uint32_t* ids, std::uint64_t n,
                 std::uint64_t k, Key* best_keys, std::uint32_t* best_ids, best which,
                 std::uint64_t first_position = 0);

/// One thread for each composite of a tile: the unit of block_sort, and the threads of every block.
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
    std::uint64_t first_position = 0;  ///< of a recorded NaN

    __device__ std::uint32_t id(std::uint64_t position) const {
        return ids != nullptr ? ids[position] : static_cast<std::uint32_t>(position);
    }
};

/// The filter of a limit: passes the composites that do not exceed it, and NaNs. Keys are compared directly, not turned, so
/// that a pass over them costs one comparison each.
template <class Key>
class limit_filter {
  public:
    __device__ limit_filter(const key_list<Key>& list, typename ranking<Key>::composite limit)
        : limit_(limit),
          limit_key_(list.ranks.key_of(limit)),
          better_key_(list.ranks.turned(next_better(ranking<Key>::turned_of(limit)))),
          // Ids that are positions ascend: after the limit's own, a key equal to it is worse.
          strict_from_(list.ids == nullptr ? std::uint64_t{ranking<Key>::id_of(limit)} + 1
                                           : ~std::uint64_t{0}) {}

    /// The key that all keys from this position on must reach.
    __device__ Key limit_from(std::uint64_t position) const {
        return position >= strict_from_ ? better_key_ : limit_key_;
    }
    __device__ bool passes(typename ranking<Key>::composite packed) const { return packed <= limit_; }

  private:
    /// The next smaller value; the smallest itself, so that nothing is missed.
    static __device__ Key next_better(Key turned) {
        using word = typename ranking<Key>::word;
        if constexpr (ranking<Key>::floating) {
            if (turned == 0) return std::bit_cast<Key>(static_cast<word>(ranking<Key>::top_bit | 1));
            const word bits = std::bit_cast<word>(turned);
            if (turned > 0) return std::bit_cast<Key>(static_cast<word>(bits - 1));
            const Key smaller = std::bit_cast<Key>(static_cast<word>(bits + 1));
            return smaller == smaller ? smaller : turned;  // beyond −∞ come NaNs
        } else {
            const Key smaller = std::bit_cast<Key>(static_cast<word>(std::bit_cast<word>(turned) - 1));
            return smaller < turned ? smaller : turned;
        }
    }

    typename ranking<Key>::composite limit_;
    Key limit_key_, better_key_;
    std::uint64_t strict_from_;
};

/// Block `block` of `blocks` blocks reads its share of the keys: a thread calls sink(key, position) for those that reach
/// filter.limit_from(…) of a position not after them. `Loads` · 16 bytes per thread are always in flight. The filter comes
/// from begin(), which is called after the first loads are issued.
template <unsigned Loads, bool Greatest, class Key, class Begin, class Sink>
__device__ void for_each_key_in(const key_list<Key>& list, unsigned block, unsigned blocks,
                                const Begin& begin, const Sink& sink) {
    constexpr unsigned wide = 16 / sizeof(Key), at_once = Loads * tile_size;
    union vector {
        uint4 words;
        Key keys[wide];
    };
    const unsigned t = threadIdx.x, thread = block * tile_size + t, threads = blocks * tile_size;
    const unsigned n = static_cast<unsigned>(list.size);
    const unsigned after =
        static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(list.keys) % 16 / sizeof(Key));
    const unsigned head = min((wide - after) % wide, n), vectors = (n - head) / wide,
                   tail = head + vectors * wide;
    // Whole rounds of all blocks, each block a contiguous piece; the rest is fewer than Loads vectors per thread.
    const unsigned rounds = vectors / (at_once * blocks), rest = rounds * at_once * blocks;
    const uint4* const first = reinterpret_cast<const uint4*>(list.keys + head);
    vector loaded[Loads];
    const auto index = [&](unsigned round, unsigned u) {
        if (round < rounds) return (round * blocks + block) * at_once + u * tile_size + t;
        return min(rest + thread + u * threads, vectors - 1);  // past the end the last again: no load waits
    };
    if (vectors != 0) {
#pragma unroll
        for (unsigned u = 0; u < Loads; ++u) loaded[u].words = first[index(0, u)];
    }
    const auto filter = begin();
    const auto reaches = [](Key key, Key limit) {
        return !(Greatest ? key < limit : key > limit);
    };  // NaNs do
    const auto one = [&](unsigned position, Key limit) {
        const Key key = list.keys[position];
        if (reaches(key, limit)) sink(filter, key, position);
    };
    if (thread < head) one(thread, filter.limit_from(0));
    if (thread < n - tail) one(tail + thread, filter.limit_from(tail));
    for (unsigned round = 0; round <= rounds && vectors != 0; ++round) {
        const bool whole = round < rounds;
        const Key limit = filter.limit_from(head + std::uint64_t{whole ? index(round, 0) - t : rest} * wide);
        unsigned hits = 0;  // vectors with a key that reaches the limit; these few are read again
#pragma unroll
        for (unsigned u = 0; u < Loads; ++u) {
            bool any = false;
#pragma unroll
            for (unsigned j = 0; j < wide; ++j) any |= reaches(loaded[u].keys[j], limit);
            if (any) hits |= 1u << u;
            if (whole) loaded[u].words = first[index(round + 1, u)];  // together: memory is never idle
        }
        for (; hits != 0; hits &= hits - 1) {
            const unsigned u = static_cast<unsigned>(__ffs(static_cast<int>(hits)) - 1);
            const unsigned v = whole ? index(round, u) : rest + thread + u * threads;
            if (v >= vectors) break;
            const vector again = {first[v]};
            for (unsigned j = 0; j < wide; ++j)
                if (reaches(again.keys[j], limit)) sink(filter, again.keys[j], head + v * wide + j);
        }
    }
}

template <unsigned Loads, class Key, class Begin, class Sink>
__device__ void for_each_key(const key_list<Key>& list, unsigned block, unsigned blocks, const Begin& begin,
                             const Sink& sink) {
    if (list.ranks.flip() != 0)
        for_each_key_in<Loads, true>(list, block, blocks, begin, sink);
    else
        for_each_key_in<Loads, false>(list, block, blocks, begin, sink);
}

/// The best composite of those that thread `thread` of `threads` samples: `rounds` keys, one of each range thread + r ·
/// threads of the list cut into rounds · threads of them; the first NaN ends its sample. Neighbouring ranges go to
/// different threads, so that the first of a sorted list are different samples.
constexpr unsigned max_rounds = 4;
template <class Key>
__device__ typename ranking<Key>::composite sample_best(const key_list<Key>& list, unsigned rounds,
                                                        unsigned thread, unsigned threads) {
    using composite = typename ranking<Key>::composite;
    const float each = static_cast<float>(list.size) / static_cast<float>(rounds * threads);
    Key turned[max_rounds];
    std::uint64_t positions[max_rounds];
#pragma unroll
    for (unsigned r = 0; r < max_rounds; ++r) {
        if (r >= rounds) break;
        const unsigned chunk = r * threads + thread;
        // The position in its range: the upper bits of a product with an odd number (Knuth), the same in every run.
        const std::uint64_t begin = list.size * chunk / (rounds * threads);
        const auto into =
            static_cast<std::uint64_t>(each * (static_cast<float>((chunk * 2654435769u) >> 8) * 0x1p-24f));
        positions[r] = min(begin + into, list.size - 1);
        turned[r] = list.ranks.turned(list.keys[positions[r]]);
    }
    composite best = ranking<Key>::worst;
#pragma unroll
    for (unsigned r = 0; r < max_rounds; ++r) {
        if (r >= rounds || turned[r] != turned[r]) break;
        const composite packed = ranking<Key>::pack(turned[r], list.id(positions[r]));
        if (packed < best) best = packed;
    }
    return best;
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

template <class Composite>
__device__ Composite min_of(Composite a, Composite b) {
    return b < a ? b : a;
}

/// For the first `Groups` threads, a quarter of the block: the best of their own value and those of the threads one, two
/// and three quarters further (neighbours have the best of a sorted list). `board`: one composite per thread.
template <unsigned Groups, class Composite>
__device__ Composite best_of_four(Composite mine, Composite* board) {
    static_assert(4 * Groups == tile_size);
    const unsigned t = threadIdx.x;
    board[t] = mine;
    __syncthreads();
    if (t < Groups)
        mine = min_of(min_of(mine, board[t + Groups]), min_of(board[t + 2 * Groups], board[t + 3 * Groups]));
    return mine;
}

/// Sorts the composites that threads hold, one each, within every `Width` neighbouring threads (a power of two): thread t
/// then holds the (t % Width)-th of its group. Batcher's bitonic network: strides within a warp by shuffles, longer ones
/// through `exchange`, two composites per thread of shared memory. All threads of the block must call it, those with an
/// `idle` group (uniform in a warp) for the barriers only; it ends without a barrier.
template <unsigned Width, class Composite>
__device__ Composite block_sort(Composite mine, Composite* exchange, bool idle = false) {
    const unsigned t = threadIdx.x;
    unsigned half = 0;  // two alternating buffers: one barrier per exchange
#pragma unroll
    for (unsigned size = 2; size <= Width; size *= 2) {
        const bool falling = size < Width && (t & size) != 0;
#pragma unroll
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            Composite other = mine;
            if (stride >= 32) {
                Composite* const board = exchange + half * blockDim.x;
                if (!idle) board[t] = mine;
                __syncthreads();
                if (!idle) other = board[t ^ stride];
                half ^= 1;
            } else if (!idle) {
                other = shuffle_xor(mine, stride);
            }
            const bool keep_smaller = ((t & stride) == 0) != falling;
            if ((other < mine) == keep_smaller) mine = other;
        }
    }
    return mine;
}

/// The number of the `size` ascending composites at `sorted` that are smaller.
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

/// From digit counts, the digit with the k-th (from 1) of all, and the counts before it and in it. All threads of a block
/// of tile_size must call it; all get the same result.
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

/// A composite that at least k and at most `max` of the list do not exceed (k ≤ most), by radix select from the first
/// digit down: the slow method, in up to digit_passes passes over all keys, for lists where a sample is misleading.
/// - NaNs take part as the composite of some number: the caller rejects them.
/// - The team is `blocks` blocks, this one is `block`: every warp loops as often as its lanes do.
/// - `counts`: `digits` counters in shared memory; combine(counts, pass) makes them sums over the team.
template <class Key, class Combine>
__device__ __noinline__ typename ranking<Key>::composite narrow(const key_list<Key>& list, std::uint64_t k,
                                                                std::uint64_t max, unsigned block,
                                                                unsigned blocks, unsigned* counts,
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
        const unsigned lane = threadIdx.x % 32;
        for (std::uint64_t of_warp = std::uint64_t{block} * tile_size + (threadIdx.x - lane);
             of_warp < list.size; of_warp += std::uint64_t{blocks} * tile_size) {
            unsigned digit = digits;  // not one
            if (of_warp + lane < list.size) {
                const composite packed =
                    ranking<Key>::pack(list.ranks.turned(list.keys[of_warp + lane]), list.id(of_warp + lane));
                if (pass == 0 || packed >> shift == prefix)
                    digit = static_cast<unsigned>(packed >> below) & ((1u << taken) - 1);
            }
            int uniform = 0;  // if all fall together, as equal keys do, one addition
            __match_all_sync(0xffffffffu, digit, &uniform);
            if (digit == digits) continue;
            if (uniform == 0) atomicAdd(&counts[digit], 1u);
            if (uniform != 0 && lane == 0) atomicAdd(&counts[digit], 32u);
        }
        __syncthreads();
        combine(counts, pass);
        const found_digit found = find_digit(counts, wanted);
        prefix = prefix << taken | found.digit;
        shift = below;
        if (better + found.before + found.in <= max) break;
        better += found.before;
        wanted -= found.before;
    }
    return ((prefix + 1) << shift) - 1;
}

}  // namespace quern::primitives::top_k_detail
