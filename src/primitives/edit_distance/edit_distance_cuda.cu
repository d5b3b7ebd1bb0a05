// SPDX-License-Identifier: Apache-2.0
// Three steps.
//   1. One warp per pair cuts off common ends, writes distances that are then obvious, and chooses the method for the
//      others.
//   2. The others are sorted by method, the longest first.
//   3. Long pairs are computed by one warp each, short ones by one thread each. A warp takes the next pair when it has
//      finished one: a long pair delays only itself.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/edit_distance/aligners.cuh"
#include "primitives/edit_distance/edit_distance.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::primitives {
namespace {

using namespace edit_distance_detail;

static_assert(no_distance == beyond_bound);

constexpr unsigned block_threads = 128;
constexpr unsigned warps_a_block = block_threads / warp_size;
constexpr long long first_band = 512;

/// The method of a pair, in the order of the queues. `words_N`: by a thread, with N words of 64 rows.
enum queue : unsigned { by_warp, words_4, words_2, words_1, queues };
constexpr unsigned max_short_columns = 2048;  // threads of a warp wait for the longest

/// A pair without its common ends: a is the shorter one.
struct trimmed_pair {
    std::uint32_t a, b, begin, rows, columns, bound;
};

template <class Unit>
struct work {
    const Unit* units;
    const std::uint64_t* offsets;
    const bounded_pair* pairs;
    trimmed_pair* trimmed;
    std::uint32_t* distances;

    __device__ const Unit* begin_of(std::uint32_t s, const trimmed_pair& pair) const {
        return units + offsets[s] + pair.begin;
    }
};

/// The data that the host waits for.
struct summary {
    std::uint32_t sizes[queues];
    std::uint32_t max_live;  ///< maximum columns that a strip may span
};

/// The number of equal units from a and b on, up to `maximum`. Called by a warp, each lane four of 128. Step −1: before a and
/// b.
template <int Step, class Unit>
__device__ std::uint32_t count_common(const Unit* a, const Unit* b, std::uint32_t maximum) {
    const unsigned lane = threadIdx.x % warp_size;
    for (std::uint32_t done = 0; done < maximum; done += 4 * warp_size) {
        unsigned differs[4];
#pragma unroll
        for (unsigned u = 0; u < 4; ++u) {
            const std::uint32_t at = done + u * warp_size + lane;
            const std::int64_t where = Step > 0 ? std::int64_t{at} : -1 - std::int64_t{at};
            differs[u] = at >= maximum || a[where] != b[where];
        }
#pragma unroll
        for (unsigned u = 0; u < 4; ++u) {
            const unsigned found = __ballot_sync(full_warp, differs[u]);
            if (found == 0) continue;
            return done + u * warp_size + static_cast<unsigned>(__ffs(static_cast<int>(found))) - 1;
        }
    }
    return maximum;
}

/// Warp w of the grid owns the pairs w, w + warps, …. keys[p]: queue, then descending length; finished pairs last.
template <class Unit>
__global__ void __launch_bounds__(block_threads)
    trim_pairs_kernel(work<Unit> all, std::uint32_t count, std::uint32_t* keys, std::uint32_t* order,
                      summary* found) {
    const unsigned lane = threadIdx.x % warp_size;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * warps_a_block;
    std::uint32_t sizes[queues] = {}, max_live = 0;
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * warps_a_block + threadIdx.x / warp_size; p < count;
         p += warps) {
        const bounded_pair pair = all.pairs[p];
        trimmed_pair trimmed{pair.a,
                             pair.b,
                             0,
                             static_cast<std::uint32_t>(all.offsets[pair.a + 1] - all.offsets[pair.a]),
                             static_cast<std::uint32_t>(all.offsets[pair.b + 1] - all.offsets[pair.b]),
                             pair.bound};
        if (trimmed.rows > trimmed.columns) {
            const std::uint32_t longer = trimmed.rows;
            trimmed.a = pair.b, trimmed.b = pair.a, trimmed.rows = trimmed.columns, trimmed.columns = longer;
        }
        bool done = trimmed.columns - trimmed.rows > trimmed.bound;
        std::uint32_t distance = no_distance;
        if (!done) {
            const Unit* const a = all.begin_of(trimmed.a, trimmed);
            const Unit* const b = all.begin_of(trimmed.b, trimmed);
            trimmed.begin = count_common<1>(a, b, trimmed.rows);
            const std::uint32_t end =
                count_common<-1>(a + trimmed.rows, b + trimmed.columns, trimmed.rows - trimmed.begin);
            trimmed.rows -= trimmed.begin + end, trimmed.columns -= trimmed.begin + end;
            if (trimmed.rows == 0) distance = trimmed.columns;
            done = trimmed.rows == 0 || trimmed.bound == 0;
            trimmed.bound = min(trimmed.bound, trimmed.columns);
        }
        std::uint32_t key = 0xffffffff;
        if (!done) {
            queue which = by_warp;
            if (trimmed.columns <= max_short_columns)
                which = trimmed.rows <= 64    ? words_1
                        : trimmed.rows <= 128 ? words_2
                        : trimmed.rows <= 256 ? words_4
                                              : by_warp;
            constexpr std::uint32_t longest = (1u << 29) - 1;
            key = which << 29 | (longest - min(trimmed.columns, longest));
#pragma unroll
            for (unsigned q = 0; q < queues; ++q) sizes[q] += which == q;
            if (which == by_warp) max_live = max(max_live, min(trimmed.columns, trimmed.bound));
        }
        if (lane != 0) continue;
        keys[p] = key, order[p] = static_cast<std::uint32_t>(p), all.trimmed[p] = trimmed;
        if (done) all.distances[p] = distance;
    }
    if (lane != 0) return;
    for (unsigned q = 0; q < queues; ++q)
        if (sizes[q] != 0) atomicAdd(&found->sizes[q], sizes[q]);
    if (max_live != 0) atomicMax(&found->max_live, max_live);
}

