// SPDX-License-Identifier: Apache-2.0
// Compares sketches on the GPU. The disjoint grams of rows and all grams of columns are matrices of bits; the populations of
// their intersections are a product, which tensor cores compute: mma.m16n8k256 with AND and population count. A block has
// 128 rows and 256 columns at a time, a warp 64 x 64 sums in registers. Copies of the next parts of the bitmaps to shared
// memory run meanwhile. Pairs that pass go to a list, and warps apply the other filters to them. Lists fill in any order;
// their contents do not depend on it.
#include <cstdint>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "ops/near_duplicates/filter/sketch_join.hpp"
#include "ops/near_duplicates/filter/sketched_classes.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned warp = 32, block_threads = 256;
constexpr unsigned warp_rows = 64, warp_columns = 64, warps_across = column_tile / warp_columns;
static_assert(row_tile / warp_rows * warps_across * warp == block_threads);
constexpr unsigned unit_bytes = 16, stage_rows = row_tile + column_tile;

/// Stages of shared memory, each with Units · 128 bits of every bitmap.
template <unsigned Stages, unsigned Units>
struct join_shape {
    static constexpr unsigned stages = Stages, units = Units;
    static constexpr unsigned stage_bytes = stage_rows * Units * unit_bytes,
                              shared_bytes = Stages * stage_bytes;
    static constexpr unsigned steps = Units / 2;  // of 256 bits
    static_assert(Stages >= 2 && bitmap_bits(min_scale) % (Units * unit_bytes * 8) == 0);

    /// The place of a unit of a row of a stage: rotated, so that the eight rows of a matrix use all banks.
    static __device__ unsigned place(unsigned row, unsigned unit) {
        return (row * Units + (unit ^ (row * Units / 8 % Units))) * unit_bytes;
    }
};
using large_shape = join_shape<3, 8>;   // 144 KiB: from 8.0 on, but for those below
using medium_shape = join_shape<3, 4>;  // 72 KiB: 8.6, 8.9, 12.0
using small_shape = join_shape<2, 4>;   // 48 KiB: 7.5
constexpr std::size_t max_scales = sketched_classes::max_scales;

/// What kernels read of device_sketches.
struct sketch_view {
    std::uint32_t first;
    const uint4* units;
    const std::uint64_t* bitmaps;
    const std::uint64_t* begins;
    const std::uint32_t* populations;

    __device__ const std::uint64_t* all_grams(std::uint32_t c) const { return bitmaps + begins[c - first]; }
};

struct join_state {
    const std::uint32_t* lengths;
    const std::uint8_t* kinds;
    const device_scales* scales;
    const std::uint32_t* rows;
    std::uint32_t row_count;
    const std::uint32_t* columns;  ///< null: the classes in order
    bool columns_have_disjoint;
    sketch_view row_sketches, column_sketches;
    decimal threshold;
    bool within_new;
    const join_work* work;
    first_pair* first_found;
    std::uint64_t first_capacity;
    std::uint64_t* found;
    unsigned long long* counters;  ///< passed the first filter, passed all

    __device__ std::uint32_t column(std::uint32_t at) const { return columns == nullptr ? at : columns[at]; }
};

/// The disjoint grams of a class; null if it has none of this scale.
struct disjoint_view {
    const std::uint64_t* bits;
    std::uint32_t population;
};
__device__ disjoint_view disjoint_of(const join_state& all, const sketch_view& sketches, std::uint32_t c,
                                     unsigned scale) {
    const device_scales scales = all.scales[c];
    if (scale < scales.first || scale > scales.last) return {nullptr, 0};
    const std::uint64_t* at = sketches.all_grams(c) + bitmap_words(scale_of(all.lengths[c]));
    for (unsigned s = scales.last; s > scale; --s) at += bitmap_words(s);
    return {at, sketches.populations[std::size_t{c - sketches.first} * max_scales + (scales.last - scale)]};
}

