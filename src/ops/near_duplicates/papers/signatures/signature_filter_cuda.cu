// SPDX-License-Identifier: Apache-2.0
// The filter of signature_filter.cuh. The number of letters that two strings share is the bitwise product of their codes,
// summed by the tensor cores: 64 rows by 8 columns per warp, 256 bits per instruction.
#include <cuda_pipeline.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/papers/signatures/signature_filter.cuh"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned filter_threads = 128;
constexpr std::int32_t never = -(1 << 30);  // a limit that no pair reaches
/// Limits are in units of 1/65536 letter.
constexpr unsigned limit_bits = 16;

/// One thread per row: its code, in registers until it is complete, and its limits. Rows past the last one are empty and
/// near nothing.
template <unsigned Quads>
__global__ __launch_bounds__(filter_threads) void write_codes_kernel(join_data data, coded_rows rows) {
    constexpr unsigned levels = 4 * Quads;
    const std::uint32_t row = blockIdx.x * filter_threads + threadIdx.x;
    std::uint64_t code[levels] = {};
    std::int32_t own = never, other = never;
    if (row < data.rows) {
        const std::uint32_t source = data.sources[row];
        std::int32_t beyond = 0;  // letters that the code does not count
        for (std::uint64_t i = data.offsets[source]; i < data.offsets[source + 1]; ++i) {
            std::uint64_t bit = std::uint64_t{1} << data.letters[i];
#pragma unroll
            for (unsigned n = 0; n < levels; ++n) {  // the first plane without it takes it
                const std::uint64_t carried = code[n] & bit;
                code[n] |= bit;
                bit = carried;
            }
            beyond += bit != 0 ? 1 : 0;
        }
        const unsigned length = length_in(data.keys[row]);
        own = rows.shorter[length] + (beyond << limit_bits);
        other = rows.longer[length];
    }
    rows.own[row] = own;
    other = cuda::max_of_warp(other);
    if (row % 32 == 0) rows.nearest[row / 32] = other;
#pragma unroll
    for (unsigned n = 0; n < levels; ++n)
        rows.codes[(std::size_t{n / 4} * rows.padded + row) * 4 + n % 4] =
            make_uint2(static_cast<unsigned>(code[n]), static_cast<unsigned>(code[n] >> 32));
}

/// The number of blocks that share a multiprocessor's registers.
constexpr unsigned blocks_at_once(unsigned quads) {
    return quads == 1 ? 5 : quads == 2 ? 4 : 2;
}

/// One block per tile. A warp has 64 rows of the group in registers, 16 · Quads per thread, and multiplies them with 8
/// columns at a time from shared memory.
/// - Shared memory holds 256 / Quads columns (at least 64) while the next ones are loaded (16 KiB; 32 for 8 quads).
/// - Thread (g, i) = (lane / 4, lane % 4) holds words 2 i and 2 i + 1 of rows g, g + 8, … and of column g. The tensor cores
///   accept the bits in any order that rows and columns share.
/// - Sums start at the limit, so near pairs are not negative: one test for 16 sums.
/// - A limit holds for 64 columns, sorted by length: it is their least strict one.
template <unsigned Quads>
__global__ __launch_bounds__(filter_threads, blocks_at_once(Quads)) void multiply_rows_kernel(
    join_data data, coded_rows rows, tile_list tiles, std::uint64_t first_tile, pair_queue queue) {
    constexpr unsigned staged_columns = Quads <= 4 ? 256 / Quads : 64;
    __shared__ uint4 staged[2][Quads][2 * staged_columns];
    __shared__ std::int32_t own_limits[group_rows];
    __shared__ window windows[group_rows];

    const tile_rows tile = rows_of(data, tiles, first_tile + blockIdx.x);
    bool meets = false, covers = true;
    for (unsigned r = threadIdx.x; r < group_rows; r += filter_threads) {
        const std::uint32_t row = tile.group + r;
        const window mine = row < data.rows ? tile.windows[row] : window{0, 0};
        windows[r] = mine;
        own_limits[r] = row < data.rows ? rows.own[row] : never;
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
                reinterpret_cast<const uint4*>(rows.codes) + (std::size_t{q} * rows.padded + at) * 2;
            for (unsigned i = threadIdx.x; i < count; i += filter_threads)
                __pipeline_memcpy_async(&staged[slot][q][i], from + i, sizeof(uint4));
        }
        __pipeline_commit();
    };
    const unsigned lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * 64 + lane / 4;
    const auto limits_at = [&](std::uint32_t at) {  // of 32 columns per lane
        return lane * 32 < columns_at(at) ? rows.nearest[at / 32 + lane] : never;
    };
    stage(tile.begin, 0);

    uint2 low[Quads][4], high[Quads][4];
