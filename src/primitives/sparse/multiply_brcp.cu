// SPDX-License-Identifier: Apache-2.0
// y = A·x in brcp. The paper gives each block to one warp, for any width: with long rows few warps do all the work, and
// blocks of a few columns wait for memory more than they read it.
//
// Here a block is cut into 2^level shares of about equal numbers of columns, one warp each; up to 8 of them exchange sums
// in shared memory, more in device memory. The width of blocks descends, so blocks of one level are contiguous, and a table
// of a few numbers assigns the work. Lanes of one row are joined only by additions; the paper takes differences of prefix
// sums, which lose small values.
//
// A second kernel, always launched, handles rows in several blocks, blocks of several thread blocks and rows that the bound
// leaves open: the host does not need their number.
#include <algorithm>
#include <bit>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "primitives/segments.hpp"
#include "primitives/sparse/device_checks.hpp"
#include "primitives/sparse/ell_slices.cuh"
#include "primitives/sparse/multiply.hpp"

namespace quern::primitives {
namespace {

using namespace sparse_cuda;

constexpr unsigned batch = 4;
constexpr unsigned levels = 24;      // maximum 2^23 warps per block
constexpr unsigned narrow = 32;      // columns
constexpr unsigned inner_level = 3;  // 8 warps of a block are in one thread block

/// Consecutive blocks with 2^level warps each: from thread block `group` and block `block` on.
struct block_range {
    unsigned group;
    std::uint32_t block;
    unsigned level;
};
/// The assignment of work, by ascending number; after the last range come the ends.
struct division {
    block_range block_ranges[levels + 1];
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
    std::uint32_t distributed;        ///< blocks before this one are shared by several thread blocks
    bounded_sum<Value>* shared_sums;  ///< 32 per thread block that has a part of a block
    bounded_sum<Value>* carries;      ///< for split rows: two per block, of its first run and of its last
    std::uint32_t* open;              ///< per block: the lanes whose rows are open
    const std::uint32_t *split_row, *split_first, *split_last;
    std::uint32_t splits;
    division shares;
};

/// Joins the sums of the warps of a block, in the first of them. All threads must call it. Shared memory: one sum per
/// thread.
template <class Value>
__device__ void join_warps(bounded_sum<Value>& mine, unsigned warps, bounded_sum<Value>* board) {
    if (warps == 1) return;
    const unsigned warp = threadIdx.x / 32;
    board[threadIdx.x] = mine;
    __syncthreads();
    if (warp % warps != 0) return;
    for (unsigned w = 1; w < warps; ++w) mine.join(board[threadIdx.x + 32 * w]);
}

/// A warp: its share of the columns of a block. The warp that joins the shares also joins lanes of one row, writes the rows
/// that are complete, and marks the open ones. `division` defines the grid; no dynamic shared memory.
template <class Value>
__global__ __launch_bounds__(block_threads) void sum_blocks_kernel(
    const __grid_constant__ brcp_product<Value> a) {
    __shared__ bounded_sum<Value> board[block_threads];
    cuda::let_next_kernel_start();
    unsigned i = 0;
    while (blockIdx.x >= a.shares.block_ranges[i + 1].group) ++i;
    const unsigned level = a.shares.block_ranges[i].level, lane = threadIdx.x % 32;
    const unsigned worker = (blockIdx.x - a.shares.block_ranges[i].group) * block_warps + threadIdx.x / 32;
    const std::uint32_t block = a.shares.block_ranges[i].block + (worker >> level);
    const unsigned warps = 1u << min(level, inner_level);
    const bool idle = block >= a.shares.block_ranges[i + 1].block, leads = threadIdx.x / 32 % warps == 0;

    bounded_sum<Value> mine;
    std::uint32_t row = no_index;
    std::uint32_t width = 0;
    if (!idle) {
        const std::uint64_t begin = a.block_ptr[block], part = worker & ((1u << level) - 1);
        width = static_cast<std::uint32_t>((a.block_ptr[block + 1] - begin) / 32);
        if (leads) row = a.row_perm[std::uint64_t{block} * 32 + lane];
        cuda::wait_for_previous_kernel();
        const auto from = static_cast<std::uint32_t>(width * part >> level);
        const auto to = static_cast<std::uint32_t>(width * (part + 1) >> level);
        const std::uint64_t at = begin + std::uint64_t{from} * 32 + lane;
        add_columns<batch>(mine, a.column + at, a.value + at, constant<32>{}, to - from, a.x);
    }
    join_warps(mine, warps, board);
    if (idle || !leads) return;

    const lane_runs runs(row);
    join_runs(mine, runs);
    if (block < a.distributed) {
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
            open = !mine.close(static_cast<double>(end - lane) * width, y);
            if (!open) a.y[row] = y;
        }
    }
    const unsigned mask = __ballot_sync(all_lanes, open);
    if (lane == 0) a.open[block] = mask;
}

/// The entries of a row, from its first block on, in the form of settle_row: in each block `count` neighbouring lanes have
/// a part, and this lane takes every (32 / count)-th entry of one.
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
            for (std::uint64_t from = 0; from < width; from += max_uncarried / 32) {
                const std::uint64_t to = min(width, from + max_uncarried / 32);
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
    /// At least as many as the row has.
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

/// The thread blocks that share a block: the first, and their number.
template <class Value>
__device__ uint2 groups_of(const brcp_product<Value>& a, std::uint32_t block) {
    unsigned i = 0;
    while (block >= a.shares.block_ranges[i + 1].block) ++i;
    const unsigned each = 1u << (a.shares.block_ranges[i].level - inner_level);
    return {a.shares.block_ranges[i].group + (block - a.shares.block_ranges[i].block) * each, each};
}

/// A warp: the rows of a block shared by thread blocks, except split rows.
template <class Value>
__device__ void finish_distributed(const brcp_product<Value>& a, std::uint32_t block,
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
    for_each_bit(__ballot_sync(all_lanes, open), [&](unsigned which) {
        settle_in_blocks(a, __shfl_sync(all_lanes, row, which), block, exact);
    });
}

/// A warp: a row in several blocks.
template <class Value>
__device__ void finish_split(const brcp_product<Value>& a, std::uint32_t split, exact_words<Value>& exact) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t row = a.split_row[split], first = a.split_first[split], last = a.split_last[split];
    const unsigned mask = __ballot_sync(all_lanes, a.row_perm[std::uint64_t{first} * 32 + lane] == row);
    const unsigned head = static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
    bounded_sum<Value> mine;
    for (std::uint32_t b = first; b <= last; ++b) {
        if (b < a.distributed) {
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

/// A warp: if many rows of a block are open, or it is narrow, sums it again as careful_sum. Returns the heads of rows that
/// are still open.
template <class Value>
__device__ unsigned settle_block(const brcp_product<Value>& a, std::uint32_t block, unsigned open) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t begin = a.block_ptr[block];
    const auto width = static_cast<std::uint32_t>((a.block_ptr[block + 1] - begin) / 32);
    if (__popc(open) < few_rows && width > narrow) return open;
    const std::uint32_t row = a.row_perm[std::uint64_t{block} * 32 + lane];
    careful_sum mine;
    add_columns<batch>(mine, a.column + begin + lane, a.value + begin + lane, constant<32>{}, width, a.x);
    const lane_runs runs(row);
    join_runs(mine, runs);
    bool is_open = (open >> lane & 1) != 0;
    Value y;
    if (is_open && mine.close(static_cast<double>(runs.end() - lane) * width, y)) {
        a.y[row] = y;
        is_open = false;
    }
    return __ballot_sync(all_lanes, is_open);
}

/// Warps take, in turn, shared blocks, split rows, and 32 blocks each to search for open rows. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void finish_rows_kernel(
    const __grid_constant__ brcp_product<Value> a) {
    __shared__ exact_words<Value> exact[block_warps];
    exact_words<Value>& own = exact[threadIdx.x / 32];
    cuda::let_next_kernel_start();
    cuda::wait_for_previous_kernel();
    const unsigned warp = blockIdx.x * block_warps + threadIdx.x / 32, warps = gridDim.x * block_warps;
    for (std::uint32_t b = warp; b < a.distributed; b += warps) finish_distributed(a, b, own);
    for (std::uint32_t s = warp; s < a.splits; s += warps) finish_split(a, s, own);
    for_each_marked_word(a.open, a.distributed, a.blocks, [&](std::uint64_t word, unsigned bits) {
        const auto block = static_cast<std::uint32_t>(word);
        for_each_bit(settle_block(a, block, bits),
                     [&](unsigned lane) { settle_in_blocks(a, a.row_perm[word * 32 + lane], block, own); });
    });
}

/// The columns that a warp takes: few if there would be too few warps to fill the device, otherwise enough to amortise its
/// start and end; a power of two, as its logarithm.
unsigned columns_of_warp(const cuda_place& place, std::uint64_t columns) {
    const std::uint64_t wanted = columns / (std::uint64_t{place.multiprocessors()} * 64);
    return static_cast<unsigned>(std::clamp(static_cast<int>(std::bit_width(wanted)), 3, 6));
}

/// The division of the work, and the number of shared blocks.
struct plan {
    division shares{};
    unsigned groups = 0, sharing_groups = 0;
    std::uint32_t distributed = 0;
};

plan divide(const brcp_shape& shape, std::uint32_t blocks, unsigned columns_log2) {
    plan made;
    unsigned block_ranges = 0;
    std::uint32_t done = 0;
    for (unsigned level = levels; level-- != 0;) {
        // Wider than 2^(level − 1) times the share of a warp; level 0: the rest.
        const std::uint32_t end = level == 0 ? blocks : shape.wider[std::min(31u, columns_log2 + level - 1)];
        if (end <= done) continue;
        made.shares.block_ranges[block_ranges++] = {made.groups, done, level};
        made.groups += cuda::blocks_for(std::uint64_t{end - done} << level, block_warps);
        done = end;
        if (level > inner_level) {
            made.distributed = done;
            made.sharing_groups = made.groups;
        }
    }
    made.shares.block_ranges[block_ranges] = {made.groups, done, 0};
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
    const plan work = divide(matrix.shape, blocks, columns_of_warp(place, matrix.column.size() / 32));
    a.shares = work.shares;
    a.distributed = work.distributed;
    const auto shared_sums =
        make_array<bounded_sum<Value>>(place, std::size_t{work.sharing_groups} * 32, "sums of blocks");
    const auto carries =
        make_array<bounded_sum<Value>>(place, std::size_t{a.whole_rows_from} * 2, "sums of split rows");
    const auto open = make_array<std::uint32_t>(place, blocks, "rows to settle");
    a.shared_sums = shared_sums.data();
    a.carries = carries.data();
    a.open = open.data();

    if (matrix.shape.has_empty_rows) clear(place, y);
    QUERN_LAUNCH(place, early(work.groups), sum_blocks_kernel<Value>, a);
    const std::uint64_t tasks = std::uint64_t{a.distributed} + a.splits + (blocks - a.distributed) / 32 + 1;
    const unsigned finishing = std::min(place.multiprocessors() * 4, cuda::blocks_for(tasks, block_warps));
    QUERN_LAUNCH(place, early(work.groups == 0 ? 0 : finishing), finish_rows_kernel<Value>, a);
}

template void multiply(cuda_place&, const brcp_matrix<cuda_place, float>&, device_span<const float>,
                       device_span<float>);
template void multiply(cuda_place&, const brcp_matrix<cuda_place, double>&, device_span<const double>,
                       device_span<double>);

}  // namespace quern::primitives