/// Warps take the pairs of `order` one after another, with growing bands as on the CPU. Shared memory: one warp_memory each
/// (bytes: 4.2 KB, code points: 16.6 KB). `steps`: two rings of words per warp of the grid.
template <class Unit>
__global__ void __launch_bounds__(block_threads)
    align_long_pairs_kernel(work<Unit> all, const std::uint32_t* order, std::uint32_t count, unsigned* taken,
                            unsigned* steps, unsigned ring_words) {
    extern __shared__ uint4 memory[];
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    unsigned* const ring =
        steps + (std::uint64_t{blockIdx.x} * (blockDim.x / warp_size) + warp) * 2 * ring_words;
    warp_aligner<Unit> mine(reinterpret_cast<warp_memory<Unit>*>(memory)[warp],
                            {ring, ring + ring_words, ring_words - 1});
    while (true) {
        unsigned next = 0;
        if (lane == 0) next = atomicAdd(taken, 1u);
        next = __shfl_sync(full_warp, next, 0);
        if (next >= count) return;
        const std::uint32_t p = order[next];
        const trimmed_pair pair = all.trimmed[p];
        const Unit* const a = all.begin_of(pair.a, pair);
        const Unit* const b = all.begin_of(pair.b, pair);
        long long band = first_band;
        unsigned distance = no_distance;
        while (true) {
            if (band * 4 > static_cast<long long>(pair.bound) * 3) band = pair.bound;
            long long rows = 0;
            distance = mine.distance(a, pair.rows, b, pair.columns, band, rows);
            if (distance != no_distance || band == pair.bound) break;
            const long long guess = band * pair.rows / (rows > 0 ? rows : 1);
            band = max(2 * band, guess + guess / 4);
        }
        if (lane == 0) all.distances[p] = distance;
    }
}

/// One thread per pair. Shared memory: table_words of 64 bits per thread.
template <class Unit, unsigned Words>
__global__ void align_short_pairs_kernel(work<Unit> all, const std::uint32_t* order, std::uint32_t count) {
    extern __shared__ uint4 memory[];
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t p = order[i];
    const trimmed_pair pair = all.trimmed[p];
    thread_aligner<Unit, Words> mine(reinterpret_cast<unsigned long long*>(memory) + threadIdx.x, blockDim.x);
    all.distances[p] = mine.distance(all.begin_of(pair.a, pair), pair.rows, all.begin_of(pair.b, pair),
                                     pair.columns, pair.bound);
}

template <class Unit, unsigned Words>
void align_short_pairs(cuda_place& place, const work<Unit>& all, const std::uint32_t* order,
                       std::uint32_t count) {
    constexpr unsigned max_threads = sizeof(Unit) == 1 ? 64 : 32, step = 8;
    constexpr std::size_t thread_bytes = std::size_t{thread_aligner<Unit, Words>::table_words} * 8;
    if (count == 0) return;
    const std::size_t room = cuda::shared_room(place, align_short_pairs_kernel<Unit, Words>);
    const unsigned threads = std::min(max_threads, static_cast<unsigned>(room / thread_bytes / step * step));
    const std::size_t bytes = threads * thread_bytes;
    place.make_current();  // the attribute is the current device's
    QUERN_CHECK(cudaFuncSetAttribute((align_short_pairs_kernel<Unit, Words>),
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(cuda::blocks_for(count, threads)), dim3(threads), bytes}),
                 (align_short_pairs_kernel<Unit, Words>), all, order, count);
}

