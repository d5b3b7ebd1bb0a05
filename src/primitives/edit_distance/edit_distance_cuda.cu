// SPDX-License-Identifier: Apache-2.0
// Three steps: a warp a pair cuts off common ends, answers what is then plain, and says how the others are to be done;
// they are sorted by that, the longest first; then the long ones are done by a warp each, the short ones by a thread
// each. Warps take the next pair when they have done one: a long pair holds up nobody but itself.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "device/cuda/check.cuh"
#include "primitives/doors.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "primitives/edit_distance/thread_aligner.cuh"
#include "primitives/edit_distance/warp_aligner.cuh"
#include "primitives/sort/sort.hpp"

namespace quern::primitives {
namespace {

using namespace edit_distance_detail;

static_assert(no_distance == beyond_bound);

constexpr unsigned block_threads = 128;
constexpr unsigned warps_a_block = block_threads / warp_size;
constexpr long long first_band = 512;

/// How a pair is done, in the order of the queues. `words_N`: by a thread, with N words of 64 rows.
enum queue : unsigned { by_warp, words_4, words_2, words_1, queues };
constexpr unsigned most_short_columns = 2048;  // threads of a warp wait for the longest

/// A pair without its common ends: a is the shorter one.
struct cut_pair {
    std::uint32_t a, b, begin, rows, columns, bound;
};

template <class Unit>
struct work {
    const Unit* units;
    const std::uint64_t* offsets;
    const bounded_pair* pairs;
    cut_pair* cut;
    std::uint32_t* distances;

