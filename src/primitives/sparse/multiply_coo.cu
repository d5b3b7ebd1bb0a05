// SPDX-License-Identifier: Apache-2.0
// y = A·x in coo: equal tiles of entries, one warp each, for any row lengths. A lane adds up 8 neighbouring entries, row by
// row; a segmented scan joins the parts of one row in neighbouring lanes. A row that continues past a tile leaves a sum on
// either side, which the second kernel joins; it also finishes the rows that the bound leaves open.
#include <algorithm>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "primitives/sparse/device_checks.hpp"
#include "primitives/sparse/multiply.hpp"
#include "primitives/sparse/row_sum.cuh"

namespace quern::primitives {
namespace {

using namespace sparse_cuda;

constexpr unsigned lane_takes = 8;  // entries per round
constexpr unsigned round_size = 32 * lane_takes;

/// With an upper bound of the number of its terms.
template <class Value>
struct counted_sum {
    bounded_sum<Value> sum;
    std::uint64_t terms = 0;

    __device__ void join(const counted_sum& other) {
        sum.join(other.sum);
        terms += other.terms;
    }
    template <class Move>
    __device__ counted_sum moved(Move move) const {
        return {sum.moved(move), move(terms)};
    }
};

template <class Value>
struct coo_product {
    const std::uint32_t *row, *column;
    const Value* value;
    const Value* x;
    Value* y;
    std::uint64_t entries, tile, tiles;  ///< tile: entries per tile, a multiple of round_size
    counted_sum<Value>* before;          ///< per tile: of the row that continues from the previous tile
    counted_sum<Value>* after;           ///< per tile: of the row that begins in it and continues in the next
    std::uint32_t* open_counts;          ///< per tile: its open rows,
    std::uint32_t* open_rows;            ///< stored from the tile's first row on
};

/// Eight entries of a lane, as loads of 16 bytes; positions past the last entry are in row no_index.
template <class Value>
struct lane_entries {
    std::uint32_t row[lane_takes], column[lane_takes];
    Value value[lane_takes];

    __device__ lane_entries(const coo_product<Value>& a, std::uint64_t first) {
        if (first + lane_takes <= a.entries) {
            load(row, a.row + first);
            load(column, a.column + first);
            load(value, a.value + first);
            return;
        }
#pragma unroll
        for (unsigned j = 0; j < lane_takes; ++j) {
            const bool present = first + j < a.entries;
            row[j] = present ? a.row[first + j] : no_index;
            column[j] = present ? a.column[first + j] : no_index;
            value[j] = present ? a.value[first + j] : Value(0);
        }
    }
    template <class T>
    __device__ static void load(T* to, const T* from) {
        constexpr unsigned width = 16 / sizeof(T);
        struct alignas(16) pack {
            T values[width];
        };
#pragma unroll
        for (unsigned p = 0; p < lane_takes / width; ++p) {
            const int4 bits = __ldcs(reinterpret_cast<const int4*>(from) + p);
            const auto packed = std::bit_cast<pack>(bits);
#pragma unroll
            for (unsigned j = 0; j < width; ++j) to[p * width + j] = packed.values[j];
        }
    }
};

/// The state of a warp in its tile, and the destination of sums of rows that end in it.
template <class Value>
struct tile_rows {
    const coo_product<Value>& a;
    std::uint64_t tile;
    std::uint32_t first_row;
    bool from_before;  ///< the first row continues from the previous tile
    unsigned* opened;  ///< in shared memory, of this warp