/// edits <= largest_distance(threshold, total) without a division.
__device__ bool within(const decimal& threshold, std::uint64_t edits, std::uint64_t total) {
    return total == 0 ? edits == 0 : edits * threshold.denominator < threshold.numerator * total;
}

/// Whether members of the two classes make a requested pair, and this row is the one that finds it.
__device__ bool is_requested(const join_state& all, std::uint32_t row, std::uint32_t column) {
    const unsigned of_row = all.kinds[row], of_column = all.kinds[column];
    if (row == column || (column > row && (of_column & new_members) != 0)) return false;
    if ((of_column & old_members) != 0) return true;  // a row has new members
    return (of_row & old_members) != 0 || all.within_new;
}

__device__ std::uint32_t shared_address(const void* at) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}
__device__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}
/// Block b does work[b]. Dynamic shared memory: Shape::shared_bytes.
template <class Shape>
__global__ void __launch_bounds__(block_threads, 1) join_bitmaps_kernel(join_state all) {
    extern __shared__ __align__(128) std::uint8_t shared[];
    __shared__ const std::uint64_t* bitmaps[stage_rows];  // rows, then columns; null where there is none
    __shared__ std::uint32_t classes[stage_rows], populations[row_tile], lengths[row_tile];
    __shared__ std::int32_t least[row_tile];  // common bits that a row needs with any column of the tile

    const join_work mine = all.work[blockIdx.x];
    const unsigned thread = threadIdx.x, lane = thread % warp;
    const unsigned first_row = thread / warp / warps_across * warp_rows,
                   first_column = thread / warp % warps_across * warp_columns;
    const auto row_of = [&](unsigned i) { return first_row + 16 * (i / 2) + 8 * (i % 2) + lane / 4; };
    const auto column_of = [&](unsigned j) { return first_column + 8 * (j / 2) + lane % 4 * 2 + j % 2; };
    constexpr unsigned stages = Shape::stages, units_of_stage = Shape::units;
    const unsigned parts = static_cast<unsigned>(bitmap_words(mine.scale) / (2 * units_of_stage));

    for (unsigned i = thread; i < row_tile; i += block_threads) {
        const bool exists = mine.row + i < all.row_count;
        const std::uint32_t c = exists ? all.rows[mine.row + i] : 0;
        const disjoint_view grams =
            exists ? disjoint_of(all, all.row_sketches, c, mine.scale) : disjoint_view{nullptr, 0};
        bitmaps[i] = grams.bits;
        classes[i] = c;
        populations[i] = grams.population;
        lengths[i] = all.lengths[c];
    }
    const auto copy_part = [&](unsigned part) {
        std::uint8_t* const to = shared + part % stages * Shape::stage_bytes;
        for (unsigned i = thread; i < stage_rows * units_of_stage; i += block_threads) {
            const unsigned row = i / units_of_stage, unit = i % units_of_stage;
            const std::uint64_t* const from = bitmaps[row];
            const void* const at = from == nullptr ? static_cast<const void*>(all.row_sketches.bitmaps)
                                                   : from + (std::size_t{part} * units_of_stage + unit) * 2;
            cuda::copy_16(to + Shape::place(row, unit), at, from != nullptr);
        }
    };
    for (std::uint32_t first = mine.first; first < mine.last; first += column_tile) {
        __syncthreads();  // all are done with the tile before
        const std::uint32_t last = min(mine.last, first + column_tile);
        for (unsigned i = thread; i < column_tile; i += block_threads) {
            const bool exists = first + i < last;
            const std::uint32_t c = exists ? all.column(first + i) : 0;
            bitmaps[row_tile + i] = exists ? all.column_sketches.all_grams(c) : nullptr;
            classes[row_tile + i] = c;
        }
        if (thread < row_tile) {
            const std::uint64_t total = std::uint64_t{lengths[thread]} + all.lengths[all.column(last - 1)];
            least[thread] = bitmaps[thread] == nullptr
                                ? 0x7fffffff
                                : static_cast<std::int32_t>(populations[thread]) -
                                      static_cast<std::int32_t>(largest_distance(all.threshold, total));
        }
        __syncthreads();
        std::int32_t sums[4][8][4] = {};
        for (unsigned part = 0; part + 1 < stages; ++part) {
            if (part < parts) copy_part(part);
            cuda::end_copy_group();
        }
        for (unsigned part = 0; part < parts; ++part) {
            cuda::wait_for_copies<stages - 2>();
            __syncthreads();
            if (part + stages - 1 < parts) copy_part(part + stages - 1);
            cuda::end_copy_group();
            const std::uint32_t from = shared_address(shared + part % stages * Shape::stage_bytes);
#pragma unroll
            for (unsigned step = 0; step < Shape::steps; ++step) {
                std::uint32_t rows[4][4], columns[4][4];
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) {
                    // Matrices: rows 0-7 and 8-15 of the low 128 bits, the same of the high ones.
                    const unsigned row = first_row + 16 * i + lane % 16;
                    load_matrices(rows[i], from + Shape::place(row, 2 * step + lane / 16));
                    // Matrices: columns 0-7, low and high, then columns 8-15.
                    const unsigned column = first_column + 16 * i + lane / 16 * 8 + lane % 8;
                    load_matrices(columns[i],
                                  from + Shape::place(row_tile + column, 2 * step + lane / 8 % 2));
                }
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
#pragma unroll
                    for (unsigned j = 0; j < 8; ++j)
                        cuda::count_common_bits(
                            sums[i][j], make_uint4(rows[i][0], rows[i][1], rows[i][2], rows[i][3]),
                            columns[j / 2][j % 2 * 2], columns[j / 2][j % 2 * 2 + 1], sums[i][j]);
            }
        }
        cuda::wait_for_copies<0>();
        // Few pairs pass: only a comparison for each of them here, and little code for the others.
        constexpr unsigned sums_of_thread = 128, bits = 32;
        std::uint32_t passed[sums_of_thread / bits] = {};
#pragma unroll
        for (unsigned i = 0; i < 8; ++i) {
            const std::int32_t enough = least[row_of(i)];
#pragma unroll
            for (unsigned j = 0; j < 16; ++j) {
                const bool is_enough = sums[i / 2][j / 2][i % 2 * 2 + j % 2] >= enough;
                passed[(16 * i + j) / bits] |= is_enough ? 1u << (16 * i + j) % bits : 0;
            }
        }
#pragma unroll
        for (unsigned w = 0; w < sums_of_thread / bits; ++w) {
#pragma unroll 1
            for (std::uint32_t rest = passed[w]; rest != 0; rest &= rest - 1) {
                const unsigned sum = w * bits + static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1;
                const unsigned column = column_of(sum % 16);
                const std::uint32_t own = classes[row_of(sum / 16)], other = classes[row_tile + column];
                if (first + column >= last || !is_requested(all, own, other)) continue;
                const unsigned long long at = atomicAdd(&all.counters[0], 1ull);
                if (at < all.first_capacity) all.first_found[at] = {own, other};
            }
        }
    }
}

