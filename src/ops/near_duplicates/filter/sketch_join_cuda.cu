// SPDX-License-Identifier: Apache-2.0
// Compares sketches on the GPU like a matrix product. A block holds 128 rows and 128 columns of 64 bytes in shared memory,
// a thread 8 x 8 norms in registers, and one instruction adds four absolute differences (vabsdiff4). Passing pairs go to a
// list, and warps compare their 1 KB sketches. Lists fill in any order; their contents do not depend on it.
#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "ops/near_duplicates/filter/sketch_join.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned words = unit_buckets / 4, side = 16, block_threads = side * side, each = 8;
static_assert(side * each == row_tile && row_tile == column_tile);

struct join_state {
    const std::uint32_t* lengths;
    const std::uint8_t* kinds;
    const uint4* units;
    const uint4* pairs;
    const std::uint32_t* rows;
    std::uint32_t row_count;
    std::uint32_t first_column, columns, first_row, rows_at;  ///< as in device_sketches
    decimal threshold;
    bool within_new;
    const join_work* work;
    std::uint64_t* first_found;
    std::uint64_t first_capacity;
    std::uint64_t* found;
    std::uint64_t capacity;
    unsigned long long* counters;  ///< compared, passed the first filter, passed both
};

/// The position of a class's sketches.
__device__ std::uint64_t slot_of(const join_state& all, std::uint32_t c) {
    const std::uint32_t column = c - all.first_column;  // below the first one it wraps around, past the last
    return column < all.columns ? column : all.rows_at + (c - all.first_row);
}

__device__ std::uint32_t sum_of_differences(std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(sum));
    return sum;
}

/// norm <= largest_norm(q, d, apart) without a division: with m the minimum d that the norm needs, m <= d = (P total - 1) /
/// denominator exactly if m · denominator < P total.
__device__ bool within(const decimal& threshold, std::uint32_t norm, unsigned q, std::uint64_t apart,
                       std::uint64_t total) {
    const std::uint64_t needed = (norm + apart + 2 * q - 1) / (2 * q);
    return total == 0 ? needed == 0 : needed * threshold.denominator < threshold.numerator * total;
}

/// Whether members of the two classes make a requested pair, and this row is the one that finds it.
__device__ bool is_requested(const join_state& all, std::uint32_t row, std::uint32_t column) {
    const unsigned of_row = all.kinds[row], of_column = all.kinds[column];
    if (row == column || (column > row && (of_column & new_members) != 0)) return false;
    if ((of_column & old_members) != 0) return true;  // a row has new members
    return (of_row & old_members) != 0 || all.within_new;
}

/// Loads tile `tile` of 128 sketches, word by word: one column of shared memory per sketch. `index(i)`: the class, or none.
template <class Index>
__device__ void load_tile(const join_state& all, std::uint32_t (*tile)[row_tile], const Index& index) {
    // Four threads per sketch, 16 bytes each.
    for (unsigned i = threadIdx.x; i < row_tile * 4; i += block_threads) {
        const unsigned sketch = i / 4, part = i % 4;
        const std::int64_t c = index(sketch);
        const uint4 four =
            c < 0 ? uint4{0, 0, 0, 0} : all.units[slot_of(all, static_cast<std::uint32_t>(c)) * 4 + part];
        tile[part * 4][sketch] = four.x;
        tile[part * 4 + 1][sketch] = four.y;
        tile[part * 4 + 2][sketch] = four.z;
        tile[part * 4 + 3][sketch] = four.w;
    }
}

