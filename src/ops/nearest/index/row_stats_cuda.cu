// SPDX-License-Identifier: Apache-2.0
// One pass over every component: non-finite values, the maximum float, the range of integers, sums of squares. The first of
// several rows is found by the minimum or maximum of numbers that contain the row, so the order of threads does not matter.
#include <algorithm>
#include <limits>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;

/// The results of all threads so far.
struct found_stats {
    std::uint32_t bad_row = no_row;
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    std::int32_t greatest = std::numeric_limits<std::int32_t>::min();
    unsigned long long greatest_float =
        0;  ///< |a| above the complement of its row, for f64 only |a|; 0: none
};

__device__ void note_stats(const found_stats& mine, found_stats* all) {
    constexpr unsigned everyone = 0xffffffffu;
    const std::uint32_t bad_row = cuda::min_of_warp(mine.bad_row);
    const std::int32_t least = cuda::min_of_warp(mine.least);
    const std::int32_t greatest = cuda::max_of_warp(mine.greatest);
    unsigned long long greatest_float = mine.greatest_float;
    for (unsigned lanes = 16; lanes != 0; lanes /= 2) {
        const unsigned long long other = __shfl_down_sync(everyone, greatest_float, lanes);
        if (other > greatest_float) greatest_float = other;
    }
    if (threadIdx.x % 32 != 0) return;
    atomicMin(&all->bad_row, bad_row);
    atomicMin(&all->least, least);
    atomicMax(&all->greatest, greatest);
    atomicMax(&all->greatest_float, greatest_float);
}

/// Sixteen lanes per row, two rows per warp at a time, the grid over all of them. squares null: not requested.
template <vector_type Type>
__global__ void __launch_bounds__(block_threads)
    look_at_rows_kernel(device_rows tile, std::uint32_t rows, std::uint32_t dimensions, double* squares,
                        found_stats* all) {
    using sum_type = std::conditional_t<is_float(Type), component_t<Type>, std::uint64_t>;
    constexpr unsigned warp_rows = 32 / partial_sums;
    const unsigned chain = threadIdx.x % partial_sums, half = threadIdx.x % 32 / partial_sums;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (block_threads / 32);
    const std::uint64_t warp = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / 32;
    found_stats mine;
    for (std::uint64_t first = warp * warp_rows; first < rows; first += warps * warp_rows) {
        const auto row = static_cast<std::uint32_t>(first + half);
        const std::uint32_t count = row < rows ? dimensions : 0;  // past the end: lanes that find nothing
        const stored_t<Type>* const values = tile.row<Type>(row);
        sum_type sum = 0;
        using size_type = std::conditional_t<Type == vector_type::f64, double, float>;
        size_type greatest = 0;
        bool finite = true;
#pragma unroll 4
        for (std::uint32_t i = chain; i < count; i += partial_sums) {
            const component_t<Type> a = loaded_value<Type>(values[i]);
            sum = with_part<part_kind::products>(sum, a, a);
            if constexpr (is_float(Type)) {
                finite &= is_finite(a);
                if (is_finite(a))
                    greatest =
                        joined<part_kind::greatest>(greatest, part<part_kind::greatest>(a, sum_type{0}));
            } else {
                mine.least = min(mine.least, a);
                mine.greatest = max(mine.greatest, a);
            }
        }
        if (is_float(Type) && row < rows) {
            if (!finite) mine.bad_row = min(mine.bad_row, row);
            unsigned long long noted = 0;
            if constexpr (Type == vector_type::f64)
                noted = static_cast<unsigned long long>(__double_as_longlong(greatest));
            else
                noted = static_cast<unsigned long long>(__float_as_uint(greatest)) << 32 | ~row;
            mine.greatest_float = max(mine.greatest_float, noted);
        }
        if (squares == nullptr) continue;
        sum = tree_of_lanes<part_kind::products>(sum);
        if (chain == 0 && row < rows) squares[row] = static_cast<double>(sum);
    }
    note_stats(mine, all);
}

/// One thread per row of bits: whether its last byte has bits past the last dimension; the sum of squares is the number of
/// set bits.
__global__ void __launch_bounds__(block_threads)
    look_at_bits_kernel(device_rows tile, std::uint32_t rows, std::uint32_t dimensions, double* squares,
                        found_stats* all) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
    if (row >= rows) return;
    const std::uint8_t* const bytes = tile.row<vector_type::u8>(row);
    if (dimensions % 8 != 0 && bytes[dimensions / 8] >> (dimensions % 8) != 0)
        atomicMin(&all->bad_row, static_cast<std::uint32_t>(row));
    if (squares == nullptr) return;
    std::uint32_t set = 0;
    for (std::uint64_t i = 0; i < (std::uint64_t{dimensions} + 7) / 8; ++i) set += __popc(bytes[i]);
    squares[row] = static_cast<double>(set);
}

}  // namespace

row_stats stats_of(cuda_place& place, const row_tile<cuda_place>& tile, device_span<double> squares) {
    if (tile.rows == 0) return {};
    const found_stats nothing;
    const auto device_found =
        array_from(place, std::span<const found_stats>(&nothing, 1), "facts of vectors");
    with_type(tile.type, [&]<vector_type Type>(std::integral_constant<vector_type, Type>) {
        const device_rows rows = device_view(tile);
        if constexpr (Type == vector_type::bits) {
            QUERN_LAUNCH(
                place, (cuda::launch_shape{cuda::blocks_for(tile.rows, block_threads), block_threads}),
                look_at_bits_kernel, rows, tile.rows, tile.dimensions, squares.data(), device_found.data());
        } else {
            const unsigned blocks = std::min(cuda::blocks_for(tile.rows, block_threads / partial_sums),
                                             place.multiprocessors() * (2048 / block_threads));
            QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads}), look_at_rows_kernel<Type>, rows,
                         tile.rows, tile.dimensions, squares.data(), device_found.data());
        }
    });
    found_stats found;
    copy_out<found_stats>(place, device_found.span(), std::span<found_stats>(&found, 1));
    row_stats stats;
    stats.bad_row = found.bad_row;
    if (tile.type == vector_type::f64) {
        stats.greatest = std::bit_cast<double>(found.greatest_float);
    } else if (is_float(tile.type)) {
        stats.greatest = double{std::bit_cast<float>(static_cast<std::uint32_t>(found.greatest_float >> 32))};
        if (stats.greatest > 0) stats.greatest_row = ~static_cast<std::uint32_t>(found.greatest_float);
    } else if (tile.type != vector_type::bits) {
        stats.range = {found.least, found.greatest};
    }
    return stats;
}

}  // namespace quern::nearest_detail