__device__ std::uint32_t sum_of_differences(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(sum));
    return sum;
}

/// By a warp: the grams of `disjoint` that `all` lacks.
__device__ std::uint32_t missing_grams(const disjoint_view& disjoint, const std::uint64_t* all,
                                       unsigned scale) {
    std::uint32_t common = 0;
    for (unsigned w = threadIdx.x % warp; w < bitmap_words(scale); w += warp)
        common += static_cast<std::uint32_t>(__popcll(disjoint.bits[w] & all[w]));
    return disjoint.population - cuda::sum_of_warp(common);
}

/// One warp per pair of the first list, in turn: the counts of units, then the disjoint grams of both, with the bound of the
/// pair; the first filter had that of the longest column of a tile.
__global__ void __launch_bounds__(block_threads) compare_pairs_kernel(join_state all) {
    const std::uint64_t count = min(all.counters[0], static_cast<unsigned long long>(all.first_capacity));
    const unsigned lane = threadIdx.x % warp;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / warp);
    for (std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / warp; i < count;
         i += warps) {
        const auto [row, column] = all.first_found[i];
        const std::uint32_t x = all.lengths[row], y = all.lengths[column];
        const std::uint64_t total = std::uint64_t{x} + y;
        std::uint32_t norm = 0;
        constexpr unsigned vectors = unit_buckets / 16;
        if (lane < vectors) {
            const uint4 p = all.row_sketches
                                .units[std::size_t{row - all.row_sketches.first} * vectors + lane],
                        q = all.column_sketches
                                .units[std::size_t{column - all.column_sketches.first} * vectors + lane];
            norm = sum_of_differences(p.x, q.x, norm);
            norm = sum_of_differences(p.y, q.y, norm);
            norm = sum_of_differences(p.z, q.z, norm);
            norm = sum_of_differences(p.w, q.w, norm);
        }
        norm = cuda::sum_of_warp(norm);
        const std::uint64_t apart = x < y ? y - x : x - y;
        if (!within(all.threshold, (norm + apart + 1) / 2, total)) continue;  // norm + apart <= 2 d
        const unsigned scale = scale_of(y);
        if (!within(all.threshold,
                    missing_grams(disjoint_of(all, all.row_sketches, row, scale),
                                  all.column_sketches.all_grams(column), scale),
                    total))
            continue;
        if (all.columns_have_disjoint && scale == scale_of(x) &&
            !within(all.threshold,
                    missing_grams(disjoint_of(all, all.column_sketches, column, scale),
                                  all.row_sketches.all_grams(row), scale),
                    total))
            continue;
        if (lane != 0) continue;
        const unsigned long long at = atomicAdd(&all.counters[1], 1ull);
        all.found[at] = std::uint64_t{min(row, column)} << 32 | max(row, column);
    }
}

