// SPDX-License-Identifier: Apache-2.0
// The building blocks of sums, maxima and minima on CUDA: how a value is converted and combined, and the canonical order of
// primitives/reduce/reduce.hpp for one block of 1,024 values by one warp. Integers and extremes of segments, which allow any
// order, are combined in the same one.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "primitives/reduce/reduce.hpp"

namespace quern::primitives {

constexpr unsigned canonical_block = 1024;  // values
constexpr unsigned canonical_lanes = 32;

/// How values of type T are reduced; `held` is the carried state, unsigned for sums of integers.
template <class T, reduce_operation operation>
struct reduction {
    static constexpr bool sums = operation == reduce_operation::sum;
    static constexpr bool floating = std::is_floating_point_v<T>;
    static constexpr bool refuses_nan = floating && !sums;
    using value_type = T;
    using held = std::conditional_t<refuses_nan, T,
                                    std::conditional_t<sums && !floating, std::uint64_t, reduced_type<T>>>;

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
    __device__ static held combine(held a, held b) {
        if constexpr (sums) return a + b;
        if constexpr (operation == reduce_operation::maximum) return a < b ? b : a;
        return b < a ? b : a;
    }
    /// The result for the caller: one NaN, and one zero.
    __device__ static reduced_type<T> finish(held value) {
        if constexpr (floating && sums)
            return value == value ? value : __longlong_as_double(0x7ff8000000000000);
        if constexpr (floating) return value == 0 ? 0 : value;
        return static_cast<reduced_type<T>>(value);
    }
};

/// Reads values from an array that begins at position `begin`, and records whether one of them was rejected.
template <class Reduction>
class reader {
    using T = typename Reduction::value_type;

  public:
    __host__ __device__ reader(const T* values, std::uint64_t begin)
        : values_(values + begin), begin_(begin) {}
    __device__ T load(std::uint64_t i) const { return values_[i]; }
    __device__ typename Reduction::held take(T value) {
        if constexpr (Reduction::refuses_nan) refused_ |= value != value;
        return static_cast<typename Reduction::held>(value);
    }
    /// Finds the rejected value: searches the thread's values first, first + step, … below `end` again, and records the
    /// first invalid one.
    __device__ void note(std::uint64_t first, std::uint64_t step, std::uint64_t end,
                         std::uint64_t* fault_word) const {
        if constexpr (Reduction::refuses_nan) {
            if (!refused_) return;
            for (std::uint64_t i = first; i < end; i += step) {
                if (values_[i] == values_[i]) continue;
                quern::cuda::note_fault(fault_word, fault::key_not_a_number, begin_ + i);
                return;
            }
        }
    }

  private:
    const T* values_;
    std::uint64_t begin_;
    bool refused_ = false;
};

/// Reads sums of lower levels.
template <class Reduction>
struct sums_reader {
    const typename Reduction::held* sums;
    __device__ typename Reduction::held load(std::uint64_t i) const { return sums[i]; }
    __device__ typename Reduction::held take(typename Reduction::held sum) const { return sum; }
};

/// Folds the sums of 32 lanes: lane 0 has the result.
template <class Reduction>
__device__ typename Reduction::held fold_lanes(typename Reduction::held mine) {
#pragma unroll
    for (unsigned h = canonical_lanes / 2; h != 0; h /= 2)
        mine = Reduction::combine(mine, __shfl_down_sync(~0u, mine, h));
    return mine;
}

/// One block: `count` ≤ 1,024 values of a reader, from `first` on. By a whole warp; lane 0 has the result.
template <class Reduction, class Reader>
__device__ typename Reduction::held reduce_block(Reader& from, std::uint64_t first, unsigned count) {
    using loaded = decltype(from.load(0));
    constexpr unsigned batch = 64 / sizeof(loaded) < 32 ? 16 : 32;  // loads in flight
    const unsigned lane = threadIdx.x % canonical_lanes;
    auto mine = Reduction::identity();
    if (count == canonical_block) {
#pragma unroll 1
        for (unsigned row = 0; row < canonical_block; row += batch * canonical_lanes) {
            loaded values[batch];
#pragma unroll
            for (unsigned k = 0; k < batch; ++k)
                values[k] = from.load(first + row + k * canonical_lanes + lane);
#pragma unroll
            for (unsigned k = 0; k < batch; ++k) mine = Reduction::combine(mine, from.take(values[k]));
        }
    } else {
#pragma unroll 4
        for (unsigned i = lane; i < count; i += canonical_lanes)
            mine = Reduction::combine(mine, from.take(from.load(first + i)));
    }
    return fold_lanes<Reduction>(mine);
}

constexpr unsigned reduce_scratch = 2 * canonical_block;
/// Three levels of sums: more than any device's memory.
constexpr std::uint64_t max_reduced = std::uint64_t{1} << 40;

/// The upper levels: reduces `count` sums of blocks until one is left. By a whole block of 1,024 threads; thread 0
/// has the result. `scratch`: reduce_scratch values of shared memory. For the sums of up to max_reduced values.
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
            sums_reader<Reduction> from{sums + begin};
            const held sum = reduce_block<Reduction>(
                from, first, static_cast<unsigned>(min(in_group - first, std::uint64_t{canonical_block})));
            if (lane == 0) scratch[b] = sum;
        }
        __syncthreads();
        if (warp == 0) {
            sums_reader<Reduction> from{scratch};
            const held sum = reduce_block<Reduction>(from, 0, blocks);
            if (lane == 0) upper[groups] = sum;
        }
        __syncthreads();
    }
    if (warp != 0) return Reduction::identity();
    sums_reader<Reduction> from{upper};
    return reduce_block<Reduction>(from, 0, groups);
}

}  // namespace quern::primitives
