// SPDX-License-Identifier: Apache-2.0
// Reductions of segments of any mixture of lengths, in at most three launches after the check of the offsets.
//   1. Every segment gets a group of 2, 8 or 32 lanes, by the mean length; a segment too long for its group goes into a
//      queue.
//   2. Each queued segment of at most 8,192 values gets a warp; longer ones are cut into blocks of 1,024 values that all
//      warps share.
//   3. The sums of those blocks are reduced.
//
// For any split, each value is added in the canonical order. The order in which atomics fill the queues only decides which
// thread does what.
#include <algorithm>
#include <string>

#include "device/cuda/portable.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/reduce/reduction.cuh"
#include "primitives/segments.cuh"
#include "quern/base/error.hpp"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;

constexpr std::uint64_t warp_takes = 8 * canonical_block;  // values of one segment; longer ones are shared
constexpr std::uint64_t warp_finishes = canonical_block;   // sums of one segment; more go to a whole block
constexpr std::uint64_t rows_of_group = 32;                // maximum values of a lane of a group

/// A shared segment: its sums are those from first_sum on.
struct long_segment {
    std::uint64_t segment, first_sum;
};

struct queue_sizes {
    unsigned long long medium;      ///< segments for one warp
    unsigned long long shared_out;  ///< long segments · 2³⁶ + their sums: one atomic places both in one order
    unsigned long long giant;       ///< long segments whose sums are too many for a warp
};
constexpr unsigned sums_bits = 36;
static_assert(max_reduced / canonical_block + max_reduced / warp_takes < 1ull << sums_bits &&
              max_reduced / warp_takes < 1ull << (64 - sums_bits));

template <class Reduction>
struct segments_to_reduce {
    const typename Reduction::value_type* values;
    reduced_type<typename Reduction::value_type>* out;
    segments_view segments;
    std::uint64_t* fault_word;
    queue_sizes* sizes;
    std::uint64_t* medium;     ///< segments
    long_segment* shared_out;  ///< in the order of first_sum
    std::uint64_t* giant;      ///< places in shared_out
    typename Reduction::held* sums;
};

__device__ std::uint64_t blocks_in(std::uint64_t length) {
    return (length + canonical_block - 1) / canonical_block;
}

template <class Reduction>
__device__ void put_into_queue(const segments_to_reduce<Reduction>& a, std::uint64_t segment,
                               std::uint64_t length) {
    if (length <= warp_takes) {
        a.medium[atomicAdd(&a.sizes->medium, 1ull)] = segment;
        return;
    }
    const std::uint64_t blocks = blocks_in(length);
    const std::uint64_t place = atomicAdd(&a.sizes->shared_out, 1ull << sums_bits | blocks);
    const std::uint64_t at = place >> sums_bits;
    a.shared_out[at] = {segment, place & ((1ull << sums_bits) - 1)};
    if (blocks > warp_finishes) a.giant[atomicAdd(&a.sizes->giant, 1ull)] = at;
}

/// A segment whose values span at most 32 · group: lane j of the group handles the canonical lanes j, j + group, j + 2
/// group, …, each with its own sum. Rows past `longest` values, the maximum of the warp's segments, are skipped: they would
/// not change the bits. The group's first lane has the result.
template <class Reduction, unsigned group>
__device__ typename Reduction::held reduce_in_group(reader<Reduction>& from, unsigned size,
                                                    unsigned longest) {
    constexpr unsigned parts = canonical_lanes / group;
    const unsigned lane = threadIdx.x % group;
    typename Reduction::held mine[parts];
#pragma unroll
    for (unsigned k = 0; k < parts; ++k) mine[k] = Reduction::identity();
    for (unsigned row = 0; row < longest; row += canonical_lanes) {
#pragma unroll
        for (unsigned k = 0; k < parts; ++k) {
            const unsigned i = row + k * group + lane;
            if (i < size) mine[k] = Reduction::combine(mine[k], from.take(from.load(i)));
        }
    }
#pragma unroll
    for (unsigned fold = 2; fold <= canonical_lanes; fold *= 2) {
        const unsigned h = parts / fold;  // 0: nothing left to fold here
        if (h * group < longest) {
#pragma unroll
            for (unsigned k = 0; k < parts; ++k)
                if (k < h) mine[k] = Reduction::combine(mine[k], mine[k + h]);
        }
    }
    return mine[0];
}

