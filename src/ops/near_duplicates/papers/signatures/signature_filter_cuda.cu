// SPDX-License-Identifier: Apache-2.0
// The filter of signature_filter.cuh. The number of a row's bits that a column has not is the bitwise product of its code
// and the column's complement, summed by the tensor cores: 64 rows by 8 columns per warp, 256 bits per instruction.
// Slower: a test for a power of two, a test for each 8 columns, wgmma (docs/near_duplicates_signature.md, "What was tried").
#include <cuda_pipeline.h>

#include <type_traits>

#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/papers/signatures/signature_filter.cuh"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned filter_threads = 128;
/// Pairs that a block keeps before it appends them to the queue. One addition to the queue's count serves them all.
constexpr unsigned kept_pairs = 256;
/// Bits of a code that are free for the limit, in its last word.
constexpr int free_bits = 32;

/// One thread per row: its code, in registers until it is complete, and its length. Planes 0, 1, … have the letters that
/// occur once, twice, … or more. The last one has two bits for each 4 letters: whether these occur once and twice more than
/// the planes count. Rows past the last one have no bits.
template <unsigned Quads>
__global__ __launch_bounds__(filter_threads) void write_codes_kernel(join_data data, coded_rows rows) {
    constexpr unsigned planes = 4 * Quads - 1;
    const std::uint32_t row = blockIdx.x * filter_threads + threadIdx.x;
    std::uint64_t code[planes + 1] = {};
    unsigned length = 0;
    if (row < data.rows) {
        const std::uint32_t source = data.sources[row];
        for (std::uint64_t i = data.offsets[source]; i < data.offsets[source + 1]; ++i) {
            std::uint64_t bit = std::uint64_t{1} << data.letters[i];
#pragma unroll
            for (unsigned n = 0; n < planes; ++n) {  // the first plane without it takes it
                const std::uint64_t carried = code[n] & bit;
                code[n] |= bit;
                bit = carried;
            }
            if (bit == 0) continue;
            const unsigned four = data.letters[i] / 4;
            const std::uint64_t once = std::uint64_t{1} << four;
            code[planes] |= (code[planes] & once) != 0 ? once << 16 : once;
        }
        length = length_in(data.keys[row]);
    }
    rows.lengths[row] = static_cast<std::int32_t>(length);
    const auto shortest = cuda::min_of_warp(row < data.rows ? static_cast<int>(length) : 1024);
    if (row % 32 == 0) rows.shortest[row / 32] = shortest;
#pragma unroll
    for (unsigned n = 0; n <= planes; ++n)
        rows.missing[(std::size_t{n / 4} * rows.padded + row) * 4 + n % 4] =
            make_uint2(~static_cast<unsigned>(code[n]), ~static_cast<unsigned>(code[n] >> 32));
}

/// The number of blocks that share a multiprocessor's registers.
constexpr unsigned blocks_at_once(unsigned quads) {
    return quads == 1 ? 5 : quads == 2 ? 4 : 2;
}

