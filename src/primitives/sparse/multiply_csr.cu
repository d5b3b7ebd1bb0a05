// SPDX-License-Identifier: Apache-2.0
// y = A·x in csr, after LightSpMV (Liu and Schmidt 2015): part of a warp per row, with as many lanes as rows have entries
// on average. Rows are assigned as multiprocessors become free, in thread blocks of a few rows: the hardware's scheduler
// replaces LightSpMV's counter, without traffic.
//
// Rows much longer than the others get a whole warp. Even longer rows are cut at multiples of `tile` entries: thread blocks
// of the same launch find the row of their multiple and sum its part. These and rows that the bound leaves open are marked
// for the second kernel.
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
constexpr std::uint64_t tile =
    2048;  ///< entries; a longer row is cut, and contains at least one multiple of it
constexpr std::uint64_t few_rounds = 32;  ///< a row that takes its group longer goes to the whole warp

template <class Value>
struct csr_product {
    const std::uint64_t* offsets;
    const std::uint32_t* column;
    const Value* value;
    const Value* x;
    Value* y;
    std::uint32_t rows;
    unsigned group;                ///< lanes per row
    std::uint64_t tiles;           ///< multiples of `tile` among the entries
    bounded_sum<Value>* cut_sums;  ///< one per multiple
    std::uint32_t* marks;          ///< a word for each 32 / group rows: the first lanes of those to finish
};

/// Entries first, first + step, … below `end`, fewer than 2^32 steps.
template <unsigned step, class Value>
__device__ bounded_sum<Value> sum_entries(const csr_product<Value>& a, std::uint64_t first,
                                          std::uint64_t end) {
    bounded_sum<Value> mine;
    const std::uint32_t left = first < end ? static_cast<std::uint32_t>(end - first) : 0;
    add_columns<batch, (step < 32)>(mine, a.column + first, a.value + first, constant<step>{},
                                    (left + step - 1) / step, a.x);
    return mine;
}

/// Joins the sums of `group` neighbouring lanes; valid in the first.
template <unsigned group, class Sum>
__device__ void join_group(Sum& mine) {
#pragma unroll
    for (unsigned d = group / 2; d != 0; d /= 2)
        mine.join(mine.moved([d](auto word) { return __shfl_down_sync(all_lanes, word, d, group); }));
}

/// The row of an entry, by a whole warp: 32 probes at a time.
__device__ std::uint32_t row_of(const std::uint64_t* offsets, std::uint32_t rows, std::uint64_t entry) {
    std::uint64_t begin = 0, end = rows;  // offsets[begin] <= entry < offsets[end]
    while (end - begin > 1) {
        const std::uint64_t step = (end - begin + 31) / 32, at = begin + threadIdx.x % 32 * step;
        const auto reached =
            static_cast<unsigned>(__popc(__ballot_sync(all_lanes, at < end && offsets[at] <= entry)));
        begin += (reached - 1) * step;
        end = min(end, begin + step);
    }
    return static_cast<std::uint32_t>(begin);
}

/// A warp: the entries from a multiple of `tile` on in one cut row, with those before the row's first multiple.
template <class Value>
__device__ void sum_cut_row(const csr_product<Value>& a, std::uint64_t multiple) {
    const std::uint32_t row = row_of(a.offsets, a.rows, multiple * tile);
    const std::uint64_t begin = a.offsets[row], end = a.offsets[row + 1];
    if (end - begin <= tile) return;
    cuda::wait_for_previous_kernel();
    const std::uint64_t from = multiple * tile - begin < tile ? begin : multiple * tile;
    bounded_sum<Value> mine = sum_entries<32>(a, from + threadIdx.x % 32, min(end, (multiple + 1) * tile));
    join_group<32>(mine);
    if (threadIdx.x % 32 == 0) a.cut_sums[multiple] = mine;
}

/// A warp: 32 / group rows, or one multiple of `tile`: those come first. No dynamic shared memory.
template <class Value, unsigned group>
__global__ __launch_bounds__(block_threads) void sum_rows_kernel(csr_product<Value> a) {
    cuda::let_next_kernel_start();
    const std::uint64_t warp = std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / 32;
    if (warp < a.tiles) {
        sum_cut_row(a, warp);
        return;
    }
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t word = warp - a.tiles, row = word * (32 / group) + lane / group;
    if (word * (32 / group) >= a.rows) return;
    std::uint64_t begin = 0, end = 0;
    if (row < a.rows) {
        begin = a.offsets[row];
        end = a.offsets[row + 1];
    }
    cuda::wait_for_previous_kernel();
    const std::uint64_t length = end - begin;
    const bool cut = length > tile, shared = group < 32 && !cut && length > group * few_rounds;
    bounded_sum<Value> mine = sum_entries<group>(a, begin + lane % group, cut || shared ? begin : end);
    join_group<group>(mine);
    if constexpr (group < 32) {
        for (unsigned left = __ballot_sync(all_lanes, shared && lane % group == 0); left != 0;
             left &= left - 1) {
            const unsigned which = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
            const std::uint64_t from = __shfl_sync(all_lanes, begin, which);
            bounded_sum<Value> whole = sum_entries<32>(a, from + lane, __shfl_sync(all_lanes, end, which));
            join_group<32>(whole);
            whole = whole.moved([](auto part) { return __shfl_sync(all_lanes, part, 0); });
            if (lane == which) mine = whole;
        }
    }
    bool marked = cut;
    if (!cut && row < a.rows) {
        Value y;
        marked = !mine.close(static_cast<double>(length), y);
        if (!marked && lane % group == 0) a.y[row] = y;
    }
    const unsigned marks = __ballot_sync(all_lanes, marked && lane % group == 0);
    if (lane == 0) a.marks[word] = marks;
}

