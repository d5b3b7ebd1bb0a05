// SPDX-License-Identifier: Apache-2.0
// y = A·x in ell: one lane per row, 32 rows per warp; up to 8 warps share the columns of wide matrices and join their sums
// in shared memory. The second kernel handles rows that the bound leaves open.
#include <algorithm>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "primitives/sparse/device_checks.hpp"
#include "primitives/sparse/ell_slices.cuh"
#include "primitives/sparse/multiply.hpp"

namespace quern::primitives {
namespace {

using namespace sparse_cuda;

constexpr unsigned batch = 4;

template <class Value>
struct ell_product {
    const std::uint32_t* column;
    const Value* value;
    const Value* x;
    Value* y;
    std::uint32_t rows, width;
    std::uint32_t* open;  ///< one bit per row: whether it is open
};

/// Warps w, w + 1, … w + warps − 1 of a thread block share the columns of 32 rows. A grid that covers the rows.
template <class Value>
__global__ __launch_bounds__(block_threads) void sum_rows_kernel(ell_product<Value> a, unsigned warps) {
    __shared__ bounded_sum<Value> board[block_threads];
    cuda::let_next_kernel_start();
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp % warps;
    const std::uint64_t slice = std::uint64_t{blockIdx.x} * (block_warps / warps) + warp / warps;
    const std::uint64_t row = slice * 32 + lane;
    cuda::wait_for_previous_kernel();
    bounded_sum<Value> mine;
    if (row < a.rows) {
        const auto from = static_cast<std::uint32_t>(std::uint64_t{a.width} * part / warps);
        const auto to = static_cast<std::uint32_t>(std::uint64_t{a.width} * (part + 1) / warps);
        const std::uint64_t at = std::uint64_t{from} * a.rows + row;
        add_columns<batch>(mine, a.column + at, a.value + at, std::size_t{a.rows}, to - from, a.x);
    }
    if (warps != 1) {
        board[threadIdx.x] = mine;
        __syncthreads();
        if (part != 0) return;
        for (unsigned w = 1; w < warps; ++w) mine.join(board[threadIdx.x + 32 * w]);
    }
    bool open = false;
    if (row < a.rows) {
        Value y;
        open = !mine.close(a.width, y);
        if (!open) a.y[row] = y;
    }
    const unsigned mask = __ballot_sync(all_lanes, open);
    if (lane == 0 && slice * 32 < a.rows) a.open[slice] = mask;
}

template <class Value>
struct row_in_slices {
    const ell_product<Value>& a;
    std::uint64_t row;

    template <class Each, class Pause>
    __device__ void operator()(const Each& each, const Pause& pause) const {
        const std::uint64_t step = max_uncarried;
        for (std::uint64_t from = 0; from < a.width; from += step) {
            const std::uint64_t to = min(std::uint64_t{a.width}, from + step);
#pragma unroll 4
            for (std::uint64_t k = from + threadIdx.x % 32; k < to; k += 32) {
                const std::uint32_t column = a.column[k * a.rows + row];
                if (column != no_index) each(a.value[k * a.rows + row], column);
            }
            pause();
        }
    }
};

/// If many of 32 rows are open: a lane sums its row again, as careful_sum. Returns the rows that are still open.
template <class Value>
__device__ unsigned settle_slice(const ell_product<Value>& a, std::uint64_t slice, unsigned open) {
    if (__popc(open) < few_rows || a.width > few_columns) return open;
    const std::uint64_t row = slice * 32 + threadIdx.x % 32;
    bool is_open = (open >> threadIdx.x % 32 & 1) != 0;
    careful_sum mine;
    if (is_open) add_columns<batch>(mine, a.column + row, a.value + row, std::size_t{a.rows}, a.width, a.x);
    Value y;
    if (is_open && mine.close(a.width, y)) {
        a.y[row] = y;
        is_open = false;
    }
    return __ballot_sync(all_lanes, is_open);
}

/// Warps check 32 words of marks each, in turn. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void finish_rows_kernel(ell_product<Value> a) {
    __shared__ exact_words<Value> exact[block_warps];
    cuda::let_next_kernel_start();
    cuda::wait_for_previous_kernel();
    for_each_marked_word(
        a.open, 0, (std::uint64_t{a.rows} + 31) / 32, [&](std::uint64_t word, unsigned bits) {
            for_each_bit(settle_slice(a, word, bits), [&](unsigned bit) {
                const std::uint64_t row = word * 32 + bit;
                const Value y =
                    settle_row(row_in_slices<Value>{a, row}, a.width, a.x, exact[threadIdx.x / 32]);
                if (threadIdx.x % 32 == 0) a.y[row] = y;
            });
        });
}

/// As many warps for 32 rows as fill the device, each with at least 8 columns.
unsigned warps_for(const cuda_place& place, std::uint32_t rows, std::uint32_t width) {
    const std::uint64_t filling = std::uint64_t{place.multiprocessors()} * 64;
    unsigned warps = 1;
    while (warps < block_warps && std::uint64_t{rows} / 32 * warps < filling && width / (2 * warps) >= 8)
        warps *= 2;
    return warps;
}

}  // namespace

template <floating_value Value>
void multiply(cuda_place& place, const ell_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    const std::size_t words = (std::size_t{matrix.rows} + 31) / 32;
    const auto open = make_array<std::uint32_t>(place, words, "rows to settle");
    const ell_product<Value> a{matrix.column.data(), matrix.value.data(), x.data(),   y.data(),
                               matrix.rows,          matrix.width,        open.data()};
    const unsigned warps = warps_for(place, matrix.rows, matrix.width);
    QUERN_LAUNCH(place, early(cuda::blocks_for(words, block_warps / warps)), sum_rows_kernel<Value>, a,
                 warps);
    const unsigned finishing =
        std::min(place.multiprocessors() * 4, cuda::blocks_for(words, std::size_t{32} * block_warps));
    QUERN_LAUNCH(place, early(finishing), finish_rows_kernel<Value>, a);
}

template void multiply(cuda_place&, const ell_matrix<cuda_place, float>&, device_span<const float>,
                       device_span<float>);
template void multiply(cuda_place&, const ell_matrix<cuda_place, double>&, device_span<const double>,
                       device_span<double>);

}  // namespace quern::primitives
