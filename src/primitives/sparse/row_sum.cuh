// SPDX-License-Identifier: Apache-2.0
// How a row's sum is rounded once, on the device. The fast pass adds the products as they come, with a bound of the
// error (bounded_sum); the bound nearly always leaves one Value possible (close). A row that it leaves open is settled by
// a warp (settle_row): first with the errors of all additions kept, which ends rows whose sum is representable (zeros,
// integers) or close to the middle of two Values; then in integers (exact_sum.hpp), which nothing leaves open.
// docs/primitives/sparse.md has the proof of the bounds.
#pragma once

#include <cstdint>

#include "primitives/sparse/exact_sum.hpp"
#include "primitives/sparse/formats.hpp"

namespace quern::primitives::sparse_cuda {

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned block_warps = block_threads / 32;
inline constexpr unsigned all_lanes = ~0u;

/// A load of what is read once: it does not push x out of the first cache.
template <class T>
__device__ inline T load_once(const T* from) {
    return __ldcs(from);
}

/// a + b = sum + low, without error (Knuth).
struct two_sum {
    double sum, low;
    __device__ two_sum(double a, double b) {
        sum = __dadd_rn(a, b);
        const double b_part = __dsub_rn(sum, a);
        low = __dadd_rn(__dsub_rn(a, __dsub_rn(sum, b_part)), __dsub_rn(b, b_part));
    }
};

template <class Value>
__device__ bool same_bits(Value a, Value b) {
    using bits = typename exact_layout<Value>::bits;
    return std::bit_cast<bits>(a) == std::bit_cast<bits>(b);
}

/// Σ a·x of some entries of a row, and what bounds its error: at least Σ |a·x|. Adding and joining in any order.
template <class Value>
struct bounded_sum;

/// Products are exact in double.
template <>
struct bounded_sum<float> {
    double sum = 0;
    float size = 0;  ///< rounded up at each step: at least Σ |a·x|

    __device__ void add(float a, float x) {
        sum = __fma_rn(static_cast<double>(a), static_cast<double>(x), sum);
        size = __fmaf_ru(fabsf(a), fabsf(x), size);
    }
    __device__ void join(const bounded_sum& other) {
        sum = __dadd_rn(sum, other.sum);
        size = __fadd_ru(size, other.size);
    }
    template <class Move>
    __device__ bounded_sum moved(Move move) const {
        bounded_sum there;
        there.sum = move(sum);
        there.size = move(size);
        return there;
    }
    /// Whether the sum of at most `terms` products is known: then it is in `y`. Overflow and what is not finite leave
    /// `size` infinite or not a number, and the row open.
    __device__ bool close(double terms, float& y) const {
        if (size == 0) {
            y = 0;
            return true;
        }
        const double bound = __dmul_ru(__dmul_ru(terms + 1, 0x1.01p-53), static_cast<double>(size));
        y = __double2float_rn(__dsub_rd(sum, bound));
        return size <= 0x1.fffffep127f && same_bits(y, __double2float_rn(__dadd_ru(sum, bound)));
    }
};

/// Twice double: the parts that rounding takes from products and sums are added up beside.
template <>
struct bounded_sum<double> {
    double sum = 0, low = 0, size = 0;

    __device__ void add(double a, double x) {
        const double product = __dmul_rn(a, x);
        const two_sum both(sum, product);
        sum = both.sum;
        low = __dadd_rn(low, __dadd_rn(both.low, __fma_rn(a, x, -product)));
        size = __dadd_ru(size, fabs(product));
    }
    __device__ void join(const bounded_sum& other) {
        const two_sum both(sum, other.sum);
        sum = both.sum;
        low = __dadd_rn(low, __dadd_rn(other.low, both.low));
        size = __dadd_ru(size, other.size);
    }
    template <class Move>
    __device__ bounded_sum moved(Move move) const {
        bounded_sum there;
        there.sum = move(sum);
        there.low = move(low);
        there.size = move(size);
        return there;
    }
    __device__ bool close(double terms, double& y) const {
        const double factor = __dmul_ru(__dmul_ru(3 * terms, 0x1p-53), __dmul_ru(terms + 2, 0x1p-53));
        const double bound = __dadd_ru(__dmul_ru(factor, size), __dmul_ru(terms, 0x1p-1074));
        return close_within(bound, y);
    }
    /// As close(), with a bound of the error known from elsewhere.
    __device__ bool close_within(double bound, double& y) const {
        const two_sum both(sum, low);
        y = __dadd_rn(both.sum, __dsub_rd(both.low, bound));
        return size <= 0x1p1020 && same_bits(y, __dadd_rn(both.sum, __dadd_ru(both.low, bound)));
    }
};

/// The same for rows that the fast pass left open: the errors of all additions are kept and bounded themselves.
struct careful_sum {
    double sum = 0, low = 0;
    double size = 0;     ///< at least the sum of the errors' absolute values
    double largest = 0;  ///< at least what any sum on the way can reach
    bool tiny = false;   ///< a product's error may be among what is below the subnormals