template <class Reduction, unsigned group>
__device__ typename Reduction::held fold_group(typename Reduction::held mine) {
#pragma unroll
    for (unsigned h = group / 2; h != 0; h /= 2)
        mine = Reduction::combine(mine, __shfl_down_sync(~0u, mine, h, group));
    return mine;
}

template <unsigned group>
constexpr unsigned segments_of_group = group == canonical_lanes ? 1 : 4;

/// `group` lanes reduce segment after segment, up to 4, whose offsets and values are loaded at once. No shared memory; a
/// grid that covers the segments.
template <class Reduction, unsigned group>
__global__ __launch_bounds__(block_threads) void reduce_short_segments_kernel(
    segments_to_reduce<Reduction> a) {
    using T = typename Reduction::value_type;
    constexpr unsigned each = segments_of_group<group>, groups = block_threads / group;
    const unsigned lane = threadIdx.x % group;
    const std::uint64_t first = std::uint64_t{blockIdx.x} * (groups * each) + threadIdx.x / group;
    std::uint64_t begin[each], length[each];
#pragma unroll
    for (unsigned u = 0; u < each; ++u) {
        const std::uint64_t s = first + u * groups;
        begin[u] = s < a.segments.count ? a.segments.offsets[s] : 0;
        length[u] = s < a.segments.count ? a.segments.offsets[s + 1] - begin[u] : 0;
    }
    if (a.segments.broken()) return;
    unsigned size[each], longest = 0;
    bool mine_to_write[each];
#pragma unroll
    for (unsigned u = 0; u < each; ++u) {
        const std::uint64_t s = first + u * groups;
        const bool queued = length[u] > group * rows_of_group;
        if (queued && lane == 0) put_into_queue(a, s, length[u]);
        size[u] = queued ? 0 : static_cast<unsigned>(length[u]);
        mine_to_write[u] = lane == 0 && !queued && s < a.segments.count;
        longest = max(longest, size[u]);
    }
    longest = cuda::max_of_warp(longest);
    if (longest <= group) {  // one value per lane
        T values[each];
#pragma unroll
        for (unsigned u = 0; u < each; ++u)
            if (lane < size[u]) values[u] = a.values[begin[u] + lane];
#pragma unroll
        for (unsigned u = 0; u < each; ++u) {
            reader<Reduction> from(a.values, begin[u]);
            auto mine = Reduction::identity();
            if (lane < size[u]) mine = Reduction::combine(mine, from.take(values[u]));
            mine = fold_group<Reduction, group>(mine);
            if (mine_to_write[u]) a.out[first + u * groups] = Reduction::finish(mine);
            from.note(lane, group, size[u], a.fault_word);
        }
        return;
    }
#pragma unroll
    for (unsigned u = 0; u < each; ++u) {
        reader<Reduction> from(a.values, begin[u]);
        const auto mine =
            fold_group<Reduction, group>(reduce_in_group<Reduction, group>(from, size[u], longest));
        if (mine_to_write[u]) a.out[first + u * groups] = Reduction::finish(mine);
        from.note(lane, group, size[u], a.fault_word);
    }
}

/// A segment of at most 8,192 values, by a whole warp: lane b keeps the sum of block b.
template <class Reduction>
__device__ void reduce_medium_segment(const segments_to_reduce<Reduction>& a, std::uint64_t segment) {
    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t begin = a.segments.offsets[segment];
    const unsigned length = static_cast<unsigned>(a.segments.offsets[segment + 1] - begin);
    reader<Reduction> from(a.values, begin);
    auto mine = Reduction::identity();
    for (unsigned first = 0, b = 0; first < length; first += canonical_block, ++b) {
        const auto sum = reduce_block<Reduction>(from, first, min(length - first, canonical_block));
        const auto shown = __shfl_sync(~0u, sum, 0);
        if (lane == b) mine = Reduction::combine(mine, shown);
    }
    const auto sum = fold_lanes<Reduction>(mine);
    if (lane == 0) a.out[segment] = Reduction::finish(sum);
    from.note(lane, 32, length, a.fault_word);
}