/// One block per tile. A warp has 64 rows of the group in registers, 16 · Quads per thread, and multiplies them with 8
/// columns at a time from shared memory: the bits of a row that a column has not.
/// - Shared memory holds 256 / Quads columns (at least 64) while the next ones are loaded (16 KiB; 32 for 8 quads).
/// - Thread (g, i) = (lane / 4, lane % 4) holds words 2 i and 2 i + 1 of rows g, g + 8, … and of column g. The tensor cores
///   accept the bits in any order that rows and columns share.
/// - Sums begin at `start`, so that those of near pairs are negative: one operation for two sums, one test for 32. Free bits,
///   which all columns have, raise the sums of rows whose limit is below the warp's.
/// - A limit holds for 64 columns, sorted by length: it is that of the shortest.
template <unsigned Quads>
__global__ __launch_bounds__(filter_threads, blocks_at_once(Quads)) void multiply_rows_kernel(
    join_data data, coded_rows rows, tile_list tiles, std::uint64_t first_tile, pair_queue queue) {
    constexpr unsigned staged_columns = Quads <= 4 ? 256 / Quads : 64;
    __shared__ uint4 staged[2][Quads][2 * staged_columns];
    __shared__ std::int32_t lengths[group_rows];
    __shared__ window windows[group_rows];
    __shared__ window kept[kept_pairs];  // row and other
    __shared__ unsigned kept_count;

    const tile_rows tile = rows_of(data, tiles, first_tile + blockIdx.x);
    bool meets = false, covers = true;
    if (threadIdx.x == 0) kept_count = 0;
    for (unsigned r = threadIdx.x; r < group_rows; r += filter_threads) {
        const std::uint32_t row = tile.group + r;
        const window mine = row < data.rows ? tile.windows[row] : window{0, 0};
        windows[r] = mine;
        lengths[r] = row < data.rows ? rows.lengths[row] : 0;
        meets |= mine.first < min(tile.end, mine.last) && mine.last > tile.begin;
        covers &= mine.first <= tile.begin && mine.last >= tile.end;
    }
    if (__syncthreads_or(meets ? 1 : 0) == 0) return;  // a group of several lists also spans what is between
    const bool all_meet = __syncthreads_and(covers ? 1 : 0) != 0;

    const auto columns_at = [&](std::uint32_t at) {
        return min(staged_columns, (tile.end - at + tile_alignment - 1) / tile_alignment * tile_alignment);
    };
    const auto stage = [&](std::uint32_t at, unsigned slot) {
        const unsigned count = 2 * columns_at(at);
#pragma unroll
        for (unsigned q = 0; q < Quads; ++q) {
            const auto* const from =
                reinterpret_cast<const uint4*>(rows.missing) + (std::size_t{q} * rows.padded + at) * 2;
            for (unsigned i = threadIdx.x; i < count; i += filter_threads)
                __pipeline_memcpy_async(&staged[slot][q][i], from + i, sizeof(uint4));
        }
        __pipeline_commit();
    };
    const unsigned lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * 64 + lane / 4;
    const auto shortest_at = [&](std::uint32_t at) {  // of 32 columns per lane
        return lane * 32 < columns_at(at) ? rows.shortest[at / 32 + lane] : 1024;
    };
    stage(tile.begin, 0);

    uint2 low[Quads][4], high[Quads][4];
#pragma unroll
    for (unsigned q = 0; q < Quads; ++q)
#pragma unroll
        for (unsigned m = 0; m < 4; ++m) {
            const std::size_t row = std::size_t{q} * rows.padded + tile.group + first_row + 16 * m;
            const uint2 a = rows.missing[row * 4 + lane % 4], b = rows.missing[(row + 8) * 4 + lane % 4];
            low[q][m] = make_uint2(~a.x, ~a.y);
            high[q][m] = make_uint2(~b.x, ~b.y);
        }

    std::int32_t start[4];
    // Two rows of lengths x <= y may be near if x has at most x − y + largest[x + y] bits that y has not. After the end of a
    // list of rows, shorter ones of the next list follow, which do not meet them.
    const auto set_limits = [&](std::int32_t shortest, std::uint32_t begin) {
        const auto limit_of = [&](unsigned r) {
            const bool row_meets =
                all_meet || (windows[r].first < begin + tile_alignment && windows[r].last > begin);
            if (!row_meets) return -1;
            const std::int32_t x = lengths[r], y = max(x, shortest);
            return x - y + data.largest[x + y];
        };
        std::int32_t most = 0;
#pragma unroll
        for (unsigned m = 0; m < 4; ++m)
            most = max(most, max(limit_of(first_row + 16 * m), limit_of(first_row + 16 * m + 8)));
        most = cuda::max_of_warp(most);
        start[0] = start[1] = start[2] = start[3] = -1 - most;
        const auto raised_by = [&](unsigned r) {
            const int bits = min(most - limit_of(r), free_bits);
            return bits == free_bits ? ~0u : (1u << bits) - 1;
        };
#pragma unroll
        for (unsigned m = 0; m < 4; ++m) {
            const unsigned of_low = raised_by(first_row + 16 * m),
                           of_high = raised_by(first_row + 16 * m + 8);
            if (lane % 4 != 3) continue;
            low[Quads - 1][m].y = of_low;
            high[Quads - 1][m].y = of_high;
        }
    };

    std::int32_t next_shortest = shortest_at(tile.begin), limits_for = -1;
    unsigned slot = 0;
    for (std::uint32_t at = tile.begin; at < tile.end; at += staged_columns, slot ^= 1) {
        const std::int32_t shortest_of_lanes = next_shortest;
        if (at + staged_columns < tile.end) {
            stage(at + staged_columns, slot ^ 1);
            next_shortest = shortest_at(at + staged_columns);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        const unsigned count = columns_at(at);
        for (unsigned part = 0; part < count; part += tile_alignment) {
            const std::int32_t shortest =
                min(__shfl_sync(0xffffffff, shortest_of_lanes, static_cast<int>(part / 32)),
                    __shfl_sync(0xffffffff, shortest_of_lanes, static_cast<int>(part / 32 + 1)));
            if (shortest != limits_for || !all_meet) set_limits(shortest, at + part);
            limits_for = shortest;
            for (unsigned n = part; n < part + tile_alignment; n += 16) {
                std::int32_t sums[2][4][4];
#pragma unroll
                for (unsigned half = 0; half < 2; ++half)
#pragma unroll
                    for (unsigned q = 0; q < Quads; ++q) {
                        const uint2 column =
                            reinterpret_cast<const uint2*>(staged[slot][q])[(n + 8 * half) * 4 + lane];
#pragma unroll
                        for (unsigned m = 0; m < 4; ++m)
                            cuda::count_common_bits(
                                sums[half][m],
                                make_uint4(low[q][m].x, high[q][m].x, low[q][m].y, high[q][m].y), column.x,
                                column.y, q == 0 ? start : sums[half][m]);
                    }
                std::int32_t any[2] = {};
#pragma unroll
                for (unsigned i = 0; i < 32; ++i) any[i / 16] |= sums[i / 16][i / 4 % 4][i % 4];
                if (__any_sync(0xffffffff, (any[0] | any[1]) < 0) == 0) continue;
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    if (any[half] >= 0) continue;
                    unsigned near = 0;
#pragma unroll
                    for (unsigned i = 0; i < 16; ++i) near |= sums[half][i / 4][i % 4] < 0 ? 1u << i : 0;
                    for (; near != 0; near &= near - 1) {
                        const auto i = static_cast<unsigned>(__ffs(static_cast<int>(near)) - 1);
                        const unsigned r = first_row + i / 4 * 16 + i % 4 / 2 * 8;
                        const std::uint32_t other = at + n + 8 * half + lane % 4 * 2 + i % 2;
                        if (other < windows[r].first || other >= windows[r].last) continue;
                        const unsigned place = atomicAdd(&kept_count, 1u);
                        if (place < kept_pairs)
                            kept[place] = {tile.group + r, other};
                        else
                            append_pair(data, queue, tile.group + r, other);
                    }
                }
                __syncwarp();
            }
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < min(kept_count, kept_pairs); i += filter_threads)
        append_pair(data, queue, kept[i].first, kept[i].last);
}

/// Calls sink(constant) with the planes of a code, in units of four.
template <class Sink>
void with_quads(unsigned levels, const Sink& sink) {
    switch (levels) {
        case 4:
            return sink(std::integral_constant<unsigned, 1>());
        case 8:
            return sink(std::integral_constant<unsigned, 2>());
        case 16:
            return sink(std::integral_constant<unsigned, 4>());
        default:
            return sink(std::integral_constant<unsigned, 8>());
    }
}

}  // namespace