    __device__ void add(float a, float x) { add_parts(static_cast<double>(a) * static_cast<double>(x), 0); }
    __device__ void add(double a, double x) {
        const double product = __dmul_rn(a, x);
        add_parts(product, __fma_rn(a, x, -product));
        tiny |= fabs(product) < 0x1p-960 && a != 0 && x != 0;
    }
    __device__ void join_lane(unsigned distance) {
        const auto from = [distance](double word) { return __shfl_xor_sync(all_lanes, word, distance); };
        const double other_low = from(low), other_size = from(size), other_largest = from(largest);
        const two_sum both(sum, from(sum));
        sum = both.sum;
        low = __dadd_rn(__dadd_rn(low, other_low), both.low);
        size = __dadd_ru(__dadd_ru(size, other_size), fabs(both.low));
        largest = __dadd_ru(largest, other_largest);
        tiny |= __shfl_xor_sync(all_lanes, static_cast<int>(tiny), distance) != 0;
    }
    template <class Value>
    __device__ bool close(double terms, Value& y) const {
        if (!(largest <= 0x1p1020)) return false;
        if (size == 0 && !tiny) {  // nothing was lost anywhere
            y = static_cast<Value>(sum);
            return true;
        }
        const double bound = __dadd_ru(__dmul_ru(__dmul_ru(2 * terms + 64, 0x1.01p-53), size),
                                       tiny ? __dmul_ru(terms, 0x1p-1074) : 0.0);
        const two_sum both(sum, low);
        const double below = __dsub_rd(both.low, bound), above = __dadd_ru(both.low, bound);
        if constexpr (exact_layout<Value>::is_float) {
            y = __double2float_rn(__dadd_rd(both.sum, below));
            return same_bits(y, __double2float_rn(__dadd_ru(both.sum, above)));
        } else {
            y = __dadd_rn(both.sum, below);
            return same_bits(y, __dadd_rn(both.sum, above));
        }
    }

  private:
    __device__ void add_parts(double product, double product_low) {
        const two_sum both(sum, product);
        sum = both.sum;
        low = __dadd_rn(low, __dadd_rn(both.low, product_low));
        size = __dadd_ru(size, __dadd_ru(fabs(both.low), fabs(product_low)));
        largest = __dadd_ru(largest, fabs(product));
    }
};

/// Shared memory of a warp that settles rows: 160 or 1,072 bytes.
template <class Value>
struct exact_words {
    std::int64_t words[exact_layout<Value>::limbs];
    unsigned flags;
};

/// Adds to a word of shared memory, as two additions of 32 bits, which the hardware has.
__device__ inline void add_to_word(std::int64_t* word, std::int64_t amount) {
    auto* const halves = reinterpret_cast<unsigned*>(word);
    const auto low = static_cast<unsigned>(amount), before = atomicAdd(halves, low);
    const unsigned high = static_cast<unsigned>(amount >> 32) + (before + low < before ? 1 : 0);
    if (high != 0) atomicAdd(halves + 1, high);
}

/// The sum of a row, by a whole warp. row(each, pause): calls each(a, column) for this lane's share of the entries, and
/// pause() by all lanes together after at most most_uncarried of them. `terms`: of all lanes, at most.
template <class Value, class Row>
__device__ Value settle_row(const Row& row, double terms, const Value* x, exact_words<Value>& exact) {
    careful_sum careful;
    row([&](Value a, std::uint32_t column) { careful.add(a, __ldg(x + column)); }, [] {});
    for (unsigned d = 1; d < 32; d *= 2) careful.join_lane(d);
    Value y;
    const bool closed = careful.close(terms, y);
    if (__shfl_sync(all_lanes, static_cast<int>(closed), 0) != 0) return __shfl_sync(all_lanes, y, 0);

    const unsigned lane = threadIdx.x % 32;
    __syncwarp();
    for (unsigned i = lane; i < exact_layout<Value>::limbs; i += 32) exact.words[i] = 0;
    if (lane == 0) exact.flags = 0;
    __syncwarp();
    row(
        [&](Value a, std::uint32_t column) {
            const unsigned flags =
                add_exact_product(a, __ldg(x + column), [&](unsigned limb, std::int64_t amount) {
                    if (amount != 0) add_to_word(exact.words + limb, amount);
                });
            if (flags != 0) atomicOr(&exact.flags, flags);
        },
        [&] {
            __syncwarp();
            if (lane == 0) carry_limbs<Value>(exact.words);
            __syncwarp();
        });
    __syncwarp();
    if (lane == 0) y = round_limbs<Value>(exact.words, exact.flags);
    return __shfl_sync(all_lanes, y, 0);
}

/// Entries that follow each other, [begin, end), as settle_row wants a row.
template <class Value>
struct stretch_of_entries {
    const std::uint32_t* column;
    const Value* value;
    std::uint64_t begin, end;

    template <class Each, class Pause>
    __device__ void operator()(const Each& each, const Pause& pause) const {
        for (std::uint64_t from = begin; from < end; from += most_uncarried) {
            const std::uint64_t to = min(end, from + most_uncarried);
#pragma unroll 4
            for (std::uint64_t e = from + threadIdx.x % 32; e < to; e += 32) each(value[e], column[e]);
            pause();
        }
    }
};

/// A warp: settle(word, bit) by all lanes for every bit that is set in `words` words of marks, shared out to all warps
/// of the grid, 32 words at a time, from `from` on.
template <class Settle>
__device__ void for_each_mark(const std::uint32_t* marks, std::uint64_t words, const Settle& settle,
                              std::uint64_t from = 0) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warp = std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / 32;
    const std::uint64_t step = std::uint64_t{gridDim.x} * block_warps * 32;
    for (std::uint64_t w = from + warp * 32; w < words; w += step) {
        const unsigned mark = w + lane < words ? marks[w + lane] : 0;
        for (unsigned left = __ballot_sync(all_lanes, mark != 0); left != 0; left &= left - 1) {
            const unsigned which = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
            for (unsigned bits = __shfl_sync(all_lanes, mark, which); bits != 0; bits &= bits - 1)
                settle(w + which, static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1);
        }
    }
}

/// y ← +0, for formats that leave rows without entries out. The kernel behind may start at once and waits before it
/// writes y. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void clear_kernel(Value* y, std::uint64_t rows) {
    cudaTriggerProgrammaticLaunchCompletion();
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < rows;
         i += std::uint64_t{gridDim.x} * block_threads)
        y[i] = 0;
}

}  // namespace quern::primitives::sparse_cuda