template <class Unit>
void align_long_pairs(cuda_place& place, const work<Unit>& all, const std::uint32_t* order,
                      const summary& found) {
    constexpr unsigned threads = sizeof(Unit) == 1 ? block_threads : 64;
    constexpr std::size_t bytes = threads / warp_size * sizeof(warp_memory<Unit>);
    constexpr std::uint64_t max_ring_bytes = std::uint64_t{1} << 30;
    const std::uint32_t count = found.sizes[by_warp];
    if (count == 0) return;
    int resident = 0;
    place.make_current();
    QUERN_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, align_long_pairs_kernel<Unit>,
                                                              threads, bytes));
    // A strip and the rest of the band, cut to whole words and rounded up to a power of two.
    const std::uint64_t live = std::uint64_t{found.max_live} + block_rows + 256;
    const auto ring_words = static_cast<unsigned>(std::bit_ceil(live / 32 + 2));
    const std::uint64_t block_bytes = std::uint64_t{threads / warp_size} * 2 * ring_words * sizeof(unsigned);
    const std::uint64_t maximum = std::max<std::uint64_t>(1, max_ring_bytes / block_bytes);
    const auto blocks = static_cast<unsigned>(
        std::min({maximum, std::uint64_t{place.multiprocessors()} * static_cast<unsigned>(resident),
                  std::uint64_t{cuda::blocks_for(count, threads / warp_size)}}));
    const cuda_array<unsigned> steps(place, blocks * block_bytes / sizeof(unsigned), "edit distances");
    const cuda_array<unsigned> taken(place, 1, "edit distances");
    place.fill_bytes(taken.data(), 0, sizeof(unsigned));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(threads), bytes}),
                 align_long_pairs_kernel<Unit>, all, order, count, taken.data(), steps.data(), ring_words);
}

}  // namespace

template <string_unit Unit>
void edit_distances(cuda_place& place, device_span<const Unit> units,
                    device_span<const std::uint64_t> offsets, device_span<const bounded_pair> pairs,
                    device_span<std::uint32_t> distances) {
    check_same_size("edit_distances", "distances", distances.size(), "pairs", pairs.size());
    check_32_bits("edit_distances", pairs.size(), "pairs", "positions");
    if (pairs.empty()) return;
    const auto count = static_cast<std::uint32_t>(pairs.size());
    const cuda_array<trimmed_pair> trimmed(place, count, "pairs without their common ends");
    const cuda_array<std::uint32_t> keys(place, count, "the order of pairs"),
        order(place, count, "the order of pairs");
    const cuda_array<summary> found(place, 1, "edit distances");
    const work<Unit> all{units.data(), offsets.data(), pairs.data(), trimmed.data(), distances.data()};
    place.fill_bytes(found.data(), 0, sizeof(summary));
    const unsigned blocks = std::min(cuda::blocks_for(count, warps_a_block), 16 * place.multiprocessors());
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_threads)}), trim_pairs_kernel<Unit>, all,
                 count, keys.data(), order.data(), found.data());
    sort_pairs<std::uint32_t, std::uint32_t>(place, keys.span(), order.span());
    const summary queued = to_host(place, found.span()).front();
    const std::uint32_t* next = order.data();
    align_long_pairs(place, all, next, queued);
    next += queued.sizes[by_warp];
    align_short_pairs<Unit, 4>(place, all, next, queued.sizes[words_4]);
    next += queued.sizes[words_4];
    align_short_pairs<Unit, 2>(place, all, next, queued.sizes[words_2]);
    next += queued.sizes[words_2];
    align_short_pairs<Unit, 1>(place, all, next, queued.sizes[words_1]);
}

template void edit_distances<std::uint8_t>(cuda_place&, device_span<const std::uint8_t>,
                                           device_span<const std::uint64_t>, device_span<const bounded_pair>,
                                           device_span<std::uint32_t>);
template void edit_distances<std::uint32_t>(cuda_place&, device_span<const std::uint32_t>,
                                            device_span<const std::uint64_t>, device_span<const bounded_pair>,
                                            device_span<std::uint32_t>);

}  // namespace quern::primitives