row_filter::row_filter(cuda_place& place, const join_data& data, const signature_bounds& bounds)
    : place_(place), data_(data), levels_(code_levels(bounds.length())) {
    const std::uint32_t padded = (data.rows + group_rows - 1) / group_rows * group_rows;
    missing_ = make_array<std::uint64_t>(place, std::size_t{levels_} * padded, "codes of signatures");
    lengths_ = make_array<std::int32_t>(place, std::size_t{padded} + padded / 32, "lengths of signatures");
    rows_ = {reinterpret_cast<uint2*>(missing_.data()), lengths_.data(), lengths_.data() + padded, padded};
    with_quads(levels_, [&](auto quads) {
        QUERN_LAUNCH(place_, (cuda::launch_shape{padded / filter_threads, filter_threads}),
                     write_codes_kernel<decltype(quads)::value>, data_, rows_);
    });
}

void row_filter::pass(const tile_list& tiles, std::uint64_t first, std::uint64_t count,
                      const pair_queue& queue) {
    with_quads(levels_, [&](auto quads) {
        QUERN_LAUNCH(place_, (cuda::launch_shape{static_cast<unsigned>(count), filter_threads}),
                     multiply_rows_kernel<decltype(quads)::value>, data_, rows_, tiles, first, queue);
    });
}

}  // namespace quern::near_duplicates_detail
