// SPDX-License-Identifier: Apache-2.0
// The k best of every row of a matrix on the GPU.
// - A short row is sorted completely by as many threads as it has columns.
// - A longer one goes to a block: the selection of one list (top_k_cuda.cu), with a block for a grid and shared memory for
//   the candidates.
// - The whole device selects from few huge rows one after another.
// - If k is too large for shared memory and rows are many, all rows are sorted.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "primitives/sort/sort.hpp"
#include "primitives/top_k/selection.cuh"
#include "primitives/top_k/top_k_checks.hpp"

namespace quern::primitives {
namespace {

using namespace top_k_detail;

constexpr unsigned few_groups = 256;                   // of samples, if the limit is one of the first of them
constexpr unsigned few_threads = 256;                  // a block of short rows: barriers are cheap
constexpr std::size_t max_candidate_bytes = 64 << 10;  // of a row; two blocks fit a multiprocessor

template <class Key>
struct matrix {
    const Key* keys;
    std::uint64_t rows, columns, k;
    ranking<Key> ranks;
    Key* best_keys;
    std::uint32_t* best_ids;
    std::uint64_t* fault_word;

    __device__ void write(std::uint64_t row, std::uint64_t place,
                          typename ranking<Key>::composite packed) const {
        best_keys[row * k + place] = ranks.key_of(packed);
        best_ids[row * k + place] = ranking<Key>::id_of(packed);
    }
};

/// `Width` neighbouring threads own a row of at most as many columns (a power of two, at most the block). Dynamic shared
/// memory, if a row is wider than a warp: two composites per thread.
template <unsigned Width, class Key>
__global__ void sort_short_rows_kernel(matrix<Key> all) {
    using composite = typename ranking<Key>::composite;
    extern __shared__ uint4 memory[];
    const unsigned column = threadIdx.x % Width;
    const std::uint64_t row = std::uint64_t{blockIdx.x} * (blockDim.x / Width) + threadIdx.x / Width;
    composite mine = ranking<Key>::worst;
    if (row < all.rows && column < all.columns) {
        const std::uint64_t position = row * all.columns + column;
        const Key turned = all.ranks.turned(all.keys[position]);
        if (turned != turned) cuda::note_fault(all.fault_word, fault::key_not_a_number, position);
        mine = ranking<Key>::pack(turned, column);
    }
    mine = block_sort<Width>(mine, reinterpret_cast<composite*>(memory));
    if (row < all.rows && column < all.k) all.write(row, column, mine);
}

/// Keeps the keys that do not exceed the limit, up to the capacity, and returns their number.
template <class Key>
__device__ unsigned keep_candidates(const key_list<Key>& list, typename ranking<Key>::composite limit,
                                    typename ranking<Key>::composite* kept, unsigned capacity,
                                    std::uint64_t* fault_word) {
    using composite = typename ranking<Key>::composite;
    __shared__ unsigned held;
    __syncthreads();
    if (threadIdx.x == 0) held = 0;
    __syncthreads();
    for_each_key<2>(
        list, 0, 1, [&] { return limit_filter<Key>(list, limit); },
        [&](const limit_filter<Key>& filter, Key key, unsigned position) {
            if (key != key)
                cuda::note_fault(fault_word, fault::key_not_a_number, list.first_position + position);
            const composite packed = ranking<Key>::pack(list.ranks.turned(key), position);
            if (!filter.passes(packed)) return;
            const unsigned slot = atomicAdd(&held, 1u);
            if (slot < capacity) kept[slot] = packed;
        });
    __syncthreads();
    return held;
}

/// Block b owns the rows b, b + grid, …. `rounds` and `least` as in sample_limit_kernel, where the block's threads are all
/// that sample. Shared memory: composites of two tiles, to sort with (16 or 32 KB), and dynamic, `capacity` candidates of a
/// row (whole tiles; 64 KB where a block may have them), sorted in tiles and merged by rank. Two blocks fit a multiprocessor: one waits while one reads.
template <class Key>
__global__ void __launch_bounds__(tile_size, 2)
    select_long_rows_kernel(matrix<Key> all, unsigned rounds, unsigned least, bool few, unsigned capacity) {
    using composite = typename ranking<Key>::composite;
    extern __shared__ uint4 memory[];
    __shared__ composite board[2 * tile_size];
    __shared__ composite limit;
    composite* const kept = reinterpret_cast<composite*>(memory);
    const unsigned t = threadIdx.x;
    for (std::uint64_t row = blockIdx.x; row < all.rows; row += gridDim.x) {
        const std::uint64_t first = row * all.columns;
        const key_list<Key> list{all.keys + first, nullptr, all.columns, all.ranks, first};
        if (rounds == 0) {
            if (t == 0) limit = ranking<Key>::worst;
        } else {
            composite sorted = sample_best(list, rounds, t, tile_size);
            if (few) {
                sorted = best_of_four<few_groups>(sorted, board);
                __syncthreads();
                sorted = block_sort<few_groups>(sorted, board, t >= few_groups);
            } else {
                sorted = block_sort<tile_size>(sorted, board);
            }
            if (t == least - 1) limit = sorted;
        }
        unsigned found = keep_candidates(list, (__syncthreads(), limit), kept, capacity, all.fault_word);
        if (found < all.k || found > capacity) {
            const composite narrowed = narrow(list, all.k, capacity, 0, 1, reinterpret_cast<unsigned*>(board),
                                              [](unsigned*, unsigned) {});
            found = min(capacity, keep_candidates(list, narrowed, kept, capacity, all.fault_word));
        }
        const unsigned tiles = (found + tile_size - 1) / tile_size;
        for (unsigned tile = 0; tile < tiles; ++tile) {
            const unsigned at = tile * tile_size + t;
            const composite mine = at < found ? kept[at] : ranking<Key>::worst;
            kept[at] = found <= few_groups ? block_sort<few_groups>(mine, board, t >= few_groups)
                                           : block_sort<tile_size>(mine, board);
            __syncthreads();
        }
        const unsigned useful = all.k < tile_size ? static_cast<unsigned>(all.k) : tile_size;
        for (unsigned tile = 0; tile < tiles && t < useful; ++tile) {
            const composite mine = kept[tile * tile_size + t];
            unsigned place = t;
            for (unsigned other = 0; other < tiles; ++other)
                if (other != tile) place += count_smaller(kept + other * tile_size, useful, mine);
            if (place < all.k) all.write(row, place, mine);
        }
        __syncthreads();
    }
}

/// Every key as the two parts of its composite, and the starts of rows. One thread per item.
template <class Key>
__global__ void split_rows_kernel(matrix<Key> all, typename ranking<Key>::word* high, std::uint32_t* low,
                                  std::uint64_t* offsets) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i <= all.rows) offsets[i] = i * all.columns;
    if (i >= all.rows * all.columns) return;
    const Key turned = all.ranks.turned(all.keys[i]);
    if (turned != turned) cuda::note_fault(all.fault_word, fault::key_not_a_number, i);
    const auto packed = ranking<Key>::pack(turned, static_cast<std::uint32_t>(i % all.columns));
    high[i] = static_cast<typename ranking<Key>::word>(packed >> 32);
    low[i] = static_cast<std::uint32_t>(packed);
}

