// SPDX-License-Identifier: Apache-2.0
// y = A·x in brcp. The paper gives each block to a warp, whatever its width: few warps have all to do where rows are
// long, and blocks of a few columns wait for memory more than they read it. Here a block is cut into 2^level shares of
// about equal numbers of columns, a warp each; up to 8 of them meet in shared memory, more in the device's. Blocks grow
// narrower, so that blocks of one level stand together, and a table of a few numbers says who works on what. Lanes of
// one row are joined by additions alone; the paper takes differences of prefix sums, which lose what is small.
//
// Rows that lie in several blocks, blocks of several thread blocks and rows that the bound leaves open are the second
// kernel's, which is always launched: nobody asks the device how many there are.
#include <algorithm>
#include <bit>

#include "device/cuda/check.cuh"
#include "primitives/segments.hpp"
#include "primitives/sparse/device_door.hpp"
#include "primitives/sparse/multiply.hpp"
#include "primitives/sparse/slabs.cuh"

namespace quern::primitives {
namespace {

using namespace sparse_cuda;

constexpr unsigned batch = 4;
constexpr unsigned levels = 24;       // 2^23 warps of a block at most
constexpr unsigned inner_levels = 4;  // 1, 2, 4 and 8 warps of a block are in one thread block

/// Who works on what: thread blocks from first_group[i] on take blocks from first_block[i] on, with 2^(levels − 1 − i)
/// warps each.
struct division {
    unsigned first_group[levels + 1];
    std::uint32_t first_block[levels + 1];
};

template <class Value>
struct brcp_product {
    const std::uint64_t* block_ptr;
    const std::uint32_t* row_perm;
    const std::uint32_t* column;
    const Value* value;
    const Value* x;
    Value* y;
    std::uint32_t blocks;
    std::uint32_t whole_rows_from;    ///< blocks from here on have no part of a split row
    std::uint32_t shared_out;         ///< blocks before this one are several thread blocks'
    bounded_sum<Value>* shared_sums;  ///< 32 a thread block that has a part of a block
    bounded_sum<Value>* carries;      ///< of split rows: two a block, of its first run and of its last
    std::uint32_t* open;              ///< a block: the lanes whose rows are open
    const std::uint32_t *split_row, *split_first, *split_last;
    std::uint32_t splits;
    division shares;
};

__device__ unsigned share_of(const division& shares, unsigned group) {
    unsigned i = 0;
    while (group >= shares.first_group[i + 1]) ++i;
    return i;
}

/// Joins the sums of the warps of a block, in the first of them. All threads come here. Shared memory: a sum a thread.
template <class Value>
__device__ void join_warps(bounded_sum<Value>& mine, unsigned warps, bounded_sum<Value>* board) {
    if (warps == 1) return;
    const unsigned warp = threadIdx.x / 32;
    board[threadIdx.x] = mine;
    __syncthreads();
    if (warp % warps != 0) return;
    for (unsigned w = 1; w < warps; ++w) mine.join(board[threadIdx.x + 32 * w]);
}

/// A warp: its share of the columns of a block. The warp that has them together joins lanes of one row, writes the
/// rows that it knows whole, and marks those that are open. `division` says which grid; no dynamic shared memory.
template <class Value>
__global__ __launch_bounds__(block_threads) void sum_blocks_kernel(
    const __grid_constant__ brcp_product<Value> a) {
    __shared__ bounded_sum<Value> board[block_threads];
    cudaTriggerProgrammaticLaunchCompletion();
    const unsigned i = share_of(a.shares, blockIdx.x), level = levels - 1 - i;
    const unsigned group = blockIdx.x - a.shares.first_group[i], lane = threadIdx.x % 32;
    const unsigned worker = group * block_warps + threadIdx.x / 32;  // among the warps of the level
    const std::uint32_t block = a.shares.first_block[i] + (worker >> level);
    const unsigned warps = min(1u << level, block_warps);
    const bool idle = block >= a.shares.first_block[i + 1], leads = threadIdx.x / 32 % warps == 0;

    bounded_sum<Value> mine;
    std::uint32_t row = no_index;
    std::uint64_t width = 0;
    if (!idle) {
        const std::uint64_t begin = a.block_ptr[block], part = worker & ((1u << level) - 1);
        width = (a.block_ptr[block + 1] - begin) / 32;
        if (leads) row = a.row_perm[std::uint64_t{block} * 32 + lane];
        const std::uint64_t from = width * part >> level, to = width * (part + 1) >> level;
        const std::uint64_t at = begin + from * 32 + lane;
        add_columns<batch>(mine, a.column + at, a.value + at, 32, to - from, a.x);
    }
    join_warps(mine, warps, board);
    if (idle || !leads) return;

    const lane_runs runs(row);
    join_runs(mine, runs);
    cudaGridDependencySynchronize();  // y is cleared
    if (block < a.shared_out) {
        a.shared_sums[blockIdx.x * 32 + lane] = mine;
        return;
    }
    bool open = false;
    if (runs.is_head() && row != no_index) {
        const unsigned end = runs.end();
        bool from_before = false, goes_on = false;
        if (block < a.whole_rows_from) {
            const std::uint64_t first = std::uint64_t{block} * 32;
            from_before = lane == 0 && block != 0 && a.row_perm[first - 1] == row;
            goes_on = end == 32 && block + 1 < a.blocks && a.row_perm[first + 32] == row;
        }
        if (from_before) {
            a.carries[2 * std::uint64_t{block}] = mine;
        } else if (goes_on) {
            a.carries[2 * std::uint64_t{block} + 1] = mine;
        } else {
            Value y;
            open = !mine.close(static_cast<double>((end - lane) * width), y);
            if (!open) a.y[row] = y;
        }
    }
    const unsigned mask = __ballot_sync(all_lanes, open);
    if (lane == 0) a.open[block] = mask;
}

/// The entries of a row, from its first block on, as settle_row wants them: in each block `count` neighbouring lanes
/// have a part, and this lane takes every (32 / count)-th entry of one.
template <class Value>
struct row_in_blocks {
    const brcp_product<Value>& a;
    std::uint32_t row, first;

