// SPDX-License-Identifier: Apache-2.0
// Shared by formats that are stored across the rows (ell, brc, brcp): a warp sums columns of a slab, lane l the entries at
// l, l + stride, l + 2 stride, ….
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/cuda/portable.cuh"
#include "primitives/sparse/row_sum.cuh"

namespace quern::primitives::sparse_cuda {

template <unsigned value>
using constant = std::integral_constant<unsigned, value>;

/// Adds `steps` entries of this lane, `stride` (a number or a constant) apart. Entries are loaded a batch ahead, so that
/// they arrive while x is gathered for the previous ones. `cached`: neighbouring steps share a sector, which is kept.
template <unsigned batch, bool cached = false, class Value, class Sum, class Stride>
__device__ void add_columns(Sum& mine, const std::uint32_t* column, const Value* value, Stride stride,
                            std::uint32_t steps, const Value* x) {
    std::uint32_t columns[batch];
    Value values[batch], now[batch], gathered[batch];
    const auto load_one = [](const auto* from) { return cached ? __ldg(from) : load_once(from); };
    const auto load = [&](std::uint32_t count) {
#pragma unroll
        for (unsigned j = 0; j < batch; ++j) {
            columns[j] = j < count ? load_one(column + std::size_t{j} * stride) : no_index;
            values[j] = j < count ? load_one(value + std::size_t{j} * stride) : Value(0);
        }
        column += std::size_t{batch} * stride;
        value += std::size_t{batch} * stride;
    };
    const auto gather = [&] {
#pragma unroll
        for (unsigned j = 0; j < batch; ++j) {
            gathered[j] = columns[j] != no_index ? __ldg(x + columns[j]) : Value(0);
            now[j] = values[j];
        }
    };
    const auto add = [&] {
#pragma unroll
        for (unsigned j = 0; j < batch; ++j) mine.add(now[j], gathered[j]);
    };
    if (steps >= batch) {
        load(batch);
        for (steps -= batch; steps >= batch; steps -= batch) {
            gather();
            load(batch);
            add();
        }
        gather();
        if (steps == 0) return add();
        load(steps);
        add();
    } else {
        load(steps);
    }
    gather();
    add();
}

/// The begins and ends of runs of equal words in a warp.
struct lane_runs {
    unsigned heads;  ///< one bit for each lane whose word differs from the previous lane's

    __device__ explicit lane_runs(std::uint32_t word) {
        const std::uint32_t before = __shfl_up_sync(all_lanes, word, 1);
        heads = __ballot_sync(all_lanes, threadIdx.x % 32 == 0 || before != word);
    }
    __device__ bool is_head() const { return (heads >> threadIdx.x % 32 & 1) != 0; }
    /// The lane after this lane's run.
    __device__ unsigned end() const {
        const unsigned lane = threadIdx.x % 32, after = lane == 31 ? 0 : heads >> (lane + 1);
        return after == 0 ? 32 : lane + static_cast<unsigned>(__ffs(static_cast<int>(after)));
    }
};

/// Sums of runs, valid in their heads.
template <class Sum>
__device__ void join_runs(Sum& mine, const lane_runs& runs) {
    if (runs.heads == all_lanes) return;
    const unsigned lane = threadIdx.x % 32, end = runs.end(), longest = cuda::max_of_warp(end - lane);
    for (unsigned d = 1; d < longest; d *= 2) {
        const Sum other = mine.moved([d](auto word) { return __shfl_down_sync(all_lanes, word, d); });
        if (lane + d < end) mine.join(other);
    }
}

}  // namespace quern::primitives::sparse_cuda