template <class Shape, class... Smaller>
void join_bitmaps(cuda_place& place, const join_state& all, unsigned blocks) {
    const auto kernel = join_bitmaps_kernel<Shape>;
    if constexpr (sizeof...(Smaller) != 0)
        if (cuda::shared_room(place, kernel) < Shape::shared_bytes)
            return join_bitmaps<Smaller...>(place, all, blocks);
    place.make_current();  // the attribute is the current device's
    QUERN_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(Shape::shared_bytes)));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_threads), Shape::shared_bytes}), kernel,
                 all);
}

sketch_view view(const device_sketches& sketches) {
    return {sketches.first, reinterpret_cast<const uint4*>(sketches.units.data()), sketches.bitmaps.data(),
            sketches.begins.data(), sketches.populations.data()};
}

}  // namespace

join_found join_sketches(cuda_place& place, const device_classes& classes, const decimal& threshold,
                         bool within_new, device_span<const join_work> work,
                         device_span<first_pair> first_found, device_span<std::uint64_t> found) {
    const cuda_array<unsigned long long> counters(place, 2, "counters of a join");
    place.fill_bytes(counters.data(), 0, counters.span().size_bytes());
    const join_state all{classes.lengths.data(),
                         classes.kinds.data(),
                         classes.scales.data(),
                         classes.rows.data(),
                         static_cast<std::uint32_t>(classes.rows.size()),
                         classes.columns.data(),
                         classes.columns_have_disjoint,
                         view(classes.row_sketches),
                         view(classes.column_sketches),
                         threshold,
                         within_new,
                         work.data(),
                         first_found.data(),
                         std::min(first_found.size(), found.size()),
                         found.data(),
                         counters.data()};
    join_bitmaps<large_shape, medium_shape, small_shape>(place, all, static_cast<unsigned>(work.size()));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(place.multiprocessors() * 8), dim3(block_threads)}),
                 compare_pairs_kernel, all);
    unsigned long long counts[2];
    place.copy_out(counts, counters.data(), sizeof(counts));
    return {counts[0], counts[1]};
}

}  // namespace quern::near_duplicates_detail