    template <class Each, class Pause>
    __device__ void operator()(const Each& each, const Pause& pause) const {
        const unsigned lane = threadIdx.x % 32;
        for (std::uint32_t b = first; b < a.blocks; ++b) {
            const unsigned mask = __ballot_sync(all_lanes, a.row_perm[std::uint64_t{b} * 32 + lane] == row);
            if (mask == 0) break;
            const unsigned begin = static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
            const auto count = static_cast<unsigned>(__popc(mask));
            const unsigned step = 32 / count;
            const std::uint64_t at = a.block_ptr[b], width = (a.block_ptr[b + 1] - at) / 32;
            const std::uint64_t mine = lane < step * count ? at + begin + lane % count : 0;
            for (std::uint64_t from = 0; from < width; from += most_uncarried / 32) {
                const std::uint64_t to = min(width, from + most_uncarried / 32);
                if (lane < step * count) {
#pragma unroll 4
                    for (std::uint64_t k = from + lane / count; k < to; k += step) {
                        const std::uint32_t column = a.column[mine + 32 * k];
                        if (column != no_index) each(a.value[mine + 32 * k], column);
                    }
                }
                pause();
            }
            if ((mask >> 31) == 0) break;  // the row ends here
        }
    }
    /// No fewer than the row has.
    __device__ double terms() const {
        double sum = 0;
        for (std::uint32_t b = first; b < a.blocks; ++b) {
            const unsigned mask =
                __ballot_sync(all_lanes, a.row_perm[std::uint64_t{b} * 32 + threadIdx.x % 32] == row);
            sum += static_cast<double>(__popc(mask)) *
                   static_cast<double>((a.block_ptr[b + 1] - a.block_ptr[b]) / 32);
            if ((mask >> 31) == 0) break;
        }
        return sum;
    }
};

template <class Value>
__device__ void settle_in_blocks(const brcp_product<Value>& a, std::uint32_t row, std::uint32_t first,
                                 exact_words<Value>& exact) {
    const row_in_blocks<Value> entries{a, row, first};
    const Value y = settle_row(entries, entries.terms(), a.x, exact);
    if (threadIdx.x % 32 == 0) a.y[row] = y;
}

/// The thread blocks that share a block out: the first, and how many.
template <class Value>
__device__ uint2 groups_of(const brcp_product<Value>& a, std::uint32_t block) {
    unsigned i = 0;
    while (block >= a.shares.first_block[i + 1]) ++i;
    const unsigned each = (1u << (levels - 1 - i)) / block_warps;
    return {a.shares.first_group[i] + (block - a.shares.first_block[i]) * each, each};
}

/// A warp: the rows of a block that thread blocks shared out, but for split rows.
template <class Value>
__device__ void finish_shared_out(const brcp_product<Value>& a, std::uint32_t block,
                                  exact_words<Value>& exact) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t first = std::uint64_t{block} * 32;
    const std::uint32_t row = a.row_perm[first + lane];
    const uint2 groups = groups_of(a, block);
    bounded_sum<Value> mine;
#pragma unroll 4
    for (unsigned g = 0; g < groups.y; ++g) mine.join(a.shared_sums[(groups.x + g) * 32 + lane]);
    const lane_runs runs(row);
    const unsigned end = runs.end();
    const bool split =
        block < a.whole_rows_from && ((lane == 0 && block != 0 && a.row_perm[first - 1] == row) ||
                                      (end == 32 && block + 1 < a.blocks && a.row_perm[first + 32] == row));
    bool open = false;
    if (runs.is_head() && row != no_index && !split) {
        const double width = static_cast<double>((a.block_ptr[block + 1] - a.block_ptr[block]) / 32);
        Value y;
        open = !mine.close((end - lane) * width, y);
        if (!open) a.y[row] = y;
    }
    for (unsigned left = __ballot_sync(all_lanes, open); left != 0; left &= left - 1)
        settle_in_blocks(a, __shfl_sync(all_lanes, row, __ffs(static_cast<int>(left)) - 1), block, exact);
}

/// A warp: a row that lies in several blocks.
template <class Value>
__device__ void finish_split(const brcp_product<Value>& a, std::uint32_t split, exact_words<Value>& exact) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t row = a.split_row[split], first = a.split_first[split], last = a.split_last[split];
    const unsigned mask = __ballot_sync(all_lanes, a.row_perm[std::uint64_t{first} * 32 + lane] == row);
    const unsigned head = static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
    bounded_sum<Value> mine;
    for (std::uint32_t b = first; b <= last; ++b) {
        if (b < a.shared_out) {
            const uint2 groups = groups_of(a, b);
            for (unsigned g = lane; g < groups.y; g += 32)
                mine.join(a.shared_sums[(groups.x + g) * 32 + (b == first ? head : 0)]);
        } else if (lane == 0) {
            mine.join(a.carries[2 * std::uint64_t{b} + (b == first ? 1 : 0)]);
        }
    }
    for (unsigned d = 16; d != 0; d /= 2)
        mine.join(mine.moved([d](auto word) { return __shfl_down_sync(all_lanes, word, d); }));
    Value y;
    const row_in_blocks<Value> entries{a, row, first};
    const bool closed = mine.close(entries.terms(), y);
    if (__shfl_sync(all_lanes, static_cast<int>(closed), 0) == 0) {
        settle_in_blocks(a, row, first, exact);
    } else if (lane == 0) {
        a.y[row] = y;
    }
}

