// SPDX-License-Identifier: Apache-2.0
// Rounds a row's sum once, on the device.
// - The fast pass adds the products in any order, with an error bound (bounded_sum). The bound nearly always leaves one
//   possible Value (close).
// - A warp settles a row left open (settle_row): first by also adding up the errors of all additions, which settles nearly
//   all of them (zeros, sums halfway between two doubles); then in integers (exact_sum.hpp), which leaves nothing open.
//
// docs/primitives/sparse.md has the proof of the bounds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "primitives/sparse/exact_sum.hpp"
#include "primitives/sparse/formats.hpp"

namespace quern::primitives::sparse_cuda {

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned block_warps = block_threads / 32;
inline constexpr unsigned all_lanes = ~0u;
/// Open rows of 32 that are settled one after another, by a warp each, instead of all together, by a lane each; and entries
/// of a row that a lane takes.
inline constexpr int few_rows = 4;
inline constexpr unsigned few_columns = 256;

/// A load of data that is read once: the first-level cache is left to x. The second keeps it, for the next product.
template <class T>
__device__ inline T load_once(const T* from) {
    if constexpr (sizeof(T) == 4) {
        unsigned word;
        asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(word) : "l"(from));
        return std::bit_cast<T>(word);
    } else {
        unsigned long long word;
        asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(word) : "l"(from));
        return std::bit_cast<T>(word);
    }
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

/// Σ a·x of some entries of a row, and the base of its error bound: at least Σ |a·x|. Added and joined in any order.
template <class Value>
struct bounded_sum;

/// Products are exact in double. The error of the additions is bounded by the sum of their individual errors, which is zero
/// if the exact sum never has more than 53 binary digits: so sums halfway between two floats are closed too.
template <>
struct bounded_sum<float> {
    double sum = 0;
    double lost = 0;  ///< at least the sum of the errors' absolute values

    __device__ void add(float a, float x) {
        add_value(__dmul_rn(static_cast<double>(a), static_cast<double>(x)));
    }
    __device__ void join(const bounded_sum& other) {
        add_value(other.sum);
        lost = __dadd_ru(lost, other.lost);
    }
    template <class Move>
    __device__ bounded_sum moved(Move move) const {
        bounded_sum neighbour;
        neighbour.sum = move(sum);
        neighbour.lost = move(lost);
        return neighbour;
    }
    /// Whether the sum is known; it is then in `y`. Non-finite values make `lost` NaN and leave the row open.
    __device__ bool close(double /*terms*/, float& y) const {
        if (lost == 0) {
            y = __double2float_rn(sum);
            return true;
        }
        y = __double2float_rn(__dsub_rd(sum, lost));
        return lost <= 0x1p1000 && same_bits(y, __double2float_rn(__dadd_ru(sum, lost)));
    }

  private:
    __device__ void add_value(double value) {
        const two_sum both(sum, value);
        sum = both.sum;
        lost = __dadd_ru(lost, fabs(both.low));
    }
};

/// Twice double precision: also adds up the rounding errors of products and sums.
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
        bounded_sum neighbour;
        neighbour.sum = move(sum);
        neighbour.low = move(low);
        neighbour.size = move(size);
        return neighbour;
    }
    /// As above, for at most `terms` products. Overflow makes `size` too large or NaN.
    __device__ bool close(double terms, double& y) const {
        const double factor = __dmul_ru(__dmul_ru(3 * terms, 0x1p-53), __dmul_ru(terms + 2, 0x1p-53));
        const double bound = __dadd_ru(__dmul_ru(factor, size), __dmul_ru(terms, 0x1p-1074));
        const two_sum both(sum, low);
        y = __dadd_rn(both.sum, __dsub_rd(both.low, bound));
        return size <= 0x1p1020 && same_bits(y, __dadd_rn(both.sum, __dadd_ru(both.low, bound)));
    }
};

/// The same for rows that the fast pass left open: the errors of the additions are added up without error too, and only the
/// remaining errors are bounded.
struct careful_sum {
    double sum = 0, low = 0;
    double lost = 0;     ///< at least the sum of the absolute remaining errors
    double largest = 0;  ///< at least the magnitude of any intermediate sum
    bool tiny = false;   ///< a product's error may be below the subnormals