#pragma unroll
    for (unsigned q = 0; q < Quads; ++q)
#pragma unroll
        for (unsigned m = 0; m < 4; ++m) {
            const std::size_t row = std::size_t{q} * rows.padded + tile.group + first_row + 16 * m;
            low[q][m] = rows.codes[row * 4 + lane % 4];
            high[q][m] = rows.codes[(row + 8) * 4 + lane % 4];
        }

    std::int32_t next_limits = limits_at(tile.begin);
    unsigned slot = 0;
    for (std::uint32_t at = tile.begin; at < tile.end; at += staged_columns, slot ^= 1) {
        const std::int32_t limits = next_limits;
        if (at + staged_columns < tile.end) {
            stage(at + staged_columns, slot ^ 1);
            next_limits = limits_at(at + staged_columns);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        const unsigned count = columns_at(at);
        for (unsigned part = 0; part < count; part += tile_alignment) {
            const std::int32_t limit = max(__shfl_sync(0xffffffff, limits, static_cast<int>(part / 32)),
                                           __shfl_sync(0xffffffff, limits, static_cast<int>(part / 32 + 1)));
            // After the end of a list of rows, shorter ones of the next list follow; the limit does not apply to them.
            const auto begin_of = [&](unsigned r) {
                const bool row_meets = all_meet || (windows[r].first < at + part + tile_alignment &&
                                                    windows[r].last > at + part);
                return ((row_meets ? own_limits[r] : never) + limit) >> limit_bits;
            };
            std::int32_t begin[4][4];
#pragma unroll
            for (unsigned m = 0; m < 4; ++m) {
                begin[m][0] = begin[m][1] = begin_of(first_row + 16 * m);
                begin[m][2] = begin[m][3] = begin_of(first_row + 16 * m + 8);
            }
#pragma unroll 2
            for (unsigned n = part; n < part + tile_alignment; n += 8) {
                std::int32_t sums[4][4];
#pragma unroll
                for (unsigned q = 0; q < Quads; ++q) {
                    const uint2 column = reinterpret_cast<const uint2*>(staged[slot][q])[n * 4 + lane];
#pragma unroll
                    for (unsigned m = 0; m < 4; ++m)
                        cuda::count_common_bits(
                            sums[m], make_uint4(low[q][m].x, high[q][m].x, low[q][m].y, high[q][m].y),
                            column.x, column.y, q == 0 ? begin[m] : sums[m]);
                }
                std::int32_t all = sums[0][0];
#pragma unroll
                for (unsigned i = 1; i < 16; ++i) all &= sums[i / 4][i % 4];
                if (__any_sync(0xffffffff, all >= 0) == 0) continue;
                unsigned near = 0;
#pragma unroll
                for (unsigned i = 0; i < 16; ++i) near |= sums[i / 4][i % 4] >= 0 ? 1u << i : 0;
                for (; near != 0; near &= near - 1) {
                    const auto i = static_cast<unsigned>(__ffs(static_cast<int>(near)) - 1);
                    const unsigned r = first_row + i / 4 * 16 + i % 4 / 2 * 8;
                    const std::uint32_t other = at + n + lane % 4 * 2 + i % 2;
                    if (other >= windows[r].first && other < windows[r].last)
                        append_pair(data, queue, tile.group + r, other);
                }
                __syncwarp();
            }
        }
        __syncthreads();
    }
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
    const unsigned lengths = bounds.length() + 1;
    // Shared letters >= y − distance > (1 − p) y − p x for lengths x <= y and p = slack · threshold. Rounding never makes
    // it stricter. From p = 1 on all pairs pass.
    const double p = std::min(1.0, bounds.rate());
    std::vector<std::int32_t> tables;
    for (const double factor : {p, p - 1})
        for (unsigned length = 0; length < lengths; ++length)
            tables.push_back(static_cast<std::int32_t>(std::floor(factor * length * (1 << limit_bits))) + 2);
    tables_ = array_from(place, std::span<const std::int32_t>(tables));
    codes_ = make_array<std::uint64_t>(place, std::size_t{levels_} * padded, "codes of signatures");
    limits_ = make_array<std::int32_t>(place, std::size_t{padded} + padded / 32, "limits of signatures");
    rows_ = {reinterpret_cast<uint2*>(codes_.data()),
             limits_.data(),
             limits_.data() + padded,
             padded,
             tables_.data(),
             tables_.data() + lengths};
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
