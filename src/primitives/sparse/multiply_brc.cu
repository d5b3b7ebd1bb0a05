// SPDX-License-Identifier: Apache-2.0
// The two kernels that add as printed in their papers, in Value, joined by atomic additions in free order: brc (Ashari et
// al. 2014), one lane per row of a block; and brcp's (Yang et al. 2019, algorithms 2 and 3), where a segment's sum is a
// difference of the warp's prefix sums.
//
// Two errors of the latter's listing are corrected: it reads row_seg_len at the number of the launch instead of the loop's,
// and has no barrier between writing prefix sums and reading them (here they are exchanged by shuffles, which need none).
// One launch covers all blocks; the paper loops.
#include "device/cuda/check.cuh"
#include "primitives/segments.hpp"
#include "primitives/sparse/device_checks.hpp"
#include "primitives/sparse/multiply.hpp"

namespace quern::primitives {
namespace {

using sparse_cuda::check_vectors;

constexpr unsigned block_threads = 256;

/// The sum of a lane over its block, starting from +0, in order.
template <class Value>
__device__ Value sum_lane(const std::uint32_t* column, const Value* value, std::uint64_t width,
                          const Value* x) {
    Value sum = 0;
    for (std::uint64_t k = 0; k < width; ++k) {
        const std::uint32_t at = column[k * 32];
        if (at != no_index) sum += value[k * 32] * __ldg(x + at);
    }
    return sum;
}

/// One warp per block, one lane per row.
template <class Value>
__global__ __launch_bounds__(block_threads) void add_brc_kernel(
    const std::uint64_t* block_begin, const std::uint32_t* nz_per_block, const std::uint32_t* row_perm,
    const std::uint32_t* column, const Value* value, const Value* x, Value* y, std::uint64_t lanes) {
    const std::uint64_t id = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
    if (id >= lanes) return;
    const std::uint64_t at = block_begin[id / 32] + id % 32;
    const Value sum = sum_lane(column + at, value + at, nz_per_block[id / 32], x);
    if (row_perm[id] != no_index) atomicAdd(y + row_perm[id], sum);
}

/// One warp per block. `lanes` is a multiple of 32: warps are whole.
template <class Value>
__global__ __launch_bounds__(block_threads) void add_brcp_kernel(
    const std::uint64_t* block_ptr, const std::uint32_t* row_perm, const std::uint32_t* row_seg_len,
    const std::uint32_t* column, const Value* value, const Value* x, Value* y, std::uint64_t lanes) {
    const std::uint64_t id = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
    if (id >= lanes) return;
    const unsigned lane = id % 32;
    const std::uint64_t begin = block_ptr[id / 32], width = (block_ptr[id / 32 + 1] - begin) / 32;
    const Value own = sum_lane(column + begin + lane, value + begin + lane, width, x);
    Value prefix = own;
    for (unsigned offset = 1; offset < 32; offset *= 2) {
        const Value before = __shfl_up_sync(~0u, prefix, offset);
        if (lane >= offset) prefix = prefix + before;
    }
    const std::uint32_t length = row_seg_len[id];
    const Value last = __shfl_sync(~0u, prefix, length == 0 ? lane : lane + length - 1);
    if (length != 0) atomicAdd(y + row_perm[id], own + last - prefix);
}

}  // namespace

template <floating_value Value>
void multiply(cuda_place& place, const brc_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    place.fill_bytes(y.data(), 0, y.size_bytes());
    const std::uint64_t lanes = matrix.row_perm.size();
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(lanes, block_threads), block_threads}),
                 add_brc_kernel<Value>, matrix.block_begin.data(), matrix.nz_per_block.data(),
                 matrix.row_perm.data(), matrix.column.data(), matrix.value.data(), x.data(), y.data(),
                 lanes);
}

template <floating_value Value>
void multiply_as_printed(cuda_place& place, const brcp_matrix<cuda_place, Value>& matrix,
                         device_span<const Value> x, device_span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    place.fill_bytes(y.data(), 0, y.size_bytes());
    const std::uint64_t lanes = matrix.row_perm.size();
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(lanes, block_threads), block_threads}),
                 add_brcp_kernel<Value>, matrix.block_ptr.data(), matrix.row_perm.data(),
                 matrix.row_seg_len.data(), matrix.column.data(), matrix.value.data(), x.data(), y.data(),
                 lanes);
}

template void multiply(cuda_place&, const brc_matrix<cuda_place, float>&, device_span<const float>,
                       device_span<float>);
template void multiply(cuda_place&, const brc_matrix<cuda_place, double>&, device_span<const double>,
                       device_span<double>);
template void multiply_as_printed(cuda_place&, const brcp_matrix<cuda_place, float>&,
                                  device_span<const float>, device_span<float>);
template void multiply_as_printed(cuda_place&, const brcp_matrix<cuda_place, double>&,
                                  device_span<const double>, device_span<double>);

}  // namespace quern::primitives