/// The last of `count` > 0 long segments whose first sum is not after `sum`; by a whole warp, 32 probes at a time.
__device__ std::uint64_t owner_of(const long_segment* segments, std::uint64_t count, std::uint64_t sum) {
    const unsigned lane = threadIdx.x % 32;
    std::uint64_t begin = 0;  // first_sum of [begin] ≤ sum
    while (count > 1) {
        const std::uint64_t step = (count + 31) / 32, at = begin + lane * step;
        const bool reached = lane * step < count && segments[at].first_sum <= sum;
        const auto steps = static_cast<unsigned>(__popc(__ballot_sync(~0u, reached))) - 1;
        begin += steps * step;
        count = min(step, count - steps * step);
    }
    return begin;
}

/// All warps of the grid take medium segments, then blocks of the long ones, in turn. Any grid; no shared memory.
template <class Reduction>
__global__ __launch_bounds__(block_threads) void reduce_queued_segments_kernel(
    segments_to_reduce<Reduction> a) {
    const std::uint64_t first = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32;
    const std::uint64_t step = std::uint64_t{gridDim.x} * warps;
    const std::uint64_t medium = a.sizes->medium, shared_out = a.sizes->shared_out >> sums_bits,
                        sums = a.sizes->shared_out & ((1ull << sums_bits) - 1);
    for (std::uint64_t q = first; q < medium; q += step) reduce_medium_segment(a, a.medium[q]);
    for (std::uint64_t s = first; s < sums; s += step) {
        const long_segment owner = a.shared_out[owner_of(a.shared_out, shared_out, s)];
        const std::uint64_t begin =
            a.segments.offsets[owner.segment] + (s - owner.first_sum) * canonical_block;
        const std::uint64_t left = a.segments.offsets[owner.segment + 1] - begin;
        const unsigned count = static_cast<unsigned>(min(left, std::uint64_t{canonical_block}));
        reader<Reduction> from(a.values, begin);
        const auto sum = reduce_block<Reduction>(from, 0, count);
        if (threadIdx.x % 32 == 0) a.sums[s] = sum;
        from.note(threadIdx.x % 32, 32, count, a.fault_word);
    }
}

/// Blocks of 1,024 threads take giant segments, then warps the other long ones, in turn. Any grid; up to 16 KB of
/// shared memory.
template <class Reduction>
__global__ __launch_bounds__(1024) void finish_long_segments_kernel(segments_to_reduce<Reduction> a) {
    __shared__ typename Reduction::held scratch[reduce_scratch];
    const std::uint64_t shared_out = a.sizes->shared_out >> sums_bits;
    const auto sums_of = [&](const long_segment& which) {
        return blocks_in(a.segments.offsets[which.segment + 1] - a.segments.offsets[which.segment]);
    };
    for (std::uint64_t g = blockIdx.x; g < a.sizes->giant; g += gridDim.x) {
        const long_segment which = a.shared_out[a.giant[g]];
        const auto sum = reduce_sums<Reduction>(a.sums + which.first_sum, sums_of(which), scratch);
        if (threadIdx.x == 0) a.out[which.segment] = Reduction::finish(sum);
        __syncthreads();
    }
    const std::uint64_t first = std::uint64_t{blockIdx.x} * 32 + threadIdx.x / 32;
    for (std::uint64_t q = first; q < shared_out; q += std::uint64_t{gridDim.x} * 32) {
        const long_segment which = a.shared_out[q];
        const std::uint64_t count = sums_of(which);
        if (count > warp_finishes) continue;
        sums_reader<Reduction> from{a.sums + which.first_sum};
        const auto sum = reduce_block<Reduction>(from, 0, static_cast<unsigned>(count));
        if (threadIdx.x % 32 == 0) a.out[which.segment] = Reduction::finish(sum);
    }
}