    __device__ const Unit* begin_of(std::uint32_t s, const cut_pair& pair) const {
        return units + offsets[s] + pair.begin;
    }
};

/// What the host waits for.
struct summary {
    std::uint32_t sizes[queues];
    std::uint32_t most_live;  ///< columns that a strip may span, the most of all
};

/// How many units from a and b on are the same, up to `most`: a warp, each lane four of 128. Step −1: before a and b.
template <int Step, class Unit>
__device__ std::uint32_t count_common(const Unit* a, const Unit* b, std::uint32_t most) {
    const unsigned lane = threadIdx.x % warp_size;
    for (std::uint32_t done = 0; done < most; done += 4 * warp_size) {
        unsigned differs[4];
#pragma unroll
        for (unsigned u = 0; u < 4; ++u) {
            const std::uint32_t at = done + u * warp_size + lane;
            const std::int64_t where = Step > 0 ? std::int64_t{at} : -1 - std::int64_t{at};
            differs[u] = at >= most || a[where] != b[where];
        }
#pragma unroll
        for (unsigned u = 0; u < 4; ++u) {
            const unsigned found = __ballot_sync(full_warp, differs[u]);
            if (found == 0) continue;
            return done + u * warp_size + static_cast<unsigned>(__ffs(static_cast<int>(found))) - 1;
        }
    }
    return most;
}

/// Warp w of the grid owns the pairs w, w + warps, …. keys[p]: queue, then falling length; done pairs last.
template <class Unit>
__global__ void __launch_bounds__(block_threads)
    cut_pairs_kernel(work<Unit> all, std::uint32_t count, std::uint32_t* keys, std::uint32_t* order,
                     summary* found) {
    const unsigned lane = threadIdx.x % warp_size;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * warps_a_block;
    std::uint32_t sizes[queues] = {}, most_live = 0;
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * warps_a_block + threadIdx.x / warp_size; p < count;
         p += warps) {
        const bounded_pair pair = all.pairs[p];
        cut_pair cut{pair.a,
                     pair.b,
                     0,
                     static_cast<std::uint32_t>(all.offsets[pair.a + 1] - all.offsets[pair.a]),
                     static_cast<std::uint32_t>(all.offsets[pair.b + 1] - all.offsets[pair.b]),
                     pair.bound};
        if (cut.rows > cut.columns) {
            const std::uint32_t longer = cut.rows;
            cut.a = pair.b, cut.b = pair.a, cut.rows = cut.columns, cut.columns = longer;
        }
        bool done = cut.columns - cut.rows > cut.bound;
        std::uint32_t distance = no_distance;
        if (!done) {
            const Unit* const a = all.begin_of(cut.a, cut);
            const Unit* const b = all.begin_of(cut.b, cut);
            cut.begin = count_common<1>(a, b, cut.rows);
            const std::uint32_t end = count_common<-1>(a + cut.rows, b + cut.columns, cut.rows - cut.begin);
            cut.rows -= cut.begin + end, cut.columns -= cut.begin + end;
            if (cut.rows == 0) distance = cut.columns;
            done = cut.rows == 0 || cut.bound == 0;
            cut.bound = min(cut.bound, cut.columns);
        }
        std::uint32_t key = 0xffffffff;
        if (!done) {
            queue which = by_warp;
            if (cut.columns <= most_short_columns)
                which = cut.rows <= 64    ? words_1
                        : cut.rows <= 128 ? words_2
                        : cut.rows <= 256 ? words_4
                                          : by_warp;
            constexpr std::uint32_t longest = (1u << 29) - 1;
            key = which << 29 | (longest - min(cut.columns, longest));
#pragma unroll
            for (unsigned q = 0; q < queues; ++q) sizes[q] += which == q;
            if (which == by_warp) most_live = max(most_live, min(cut.columns, cut.bound));
        }
        if (lane != 0) continue;
        keys[p] = key, order[p] = static_cast<std::uint32_t>(p), all.cut[p] = cut;
        if (done) all.distances[p] = distance;
    }
    if (lane != 0) return;
    for (unsigned q = 0; q < queues; ++q)
        if (sizes[q] != 0) atomicAdd(&found->sizes[q], sizes[q]);
    if (most_live != 0) atomicMax(&found->most_live, most_live);
}

/// Warps take the pairs of `order` one after the other, bands that grow as on the CPU. Shared memory: a
/// warp_memory each (bytes: 4.2 KB, code points: 16.6 KB). `steps`: two rings of words a warp of the grid.
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
        const cut_pair pair = all.cut[p];
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

/// A thread a pair. Shared memory: table_words of 64 bits a thread.
template <class Unit, unsigned Words>
__global__ void align_short_pairs_kernel(work<Unit> all, const std::uint32_t* order, std::uint32_t count) {
    extern __shared__ uint4 memory[];
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t p = order[i];
    const cut_pair pair = all.cut[p];
    thread_aligner<Unit, Words> mine(reinterpret_cast<unsigned long long*>(memory) + threadIdx.x, blockDim.x);
    all.distances[p] = mine.distance(all.begin_of(pair.a, pair), pair.rows, all.begin_of(pair.b, pair),
                                     pair.columns, pair.bound);
}

template <class Unit, unsigned Words>
void align_short_pairs(cuda_place& place, const work<Unit>& all, const std::uint32_t* order,
                       std::uint32_t count) {
    constexpr unsigned threads = sizeof(Unit) == 1 ? 64 : 32;
    constexpr std::size_t bytes = std::size_t{threads} * thread_aligner<Unit, Words>::table_words * 8;
    if (count == 0) return;
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
    constexpr std::uint64_t most_ring_bytes = std::uint64_t{1} << 30;
    const std::uint32_t count = found.sizes[by_warp];
    if (count == 0) return;
    int resident = 0;
    place.make_current();
    QUERN_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, align_long_pairs_kernel<Unit>,
                                                              threads, bytes));
    // A strip and what the bound leaves beside it, cut to whole words and filled up to a power of two.
    const std::uint64_t live = std::uint64_t{found.most_live} + strip_rows + 256;
    const auto ring_words = static_cast<unsigned>(std::bit_ceil(live / 32 + 2));
    const std::uint64_t block_bytes = std::uint64_t{threads / warp_size} * 2 * ring_words * sizeof(unsigned);
    const std::uint64_t most = std::max<std::uint64_t>(1, most_ring_bytes / block_bytes);
    const auto blocks = static_cast<unsigned>(
        std::min({most, std::uint64_t{place.multiprocessors()} * static_cast<unsigned>(resident),
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
    const cuda_array<cut_pair> cut(place, count, "pairs without their common ends");
    const cuda_array<std::uint32_t> keys(place, count, "the order of pairs"),
        order(place, count, "the order of pairs");
    const cuda_array<summary> found(place, 1, "edit distances");
    const work<Unit> all{units.data(), offsets.data(), pairs.data(), cut.data(), distances.data()};
    place.fill_bytes(found.data(), 0, sizeof(summary));
    const unsigned blocks = std::min(cuda::blocks_for(count, warps_a_block), 16 * place.multiprocessors());
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_threads)}), cut_pairs_kernel<Unit>, all,
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
