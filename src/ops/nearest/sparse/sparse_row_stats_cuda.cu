// SPDX-License-Identifier: Apache-2.0
// Facts of sparse rows, computed on a GPU.
#include <algorithm>
#include <array>

#include "device/cuda/check.cuh"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_pair.hpp"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned all_lanes = ~0u;

/// A bad row, and a number with the maximum |a|'s bits in the upper half and ~row in the lower: its maximum gives the first
/// row with the maximum.
struct found_stats {
    unsigned long long greatest;
    std::uint32_t bad_row, unused;
};

/// One warp per row; a lane takes one entry of each 32. Sums of squares: lane c adds the squares of columns c, c + 16, …
/// one by one in their order. Any grid; no shared memory.
__global__ void __launch_bounds__(block_threads)
    look_at_rows_kernel(sparse_rows rows, std::uint32_t count, std::uint32_t dimensions, double* squares,
                        found_stats* found) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t bad = no_row;
    unsigned long long greatest = 0;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (block_threads / 32);
    for (std::uint64_t i = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / 32; i < count;
         i += warps) {
        const sparse_row row = rows[i];
        float sum = 0;
        for (std::uint64_t first = 0; first < row.size; first += 32) {
            const std::uint64_t e = first + lane;
            const bool here = e < row.size;
            const std::uint32_t column = here ? row.columns[e] : 0;
            const float value = here ? row.values[e] : 0.0f;
            const float size = fabsf(value);
            if (here &&
                (column >= dimensions || !is_finite(value) || (e != 0 && row.columns[e - 1] >= column)))
                bad = min(bad, static_cast<std::uint32_t>(i));
            if (is_finite(size) && size > 0) {
                const unsigned long long packed = static_cast<unsigned long long>(__float_as_uint(size))
                                                  << 32;
                greatest = max(greatest, packed | ~static_cast<std::uint32_t>(i));
            }
            if (squares == nullptr) continue;
            const unsigned in_order = static_cast<unsigned>(min(row.size - first, std::uint64_t{32}));
            for (unsigned s = 0; s < in_order; ++s) {
                const std::uint32_t of = __shfl_sync(all_lanes, column, s);
                const float term = __shfl_sync(all_lanes, value, s);
                if (of % partial_sums == lane) sum += term * term;
            }
        }
        if (squares == nullptr) continue;
        for (unsigned half = partial_sums / 2; half != 0; half /= 2)
            sum += __shfl_down_sync(all_lanes, sum, half, partial_sums);
        if (lane == 0) squares[i] = sum;
    }
    if (bad != no_row) atomicMin(&found->bad_row, bad);
    if (greatest != 0) atomicMax(&found->greatest, greatest);
}

}  // namespace

row_stats stats_of(cuda_place& place, const sparse_tile<cuda_place>& tile, device_span<double> squares) {
    if (!squares.empty() && squares.size() != tile.rows)
        throw usage_error("sums of squares are wanted of every row or of none");
    std::array<found_stats, 1> found{{{0, no_row, 0}}};
    const auto on_device = array_from(place, std::span<const found_stats>(found), "facts of vectors");
    const unsigned blocks =
        std::min(cuda::blocks_for(tile.rows, block_threads / 32), 16 * place.multiprocessors());
    QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads}), look_at_rows_kernel, rows_of(tile),
                 tile.rows, tile.dimensions, squares.empty() ? nullptr : squares.data(), on_device.data());
    copy_out<found_stats>(place, on_device.span(), found);
    row_stats stats;
    stats.bad_row = found[0].bad_row;
    if (found[0].greatest != 0) {
        stats.greatest = double{std::bit_cast<float>(static_cast<std::uint32_t>(found[0].greatest >> 32))};
        stats.greatest_row = ~static_cast<std::uint32_t>(found[0].greatest);
    }
    return stats;
}

}  // namespace quern::nearest_detail