template <class Reduction, unsigned group>
void reduce_in_groups(cuda_place& place, segments_to_reduce<Reduction> arguments, std::uint64_t items) {
    constexpr std::uint64_t group_takes = group * rows_of_group;
    cuda_array<queue_sizes> sizes;
    cuda_array<std::uint64_t> medium, giant;
    cuda_array<long_segment> shared_out;
    cuda_array<typename Reduction::held> sums;
    const bool queues = items > group_takes, long_ones = items > warp_takes;
    if (queues) {
        sizes = cuda_array<queue_sizes>(place, 1, "queues of segments");
        medium = cuda_array<std::uint64_t>(place, items / (group_takes + 1), "queues of segments");
        place.fill_bytes(sizes.data(), 0, sizeof(queue_sizes));
        arguments.sizes = sizes.data();
        arguments.medium = medium.data();
    }
    if (long_ones) {
        const std::uint64_t maximum = items / (warp_takes + 1);
        shared_out = cuda_array<long_segment>(place, maximum, "queues of segments");
        giant = cuda_array<std::uint64_t>(place, items / (warp_finishes * canonical_block) + 1,
                                          "queues of segments");
        sums =
            cuda_array<typename Reduction::held>(place, items / canonical_block + maximum, "sums of blocks");
        arguments.shared_out = shared_out.data();
        arguments.giant = giant.data();
        arguments.sums = sums.data();
    }
    const unsigned blocks =
        cuda::blocks_for(arguments.segments.count, block_threads / group * segments_of_group<group>);
    QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads}),
                 (reduce_short_segments_kernel<Reduction, group>), arguments);
    if (queues)
        QUERN_LAUNCH(place, (cuda::launch_shape{place.multiprocessors() * 6, block_threads}),
                     reduce_queued_segments_kernel<Reduction>, arguments);
    if (long_ones)
        QUERN_LAUNCH(place, (cuda::launch_shape{place.multiprocessors(), 1024}),
                     finish_long_segments_kernel<Reduction>, arguments);
}

template <class T, reduce_operation operation>
void reduce_by(cuda_place& place, device_span<const T> values, device_span<const std::uint64_t> offsets,
               device_span<reduced_type<T>> out) {
    using rule = reduction<T, operation>;
    const checked_segments segments(place, offsets, values.size());
    segments_to_reduce<rule> arguments{};
    arguments.values = values.data();
    arguments.out = out.data();
    arguments.segments = segments.view();
    arguments.fault_word = place.fault_word();
    const std::uint64_t mean = values.size() / std::max<std::uint64_t>(1, out.size());
    if (mean <= 4) {
        reduce_in_groups<rule, 2>(place, arguments, values.size());
    } else if (mean <= 40) {
        reduce_in_groups<rule, 8>(place, arguments, values.size());
    } else {
        reduce_in_groups<rule, 32>(place, arguments, values.size());
    }
}

}  // namespace

template <reducible T>
void segmented_reduce(cuda_place& place, device_span<const T> values,
                      device_span<const std::uint64_t> offsets, device_span<reduced_type<T>> out,
                      reduce_operation operation) {
    check_one_per_segment("segmented_reduce", "out", out.size(), segments_in(offsets.size()));
    if (values.size() > max_reduced)
        throw usage_error("segmented_reduce: " + std::to_string(values.size()) +
                          " values, but a GPU takes at most " + std::to_string(max_reduced));
    switch (operation) {
        case reduce_operation::maximum:
            return reduce_by<T, reduce_operation::maximum>(place, values, offsets, out);
        case reduce_operation::minimum:
            return reduce_by<T, reduce_operation::minimum>(place, values, offsets, out);
        case reduce_operation::sum:
            return reduce_by<T, reduce_operation::sum>(place, values, offsets, out);
    }
}

#define QUERN_SEGMENTED_REDUCE(T)                                                                       \
    template void segmented_reduce(cuda_place&, device_span<const T>, device_span<const std::uint64_t>, \
                                   device_span<reduced_type<T>>, reduce_operation);
QUERN_SEGMENTED_REDUCE(std::uint8_t)
QUERN_SEGMENTED_REDUCE(std::uint32_t)
QUERN_SEGMENTED_REDUCE(std::uint64_t)
QUERN_SEGMENTED_REDUCE(std::int32_t)
QUERN_SEGMENTED_REDUCE(std::int64_t)
QUERN_SEGMENTED_REDUCE(float)
QUERN_SEGMENTED_REDUCE(double)
#undef QUERN_SEGMENTED_REDUCE

}  // namespace quern::primitives