/// Warps take, in turn, blocks that were shared out, split rows, and 32 blocks each to look for open rows. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void finish_rows_kernel(
    const __grid_constant__ brcp_product<Value> a) {
    __shared__ exact_words<Value> exact[block_warps];
    exact_words<Value>& own = exact[threadIdx.x / 32];
    cudaGridDependencySynchronize();
    const unsigned warp = blockIdx.x * block_warps + threadIdx.x / 32, warps = gridDim.x * block_warps;
    for (std::uint32_t b = warp; b < a.shared_out; b += warps) finish_shared_out(a, b, own);
    for (std::uint32_t s = warp; s < a.splits; s += warps) finish_split(a, s, own);
    const auto settle = [&](std::uint64_t block, unsigned lane) {
        settle_in_blocks(a, a.row_perm[block * 32 + lane], static_cast<std::uint32_t>(block), own);
    };
    for_each_mark(a.open, a.blocks, settle, a.shared_out);
}

/// The columns that a warp takes: few where there would be too few warps to fill the device, else enough to be worth
/// starting one for; a power of two, as its logarithm.
unsigned columns_of_warp(const cuda_place& place, std::uint64_t columns) {
    const std::uint64_t wanted = columns / (std::uint64_t{place.multiprocessors()} * 64);
    return static_cast<unsigned>(std::clamp(static_cast<int>(std::bit_width(wanted)), 3, 5));
}