/// Block b does work[b]. A thread has the rows 4 y .. 4 y + 3 and 64 more, and the same for columns, so that it loads only
/// 16-byte vectors from shared memory. Shared memory: two tiles of 8 KB.
__global__ void __launch_bounds__(block_threads) join_units_kernel(join_state all) {
    __shared__ alignas(16) std::uint32_t rows[words][row_tile], columns[words][column_tile];
    const join_work mine = all.work[blockIdx.x];
    const unsigned x = threadIdx.x % side, y = threadIdx.x / side;
    const auto class_of_row = [&](unsigned i) {
        return mine.row + i < all.row_count ? std::int64_t{all.rows[mine.row + i]} : std::int64_t{-1};
    };
    load_tile(all, rows, class_of_row);
    unsigned long long compared = 0;
    for (std::uint32_t first = mine.first; first < mine.last; first += column_tile) {
        __syncthreads();
        const std::uint32_t last = min(mine.last, first + column_tile);
        load_tile(all, columns,
                  [&](unsigned i) { return first + i < last ? std::int64_t{first + i} : std::int64_t{-1}; });
        __syncthreads();
        std::uint32_t norms[each][each] = {};
#pragma unroll
        for (unsigned w = 0; w < words; ++w) {
            std::uint32_t r[each], c[each];
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                *reinterpret_cast<uint4*>(r + 4 * half) =
                    *reinterpret_cast<const uint4*>(&rows[w][64 * half + 4 * y]);
                *reinterpret_cast<uint4*>(c + 4 * half) =
                    *reinterpret_cast<const uint4*>(&columns[w][64 * half + 4 * x]);
            }
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
#pragma unroll
                for (unsigned j = 0; j < each; ++j) norms[i][j] = sum_of_differences(r[i], c[j], norms[i][j]);
        }
        std::uint64_t column_lengths[each];
        const auto nth = [](unsigned i, unsigned at) { return 64 * (i / 4) + 4 * at + i % 4; };
#pragma unroll
        for (unsigned j = 0; j < each; ++j) {
            const std::uint32_t column = first + nth(j, x);
            column_lengths[j] = column < last ? all.lengths[column] : ~std::uint64_t{0};
        }
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const std::int64_t row = class_of_row(nth(i, y));
            if (row < 0) continue;
            const std::uint64_t length = all.lengths[row];
#pragma unroll
            for (unsigned j = 0; j < each; ++j) {
                if (column_lengths[j] == ~std::uint64_t{0}) continue;
                ++compared;
                const std::uint64_t apart =
                    length < column_lengths[j] ? column_lengths[j] - length : length - column_lengths[j];
                if (apart > 0xffffffffu - norms[i][j] ||
                    !within(all.threshold, norms[i][j], 1, apart, length + column_lengths[j]))
                    continue;
                const std::uint32_t column = first + nth(j, x), own = static_cast<std::uint32_t>(row);
                if (!is_requested(all, own, column)) continue;
                const unsigned long long at = atomicAdd(&all.counters[1], 1ull);
                if (at < all.first_capacity)
                    all.first_found[at] = std::uint64_t{min(own, column)} << 32 | max(own, column);
            }
        }
    }
    if (compared != 0) atomicAdd(&all.counters[0], compared);
}

/// One warp per pair of the first list, in turn.
__global__ void __launch_bounds__(256) compare_pairs_kernel(join_state all) {
    constexpr unsigned vectors = pair_buckets / 16;
    const std::uint64_t count = min(all.counters[1], static_cast<unsigned long long>(all.first_capacity));
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / 32);
    for (std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < count;
         i += warps) {
        const std::uint64_t pair = all.first_found[i];
        const std::uint64_t a = pair >> 32, b = pair & 0xffffffffu;
        const std::uint64_t slot_a = slot_of(all, static_cast<std::uint32_t>(a)),
                            slot_b = slot_of(all, static_cast<std::uint32_t>(b));
        std::uint32_t norm = 0;
#pragma unroll
        for (unsigned v = lane; v < vectors; v += 32) {
            const uint4 p = all.pairs[slot_a * vectors + v], q = all.pairs[slot_b * vectors + v];
            norm = sum_of_differences(p.x, q.x, norm);
            norm = sum_of_differences(p.y, q.y, norm);
            norm = sum_of_differences(p.z, q.z, norm);
            norm = sum_of_differences(p.w, q.w, norm);
        }
        norm = __reduce_add_sync(0xffffffffu, norm);
        if (lane != 0) continue;
        const std::uint64_t shorter = all.lengths[a], longer = all.lengths[b];  // classes ascend by length
        if (!within(all.threshold, norm, 2, grams_in(longer, 2) - grams_in(shorter, 2), shorter + longer))
            continue;
        const unsigned long long at = atomicAdd(&all.counters[2], 1ull);
        if (at < all.capacity) all.found[at] = pair;
    }
}

}  // namespace

join_found join_sketches(cuda_place& place, const device_sketches& classes, const decimal& threshold,
                         bool within_new, device_span<const join_work> work,
                         device_span<std::uint64_t> first_found, device_span<std::uint64_t> found) {
    const cuda_array<unsigned long long> counters(place, 3, "counters of a join");
    place.fill_bytes(counters.data(), 0, counters.span().size_bytes());
    const join_state all{classes.lengths.data(),
                         classes.kinds.data(),
                         reinterpret_cast<const uint4*>(classes.units.data()),
                         reinterpret_cast<const uint4*>(classes.pairs.data()),
                         classes.rows.data(),
                         static_cast<std::uint32_t>(classes.rows.size()),
                         classes.first_column,
                         classes.columns,
                         classes.first_row,
                         classes.rows_at,
                         threshold,
                         within_new,
                         work.data(),
                         first_found.data(),
                         first_found.size(),
                         found.data(),
                         found.size(),
                         counters.data()};
    const auto blocks = static_cast<unsigned>(work.size());
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_threads)}), join_units_kernel, all);
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(place.multiprocessors() * 8), dim3(256)}),
                 compare_pairs_kernel, all);
    unsigned long long counts[3];
    place.copy_out(counts, counters.data(), sizeof(counts));
    return {counts[0], counts[1], counts[2]};
}

}  // namespace quern::near_duplicates_detail