/// If many rows of a word are open: a lane sums its row again, as careful_sum. Returns the remaining marks.
template <class Value>
__device__ unsigned settle_word(const csr_product<Value>& a, std::uint64_t word, unsigned marks) {
    if (__popc(marks) < few_rows) return marks;
    const unsigned lane = threadIdx.x % 32;
    bool open = (marks >> lane & 1) != 0;
    if (open) {
        const std::uint64_t row = word * (32 / a.group) + lane / a.group;
        const std::uint64_t begin = a.offsets[row], length = a.offsets[row + 1] - begin;
        if (length <= few_columns) {
            careful_sum mine;
            add_columns<batch, true>(mine, a.column + begin, a.value + begin, constant<1>{},
                                     static_cast<std::uint32_t>(length), a.x);
            Value y;
            open = !mine.close(static_cast<double>(length), y);
            if (!open) a.y[row] = y;
        }
    }
    return __ballot_sync(all_lanes, open);
}

/// Warps finish the marked rows, in turn. Any grid.
template <class Value>
__global__ __launch_bounds__(block_threads) void finish_rows_kernel(csr_product<Value> a) {
    __shared__ exact_words<Value> exact[block_warps];
    cuda::let_next_kernel_start();
    cuda::wait_for_previous_kernel();
    const unsigned lane = threadIdx.x % 32, rows_of_word = 32 / a.group;
    const std::uint64_t words = (std::uint64_t{a.rows} + rows_of_word - 1) / rows_of_word;
    const auto finish = [&](std::uint64_t word, unsigned bit) {
        const std::uint64_t row = word * rows_of_word + bit / a.group;
        const std::uint64_t begin = a.offsets[row], end = a.offsets[row + 1];
        const auto terms = static_cast<double>(end - begin);
        if (end - begin > tile) {
            bounded_sum<Value> mine;
            for (std::uint64_t t = (begin + tile - 1) / tile + lane; t * tile < end; t += 32)
                mine.join(a.cut_sums[t]);
            join_group<32>(mine);
            Value y;
            const bool closed = mine.close(terms, y);
            if (closed && lane == 0) a.y[row] = y;
            if (__shfl_sync(all_lanes, static_cast<int>(closed), 0) != 0) return;
        }
        const entry_range<Value> entries{a.column, a.value, begin, end};
        const Value y = settle_row(entries, terms, a.x, exact[threadIdx.x / 32]);
        if (lane == 0) a.y[row] = y;
    };
    for_each_marked_word(a.marks, 0, words, [&](std::uint64_t word, unsigned bits) {
        for_each_bit(settle_word(a, word, bits), [&](unsigned bit) { finish(word, bit); });
    });
}

template <class Value, unsigned group>
void enqueue(cuda_place& place, csr_product<Value>& a) {
    a.group = group;
    const std::size_t words = (std::size_t{a.rows} + 32 / group - 1) / (32 / group);
    const auto marks = make_array<std::uint32_t>(place, words, "rows to finish");
    const auto cut_sums = make_array<bounded_sum<Value>>(place, a.tiles, "sums of long rows");
    a.marks = marks.data();
    a.cut_sums = cut_sums.data();
    QUERN_LAUNCH(place, early(cuda::blocks_for(a.tiles + words, block_warps)),
                 (sum_rows_kernel<Value, group>), a);
    const unsigned finishing =
        std::min(place.multiprocessors() * 4, cuda::blocks_for(words, std::size_t{32} * block_warps));
    QUERN_LAUNCH(place, early(finishing), finish_rows_kernel<Value>, a);
}

}  // namespace

template <floating_value Value>
void multiply(cuda_place& place, const csr_matrix<cuda_place, Value>& matrix, device_span<const Value> x,
              device_span<Value> y) {
    check_vectors<Value>(matrix, x, y);
    if (matrix.rows == 0) return;
    const std::uint64_t entries = matrix.column.size();
    csr_product<Value> a{};
    a.offsets = matrix.offsets.data();
    a.column = matrix.column.data();
    a.value = matrix.value.data();
    a.x = x.data();
    a.y = y.data();
    a.rows = matrix.rows;
    a.tiles = (entries + tile - 1) / tile;
    const std::uint64_t mean = entries / matrix.rows;  // a lane usually takes three to ten entries
    if (mean < 6)
        enqueue<Value, 1>(place, a);
    else if (mean < 12)
        enqueue<Value, 2>(place, a);
    else if (mean < 40)
        enqueue<Value, 4>(place, a);
    else if (mean < 120)
        enqueue<Value, 8>(place, a);
    else if (mean < 400)
        enqueue<Value, 16>(place, a);
    else
        enqueue<Value, 32>(place, a);
}

template void multiply(cuda_place&, const csr_matrix<cuda_place, float>&, device_span<const float>,
                       device_span<float>);
template void multiply(cuda_place&, const csr_matrix<cuda_place, double>&, device_span<const double>,
                       device_span<double>);

}  // namespace quern::primitives