/// The reverse, for the first k of each row. One thread per result.
template <class Key>
__global__ void join_rows_kernel(matrix<Key> all, const typename ranking<Key>::word* high,
                                 const std::uint32_t* low) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= all.rows * all.k) return;
    const std::uint64_t row = i / all.k, place = i % all.k, from = row * all.columns + place;
    all.write(row, place, typename ranking<Key>::composite{high[from]} << 32 | low[from]);
}

/// With as many threads per row as the next power of two, from 8 on.
template <unsigned Width = 8, class Key>
void sort_short_rows(cuda_place& place, const matrix<Key>& all) {
    if constexpr (Width < tile_size) {
        if (all.columns > Width) return sort_short_rows<2 * Width>(place, all);
    }
    constexpr unsigned threads = Width > few_threads ? Width : few_threads;
    const std::size_t exchanged = Width > 32 ? 2 * threads * sizeof(typename ranking<Key>::composite) : 0;
    QUERN_LAUNCH(
        place,
        (cuda::launch_shape{dim3(cuda::blocks_for(all.rows, threads / Width)), dim3(threads), exchanged}),
        (sort_short_rows_kernel<Width, Key>), all);
}

/// The candidates of a row that fit a block's shared memory: whole tiles.
template <class Key>
unsigned row_capacity(cuda_place& place) {
    constexpr std::size_t tile_bytes = tile_size * sizeof(typename ranking<Key>::composite);
    const std::size_t room =
        std::min(max_candidate_bytes, cuda::shared_room(place, select_long_rows_kernel<Key>));
    return static_cast<unsigned>(room / tile_bytes * tile_size);
}

template <class Key>
void select_long_rows(cuda_place& place, const matrix<Key>& all, const sampling& sampled, bool few,
                      unsigned capacity) {
    const std::size_t candidate_bytes = capacity * sizeof(typename ranking<Key>::composite);
    place.make_current();  // the attribute is the current device's
    QUERN_CHECK(cudaFuncSetAttribute(select_long_rows_kernel<Key>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(candidate_bytes)));
    const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(all.rows, 1u << 20));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(tile_size), candidate_bytes}),
                 select_long_rows_kernel<Key>, all, sampled.least == 0 ? 0 : sampled.rounds, sampled.least,
                 few, capacity);
}