    /// By any lane, when all of a row that is in this tile is summed.
    __device__ void end_row(std::uint32_t row, const counted_sum<Value>& sum) const {
        if (row == no_index) return;
        if (from_before && row == first_row) {
            a.before[tile] = sum;
            return;
        }
        Value y;
        if (sum.sum.close(static_cast<double>(sum.terms), y)) {
            a.y[row] = y;
        } else {
            a.open_rows[first_row + atomicAdd(opened, 1u)] = row;
        }
    }
};

/// A warp: 256 entries from `first` on. `carried`, of row `carried_row`: the sum of the previous row so far.
template <class Value>
__device__ void sum_round(const tile_rows<Value>& rows, std::uint64_t first, counted_sum<Value>& carried,
                          std::uint32_t& carried_row) {
    const unsigned lane = threadIdx.x % 32;
    const lane_entries<Value> mine(rows.a, first + lane * lane_takes);
    Value gathered[lane_takes];
#pragma unroll
    for (unsigned j = 0; j < lane_takes; ++j)
        gathered[j] = mine.column[j] != no_index ? __ldg(rows.a.x + mine.column[j]) : Value(0);
    counted_sum<Value> head, sum;
    bool ended = false;  // whether `head` has the first row's part, and another row began
#pragma unroll
    for (unsigned j = 0; j < lane_takes; ++j) {
        if (j != 0 && mine.row[j] != mine.row[j - 1]) {
            if (ended)
                rows.end_row(mine.row[j - 1], sum);
            else
                head = sum;
            ended = true;
            sum = {};
        }
        sum.sum.add(mine.value[j], gathered[j]);
        ++sum.terms;
    }
    std::uint32_t row_before = __shfl_up_sync(all_lanes, mine.row[lane_takes - 1], 1);
    if (lane == 0) row_before = carried_row;
    const bool begins = mine.row[0] != row_before;
    // An inclusive scan over the lanes' last rows, restarted where another row began.
    bool whole = begins || ended;
    if (lane == 0 && !whole) sum.join(carried);
    for (unsigned d = 1; d < 32; d *= 2) {
        const auto other = sum.moved([d](auto word) { return __shfl_up_sync(all_lanes, word, d); });
        const bool other_whole = __shfl_up_sync(all_lanes, static_cast<int>(whole), d) != 0;
        if (lane >= d && !whole) {
            sum.join(other);
            whole = other_whole;
        }
    }
    auto before = sum.moved([](auto word) { return __shfl_up_sync(all_lanes, word, 1); });
    if (lane == 0) before = carried;
    if (begins) {
        rows.end_row(row_before, before);
    } else if (ended) {
        head.join(before);
    }
    if (ended) rows.end_row(mine.row[0], head);
    carried = sum.moved([](auto word) { return __shfl_sync(all_lanes, word, 31); });
    carried_row = __shfl_sync(all_lanes, mine.row[lane_takes - 1], 31);
}

/// One warp per tile. A grid that covers the tiles.
template <class Value>
__global__ __launch_bounds__(block_threads) void sum_tiles_kernel(coo_product<Value> a) {
    __shared__ unsigned opened[block_warps];
    cuda::let_next_kernel_start();
    const unsigned warp = threadIdx.x / 32;
    const std::uint64_t tile = std::uint64_t{blockIdx.x} * block_warps + warp;
    if (tile >= a.tiles) return;
    if (threadIdx.x % 32 == 0) opened[warp] = 0;
    __syncwarp();
    const std::uint64_t begin = tile * a.tile, end = min(a.entries, begin + a.tile);
    const std::uint32_t first_row = a.row[begin];
    const tile_rows<Value> rows{a, tile, first_row, begin != 0 && a.row[begin - 1] == first_row,
                                opened + warp};
    cuda::wait_for_previous_kernel();
    counted_sum<Value> carried;
    std::uint32_t carried_row = first_row;
    for (std::uint64_t first = begin; first < end; first += round_size)
        sum_round(rows, first, carried, carried_row);
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
    const bool goes_on = end < a.entries && a.row[end] == carried_row;
    if (goes_on && !(rows.from_before && carried_row == first_row)) {
        a.after[tile] = carried;
    } else {
        rows.end_row(carried_row, carried);
    }
    a.open_counts[tile] = opened[warp];
}

/// The first entry that is not below `row`, or not below or equal to it, by a whole warp: 32 probes at a time.
__device__ std::uint64_t bound_of(const std::uint32_t* rows, std::uint64_t entries, std::uint32_t row,
                                  bool upper) {
    std::uint64_t begin = 0, end = entries;  // entries before begin are below; those from end on are not
    while (begin < end) {
        const std::uint64_t step = (end - begin + 31) / 32, at = begin + threadIdx.x % 32 * step;
        const bool below = at < end && (upper ? rows[at] <= row : rows[at] < row);
        const auto probes = static_cast<unsigned>(__popc(__ballot_sync(all_lanes, below)));
        if (probes == 0) break;
        end = min(end, begin + probes * step);
        begin += (probes - 1) * step + 1;
    }
    return begin;
}

template <class Value>
__device__ void settle_by_search(const coo_product<Value>& a, std::uint32_t row, exact_words<Value>& exact) {
    const std::uint64_t begin = bound_of(a.row, a.entries, row, false);
    const std::uint64_t end = bound_of(a.row, a.entries, row, true);
    const entry_range<Value> entries{a.column, a.value, begin, end};
    const Value y = settle_row(entries, static_cast<double>(end - begin), a.x, exact);
    if (threadIdx.x % 32 == 0) a.y[row] = y;
}

/// A lane: a row within one tile, again as careful_sum. False: it is long or still open.
template <class Value>
__device__ bool settle_in_tile(const coo_product<Value>& a, std::uint64_t tile, std::uint32_t row) {
    std::uint64_t begin = tile * a.tile, end = min(a.entries, begin + a.tile);
    const std::uint64_t stop = end;
    while (begin < end) {
        const std::uint64_t middle = begin + (end - begin) / 2;
        if (a.row[middle] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    careful_sum mine;
    std::uint64_t e = begin;
    for (; e < stop && a.row[e] == row; ++e) {
        if (e - begin == few_columns) return false;
        mine.add(a.value[e], __ldg(a.x + a.column[e]));
    }
    Value y;
    const bool closed = mine.close(static_cast<double>(e - begin), y);
    if (closed) a.y[row] = y;
    return closed;
}

/// A warp: the row that begins in a tile and continues past the next one.
template <class Value>
__device__ void finish_long_row(const coo_product<Value>& a, std::uint64_t tile, std::uint32_t row,
                                exact_words<Value>& exact) {
    const unsigned lane = threadIdx.x % 32;
    counted_sum<Value> sum;
    if (lane == 0) sum = a.after[tile];
    for (std::uint64_t t = tile + 1 + lane;; t += 32) {
        const bool belongs = t < a.tiles && a.row[t * a.tile] == row;
        if (belongs) sum.join(a.before[t]);
        if (!__all_sync(all_lanes, belongs)) break;
    }
    for (unsigned d = 16; d != 0; d /= 2)
        sum.join(sum.moved([d](auto word) { return __shfl_down_sync(all_lanes, word, d); }));
    Value y;
    const bool closed = sum.sum.close(static_cast<double>(sum.terms), y);
    if (__shfl_sync(all_lanes, static_cast<int>(closed), 0) == 0) {
        settle_by_search(a, row, exact);
    } else if (lane == 0) {
        a.y[row] = y;
    }
}

/// Warps take 32 tiles, one lane each, in turn: rows that continue from there, then the tiles' open rows. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void finish_rows_kernel(coo_product<Value> a) {
    __shared__ exact_words<Value> exact[block_warps];
    exact_words<Value>& own = exact[threadIdx.x / 32];
    cuda::let_next_kernel_start();
    cuda::wait_for_previous_kernel();
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
    const auto for_each_lane = [&](bool wanted, const auto& work) {
        for (unsigned left = __ballot_sync(all_lanes, wanted); left != 0; left &= left - 1)
            work(static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1);
    };
    for (std::uint64_t first = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x - lane;
         first < a.tiles; first += step) {
        const std::uint64_t tile = first + lane, begin = tile * a.tile, next = begin + a.tile;
        std::uint32_t row = no_index, opened = 0;
        bool is_long = false, open = false;
        if (tile < a.tiles) opened = a.open_counts[tile];
        if (next < a.entries) {
            row = a.row[next - 1];
            const bool from_before = begin != 0 && a.row[begin - 1] == row;  // rows ascend: the whole tile
            if (a.row[next] == row && !from_before) {
                is_long = next + a.tile < a.entries && a.row[next + a.tile] == row;
                counted_sum<Value> sum = a.after[tile];
                sum.join(a.before[tile + 1]);
                Value y;
                open = !is_long && !sum.sum.close(static_cast<double>(sum.terms), y);
                if (!is_long && !open) a.y[row] = y;
            }
        }
        for_each_lane(is_long, [&](unsigned which) {
            finish_long_row(a, first + which, __shfl_sync(all_lanes, row, which), own);
        });
        for_each_lane(open,
                      [&](unsigned which) { settle_by_search(a, __shfl_sync(all_lanes, row, which), own); });
        for_each_lane(opened != 0, [&](unsigned which) {
            const std::uint32_t count = __shfl_sync(all_lanes, opened, which);
            const std::uint32_t* const list = a.open_rows + a.row[(first + which) * a.tile];
            for (std::uint32_t i = 0; i < count; i += 32) {
                const std::uint32_t mine = i + lane < count ? list[i + lane] : no_index;
                for_each_lane(mine != no_index && !settle_in_tile(a, first + which, mine),
                              [&](unsigned l) { settle_by_search(a, __shfl_sync(all_lanes, mine, l), own); });
            }
        });
    }
}

}  // namespace

template <floating_value Value>
void multiply(cuda_place& place, const coo_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    clear(place, y);
    coo_product<Value> a{};
    a.row = matrix.row.data();
    a.column = matrix.column.data();
    a.value = matrix.value.data();
    a.x = x.data();
    a.y = y.data();
    a.entries = matrix.value.size();
    const std::uint64_t rounds = a.entries / (std::uint64_t{place.multiprocessors()} * 32 * round_size);
    a.tile = std::clamp<std::uint64_t>(rounds, 1, 8) * round_size;
    a.tiles = (a.entries + a.tile - 1) / a.tile;
    const auto sums = make_array<counted_sum<Value>>(place, a.tiles * 2, "sums of split rows");
    const auto open_counts = make_array<std::uint32_t>(place, a.tiles, "rows to settle");
    const auto open_rows = make_array<std::uint32_t>(place, matrix.rows, "rows to settle");
    a.before = sums.data();
    a.after = sums.data() + a.tiles;
    a.open_counts = open_counts.data();
    a.open_rows = open_rows.data();
    QUERN_LAUNCH(place, early(cuda::blocks_for(a.tiles, block_warps)), sum_tiles_kernel<Value>, a);
    const unsigned finishing =
        std::min(place.multiprocessors() * 4, cuda::blocks_for(a.tiles, block_threads));
    QUERN_LAUNCH(place, early(finishing), finish_rows_kernel<Value>, a);
}

template void multiply(cuda_place&, const coo_matrix<cuda_place, float>&, device_span<const float>,
                       device_span<float>);
template void multiply(cuda_place&, const coo_matrix<cuda_place, double>&, device_span<const double>,
                       device_span<double>);

}  // namespace quern::primitives
