// SPDX-License-Identifier: Apache-2.0
// What sums, maxima and minima on CUDA are made of: how a value is taken and combined, and the canonical order of
// primitives/reduce/reduce.hpp for one block of 1,024 values by one warp. Integers and extremes, which any order
// serves, are combined in the same one.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "primitives/reduce/reduce.hpp"

namespace quern::primitives {

constexpr unsigned canonical_block = 1024;  // values
constexpr unsigned canonical_lanes = 32;

/// How values of type T are reduced: `held` is what is carried, for sums of integers without its sign. An instance
/// belongs to a thread and remembers the first NaN that it was shown, where the operation refuses it.
template <class T, reduce_operation operation>
class reduction {
    static constexpr bool sums = operation == reduce_operation::sum;
    static constexpr bool floating = std::is_floating_point_v<T>;

  public:
    using value_type = T;
    using held = std::conditional_t<sums && !floating, std::uint64_t, reduced_type<T>>;
    static constexpr bool refuses_nan = floating && !sums;

    static constexpr held identity() {
        if constexpr (sums) {
            return 0;
        } else if constexpr (floating) {
            return operation == reduce_operation::maximum ? -std::numeric_limits<held>::infinity()
                                                          : std::numeric_limits<held>::infinity();
        } else {
            return operation == reduce_operation::maximum ? std::numeric_limits<T>::lowest()
                                                          : std::numeric_limits<T>::max();
        }
    }
    __device__ held take(T value, std::uint64_t position) {
        if constexpr (refuses_nan)
            if (value != value && position < first_nan_) first_nan_ = position;
        return static_cast<held>(value);
    }
    __device__ static held combine(held a, held b) {
        if constexpr (sums) return a + b;
        if constexpr (operation == reduce_operation::maximum) return a < b ? b : a;
        return b < a ? b : a;
    }
    /// What the caller sees: one NaN, and one zero.
    __device__ static reduced_type<T> finish(held value) {
        if constexpr (floating && sums)
            return value == value ? value : __longlong_as_double(0x7ff8000000000000);
        if constexpr (floating) return value == 0 ? 0 : value;
        return static_cast<reduced_type<T>>(value);
    }
    __device__ void note(std::uint64_t* fault_word) const {
        if constexpr (refuses_nan)
            if (first_nan_ != no_fault) cuda::note_fault(fault_word, fault::key_not_a_number, first_nan_);
    }

  private:
    std::uint64_t first_nan_ = no_fault;
};

/// Folds the sums of 32 lanes: lane 0 has the result.
template <class Reduction>
__device__ typename Reduction::held fold_lanes(typename Reduction::held mine) {
#pragma unroll
    for (unsigned h = canonical_lanes / 2; h != 0; h /= 2)
        mine = Reduction::combine(mine, __shfl_down_sync(~0u, mine, h));
    return mine;
}

/// One block: `count` ≤ 1,024 values, the i-th being load(i). By a whole warp; lane 0 has the result.
template <class Reduction, class Load>
__device__ typename Reduction::held reduce_block(unsigned count, Load load) {
    constexpr unsigned batch = 16;  // loads under way at once
    const unsigned lane = threadIdx.x % canonical_lanes;
    auto mine = Reduction::identity();
    if (count == canonical_block) {
        for (unsigned row = 0; row < canonical_block; row += batch * canonical_lanes) {
            typename Reduction::held values[batch];
#pragma unroll
            for (unsigned k = 0; k < batch; ++k) values[k] = load(row + k * canonical_lanes + lane);
#pragma unroll
            for (unsigned k = 0; k < batch; ++k) mine = Reduction::combine(mine, values[k]);
        }
    } else {
#pragma unroll 4
        for (unsigned i = lane; i < count; i += canonical_lanes) mine = Reduction::combine(mine, load(i));
    }
    return fold_lanes<Reduction>(mine);
}

/// The upper levels: reduces `count` sums of blocks until one is left. By a whole block of 1,024 threads; thread 0
/// has the result. `scratch`: 1,024 + 64 values of shared memory. For up to 2²⁶ sums (2³⁶ values).
template <class Reduction>
__device__ typename Reduction::held reduce_sums(const typename Reduction::held* sums, std::uint64_t count,
                                                typename Reduction::held* scratch) {
    using held = typename Reduction::held;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    constexpr std::uint64_t group = std::uint64_t{canonical_block} * canonical_block;
    held* const upper = scratch + canonical_block;
    unsigned groups = 0;
    for (std::uint64_t begin = 0; begin < count; begin += group, ++groups) {
        const std::uint64_t in_group = min(count - begin, group);
        const unsigned blocks = static_cast<unsigned>((in_group + canonical_block - 1) / canonical_block);
        for (unsigned b = warp; b < blocks; b += warps) {
            const std::uint64_t first = std::uint64_t{b} * canonical_block;
            const held* const from = sums + begin + first;
            const held sum = reduce_block<Reduction>(
                static_cast<unsigned>(min(in_group - first, std::uint64_t{canonical_block})),
                [&](unsigned i) { return from[i]; });
            if (lane == 0) scratch[b] = sum;
        }
        __syncthreads();
        if (warp == 0) {
            const held sum = reduce_block<Reduction>(blocks, [&](unsigned i) { return scratch[i]; });
            if (lane == 0) upper[groups] = sum;
        }
        __syncthreads();
    }
    if (warp != 0) return Reduction::identity();
    return reduce_block<Reduction>(groups, [&](unsigned i) { return upper[i]; });
}

}  // namespace quern::primitives