template <class Key>
void sort_rows(cuda_place& place, const matrix<Key>& all) {
    const std::uint64_t size = all.rows * all.columns;
    const cuda_array<typename ranking<Key>::word> high(place, size, "the keys of a selection");
    const cuda_array<std::uint32_t> low(place, size, "the ids of a selection");
    const cuda_array<std::uint64_t> offsets(place, all.rows + 1, "where rows begin");
    const auto shape_for = [](std::uint64_t threads) {
        return cuda::launch_shape{dim3(cuda::blocks_for(threads, few_threads)), dim3(few_threads)};
    };
    QUERN_LAUNCH(place, shape_for(size), split_rows_kernel<Key>, all, high.data(), low.data(),
                 offsets.data());
    segmented_sort_pairs(place, high.span(), low.span(), device_span<const std::uint64_t>(offsets.span()));
    QUERN_LAUNCH(place, shape_for(all.rows * all.k), join_rows_kernel<Key>, all, high.data(), low.data());
}

/// Whether the whole device, row by row, is faster than the other method. A selection by all takes about 15 µs and reads 4
/// TB/s; a block reads about 60 GB/s. If a block's memory is too small (`fits` is false) all rows would be sorted, about 10
/// billion keys a second, with six times the memory of the keys in addition: not if that is not free.
template <class Key>
bool by_the_whole_device(cuda_place& place, const matrix<Key>& all, bool fits) {
    const auto rows = static_cast<double>(all.rows), columns = static_cast<double>(all.columns);
    const double bytes = columns * sizeof(Key);
    if (!fits && 6 * rows * bytes > static_cast<double>(place.memory().left())) return true;
    const double waves = std::ceil(rows / place.multiprocessors());
    const double other_way = fits ? waves * (bytes / 60e9 + 10e-6) : rows * columns / 10e9;
    return rows * (bytes / 4e12 + 15e-6) < other_way;
}

}  // namespace

template <sortable_key Key>
void batched_top_k(cuda_place& place, device_span<const Key> keys, std::uint64_t columns, std::uint64_t k,
                   device_span<Key> best_keys, device_span<std::uint32_t> best_ids, best which) {
    const std::uint64_t rows =
        check_batched_top_k(keys.size(), columns, k, best_keys.size(), best_ids.size());
    if (rows == 0 || k == 0) return;
    const matrix<Key> all{
        keys.data(),       rows, columns, k, ranking<Key>(which), best_keys.data(), best_ids.data(),
        place.fault_word()};
    if (columns <= tile_size) return sort_short_rows(place, all);
    const unsigned capacity = row_capacity<Key>(place);
    // Uses a sample of few keys if that suffices: its keys are read twice.
    bool few = true;
    sampling sampled{0, 0, columns};
    if (columns > 2 * tile_size) sampled = sampling_for(columns, k, tile_size, few_groups, 1);
    if (sampled.least == 0 || sampled.least > few_groups / 4 || sampled.max > capacity / 2) {
        few = false;
        if (columns > 2 * tile_size) sampled = sampling_for(columns, k, tile_size, tile_size, max_rounds);
    }
    const bool fits = sampled.least != 0 ? sampled.max <= capacity : columns <= capacity;
    if (by_the_whole_device(place, all, fits || columns <= capacity)) {
        for (std::uint64_t r = 0; r < rows; ++r)
            select_best(place, keys.data() + r * columns, nullptr, columns, k, best_keys.data() + r * k,
                        best_ids.data() + r * k, which, r * columns);
    } else if (fits || columns <= capacity) {
        select_long_rows(place, all, fits ? sampled : sampling{0, 0, columns}, few, capacity);
    } else {
        sort_rows(place, all);
    }
}

#define QUERN_BATCHED_TOP_K(KEY)                                                                   \
    template void batched_top_k(cuda_place&, device_span<const KEY>, std::uint64_t, std::uint64_t, \
                                device_span<KEY>, device_span<std::uint32_t>, best);
QUERN_BATCHED_TOP_K(float)
QUERN_BATCHED_TOP_K(double)
QUERN_BATCHED_TOP_K(std::uint32_t)
QUERN_BATCHED_TOP_K(std::int32_t)
QUERN_BATCHED_TOP_K(std::uint64_t)
QUERN_BATCHED_TOP_K(std::int64_t)
#undef QUERN_BATCHED_TOP_K

}  // namespace quern::primitives