    __device__ void add(float a, float x) {
        const double product = static_cast<double>(a) * static_cast<double>(x);
        add_parts(product, 0);
        largest = __dadd_ru(largest, fabs(product));
    }
    __device__ void add(double a, double x) {
        const double product = __dmul_rn(a, x);
        add_parts(product, __fma_rn(a, x, -product));
        largest = __dadd_ru(largest, fabs(product));
        tiny |= fabs(product) < 0x1p-960 && a != 0 && x != 0;
    }
    /// The same bits for either order of the two.
    __device__ void join(const careful_sum& other) {
        const two_sum sums(sum, other.sum), lows(low, other.low), both(sums.low, lows.sum);
        sum = sums.sum;
        low = both.sum;
        lost = __dadd_ru(__dadd_ru(lost, other.lost), __dadd_ru(fabs(lows.low), fabs(both.low)));
        largest = __dadd_ru(largest, other.largest);
        tiny |= other.tiny;
    }
    template <class Move>
    __device__ careful_sum moved(Move move) const {
        careful_sum neighbour;
        neighbour.sum = move(sum);
        neighbour.low = move(low);
        neighbour.lost = move(lost);
        neighbour.largest = move(largest);
        neighbour.tiny = move(static_cast<int>(tiny)) != 0;
        return neighbour;
    }
    template <class Value>
    __device__ bool close(double terms, Value& y) const {
        if (!(largest <= 0x1p1020)) return false;
        const two_sum both(sum, low);
        const double bound = tiny ? __dadd_ru(lost, __dmul_ru(terms, 0x1p-1074)) : lost;
        if (bound == 0 && (both.low == 0 || !exact_layout<Value>::is_float)) {
            y = static_cast<Value>(both.sum);
            return true;
        }
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
        const two_sum sums(sum, product), lows(sums.low, product_low), both(low, lows.sum);
        sum = sums.sum;
        low = both.sum;
        lost = __dadd_ru(lost, __dadd_ru(fabs(lows.low), fabs(both.low)));
    }
};

/// Shared memory of a warp that settles rows: 160 or 1,072 bytes.
template <class Value>
struct exact_words {
    std::int64_t words[exact_layout<Value>::limbs];
    unsigned flags;
};

/// Adds to a word of shared memory, as two additions of 32 bits, which the hardware supports.
__device__ inline void add_to_word(std::int64_t* word, std::int64_t amount) {
    auto* const halves = reinterpret_cast<unsigned*>(word);
    const auto low = static_cast<unsigned>(amount), before = atomicAdd(halves, low);
    const unsigned high = static_cast<unsigned>(amount >> 32) + (before + low < before ? 1 : 0);
    if (high != 0) atomicAdd(halves + 1, high);
}

/// The sum of a row, by a whole warp. row(each, pause): calls each(a, column) for this lane's share of the entries, and
/// pause() by all lanes together after at most max_uncarried of them. `terms`: maximum over all lanes.
template <class Value, class Row>
__device__ Value settle_row(const Row& row, double terms, const Value* x, exact_words<Value>& exact) {
    careful_sum careful;
    row([&](Value a, std::uint32_t column) { careful.add(a, __ldg(x + column)); }, [] {});
    for (unsigned d = 1; d < 32; d *= 2)
        careful.join(careful.moved([d](auto word) { return __shfl_xor_sync(all_lanes, word, d); }));
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

/// Consecutive entries [begin, end), in the form of settle_row.
template <class Value>
struct entry_range {
    const std::uint32_t* column;
    const Value* value;
    std::uint64_t begin, end;

    template <class Each, class Pause>
    __device__ void operator()(const Each& each, const Pause& pause) const {
        for (std::uint64_t from = begin; from < end; from += max_uncarried) {
            const std::uint64_t to = min(end, from + max_uncarried);
#pragma unroll 4
            for (std::uint64_t e = from + threadIdx.x % 32; e < to; e += 32) each(value[e], column[e]);
            pause();
        }
    }
};

/// A warp: all lanes call finish(word, its bits) for every non-zero word of marks in [from, words), distributed over all
/// warps of the grid, 32 words at a time.
template <class Finish>
__device__ void for_each_marked_word(const std::uint32_t* marks, std::uint64_t from, std::uint64_t words,
                                     const Finish& finish) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warp = std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / 32;
    const std::uint64_t step = std::uint64_t{gridDim.x} * block_warps * 32;
    for (std::uint64_t w = from + warp * 32; w < words; w += step) {
        const unsigned mark = w + lane < words ? marks[w + lane] : 0;
        for (unsigned left = __ballot_sync(all_lanes, mark != 0); left != 0; left &= left - 1) {
            const unsigned which = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
            finish(w + which, __shfl_sync(all_lanes, mark, which));
        }
    }
}

/// work(position) for each bit that is set.
template <class Work>
__device__ void for_each_bit(unsigned bits, const Work& work) {
    for (; bits != 0; bits &= bits - 1) work(static_cast<unsigned>(__ffs(static_cast<int>(bits))) - 1);
}

// All kernels of a product are launched before the previous ones end, including those of consecutive products: they start
// with data of the matrix, which is constant, and wait before they read x or write anything.

/// y ← +0, for formats that skip rows without entries. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void clear_kernel(Value* y, std::uint64_t rows) {
    cuda::let_next_kernel_start();
    cuda::wait_for_previous_kernel();
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < rows;
         i += std::uint64_t{gridDim.x} * block_threads)
        y[i] = 0;
}

/// The shape of an early launch.
inline cuda::launch_shape early(unsigned groups) {
    return {groups, block_threads, 0, false, true};
}

template <class Value>
void clear(cuda_place& place, device_span<Value> y) {
    const unsigned max = place.multiprocessors() * 8;
    QUERN_LAUNCH(place, early(std::min(max, cuda::blocks_for(y.size(), block_threads))), clear_kernel<Value>,
                 y.data(), y.size());
}

}  // namespace quern::primitives::sparse_cuda