division divide(const brcp_shape& shape, std::uint32_t blocks, unsigned columns_log2) {
    division made{};
    for (unsigned i = 0; i < levels; ++i) {
        const unsigned level = levels - 1 - i;
        // Level l > 0: wider than 2^(l − 1) times what a warp takes, and level 0 the rest.
        const std::uint32_t end = level == 0 ? blocks : shape.wider[std::min(31u, columns_log2 + level - 1)];
        made.first_block[i + 1] = std::max(made.first_block[i], end);
        const std::uint64_t warps = std::uint64_t{made.first_block[i + 1] - made.first_block[i]} << level;
        made.first_group[i + 1] = made.first_group[i] + cuda::blocks_for(warps, block_warps);
    }
    return made;
}

}  // namespace

template <floating_value Value>
void multiply(cuda_place& place, const brcp_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    const auto blocks = static_cast<std::uint32_t>(segments_in(matrix.block_ptr.size()));
    brcp_product<Value> a{};
    a.block_ptr = matrix.block_ptr.data();
    a.row_perm = matrix.row_perm.data();
    a.column = matrix.column.data();
    a.value = matrix.value.data();
    a.x = x.data();
    a.y = y.data();
    a.blocks = blocks;
    a.whole_rows_from = matrix.shape.whole_rows_from;
    a.split_row = matrix.split_row.data();
    a.split_first = matrix.split_first.data();
    a.split_last = matrix.split_last.data();
    a.splits = static_cast<std::uint32_t>(matrix.split_row.size());
    a.shares = divide(matrix.shape, blocks, columns_of_warp(place, matrix.column.size() / 32));
    a.shared_out = a.shares.first_block[levels - inner_levels];
    const unsigned groups = a.shares.first_group[levels];
    const auto shared_sums = make_array<bounded_sum<Value>>(
        place, std::size_t{a.shares.first_group[levels - inner_levels]} * 32, "sums of blocks");
    const auto carries =
        make_array<bounded_sum<Value>>(place, std::size_t{a.whole_rows_from} * 2, "sums of split rows");
    const auto open = make_array<std::uint32_t>(place, blocks, "rows to settle");
    a.shared_sums = shared_sums.data();
    a.carries = carries.data();
    a.open = open.data();

    const bool clear = matrix.shape.has_empty_rows;
    if (clear) {
        const unsigned most = place.multiprocessors() * 8;
        QUERN_LAUNCH(
            place,
            (cuda::launch_shape{std::min(most, cuda::blocks_for(y.size(), block_threads)), block_threads}),
            clear_kernel<Value>, y.data(), y.size());
    }
    QUERN_LAUNCH(place, (cuda::launch_shape{groups, block_threads, 0, false, clear}),
                 sum_blocks_kernel<Value>, a);
    const std::uint64_t tasks = std::uint64_t{a.shared_out} + a.splits + (blocks - a.shared_out) / 32 + 1;
    const unsigned finishing = std::min(place.multiprocessors() * 2, cuda::blocks_for(tasks, block_warps));
    QUERN_LAUNCH(place, (cuda::launch_shape{groups == 0 ? 0 : finishing, block_threads, 0, false, true}),
                 finish_rows_kernel<Value>, a);
}

template void multiply(cuda_place&, const brcp_matrix<cuda_place, float>&, device_span<const float>,
                       device_span<float>);
template void multiply(cuda_place&, const brcp_matrix<cuda_place, double>&, device_span<const double>,
                       device_span<double>);

}  // namespace quern::primitives
