// SPDX-License-Identifier: Apache-2.0
// Prefix scans in one pass (primitives/look_back.cuh), whole and segmented by the same kernel. Segments are given as one
// bit per item, set where a segment begins: for any mixture of lengths, every block does the same work. A tile where a
// segment begins knows its prefix at once (earlier values do not reach past it), so segments shorten the look-back.
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <limits>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/look_back.cuh"
#include "primitives/scan/scan.hpp"
#include "primitives/segments.cuh"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;
constexpr unsigned look_back_rows = 1;

/// Odd, so that no two lanes of a warp share a bank.
template <class T>
constexpr unsigned items_per_thread = sizeof(T) == 4 ? 23 : 15;
template <class T>
constexpr unsigned tile_items = block_threads * items_per_thread<T>;

template <class T>
struct sum_of {
    static constexpr T identity = 0;
    __device__ T operator()(T a, T b) const { return static_cast<T>(a + b); }  // T is unsigned
};
template <class T>
struct maximum_of {
    static constexpr T identity = std::numeric_limits<T>::lowest();
    __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct minimum_of {
    static constexpr T identity = std::numeric_limits<T>::max();
    __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};

/// The operation on values that travel between tiles.
template <class T, class Operation>
struct on_prefixes {
    static constexpr bool uses_second = false;
    __device__ cuda::tile_prefix operator()(cuda::tile_prefix a, cuda::tile_prefix b) const {
        return {static_cast<std::uint64_t>(Operation{}(static_cast<T>(a.value), static_cast<T>(b.value))), 0};
    }
};

template <class In, class Out>
struct scan_arguments {
    const In* in;
    Out* out;
    std::uint64_t in_size, out_size;  ///< out_size ≥ in_size: missing inputs count as the identity
    bool inclusive;
    cuda::tile_word* tiles;       ///< zeros; not read if there is one tile; null: allocated
    const std::uint32_t* heads;   ///< segmented: bits as marked by checked_segments, and one word more
    const std::uint32_t* broken;  ///< segmented: not 0: the offsets were rejected
};

/// The bits of `count` ≤ 32 items from `first` on, at the low end.
__device__ std::uint32_t bits_at(const std::uint32_t* heads, std::uint64_t first, unsigned count) {
    const std::uint32_t* word = heads + first / 32;
    const std::uint32_t low = word[0], high = word[1];
    return __funnelshift_r(low, high, static_cast<unsigned>(first % 32)) & ((1ull << count) - 1);
}

/// The knowledge of a lane after its warp has scanned the sums of its lanes.
template <class T>
struct warp_scan {
    T before;  ///< of the lanes before it, from the last head among them on
    T all;     ///< of the warp, in the same way
    bool head_before, head_anywhere;
};

/// Called by whole warps. `own`: of the lane's items, from its last head on; `head`: there is one.
template <class Operation, class T>
__device__ warp_scan<T> scan_lanes(T own, bool head) {
    constexpr Operation combine;
    const unsigned lane = threadIdx.x % 32;
    const unsigned heads = __ballot_sync(~0u, head);
    const unsigned to_here = heads & (~0u >> (31 - lane));
    const unsigned start = to_here == 0 ? 0 : 31 - static_cast<unsigned>(__clz(static_cast<int>(to_here)));
#pragma unroll
    for (unsigned d = 1; d < 32; d *= 2) {
        const T other = __shfl_up_sync(~0u, own, d);
        if (lane >= start + d) own = combine(other, own);
    }
    T before = __shfl_up_sync(~0u, own, 1);
    if (lane == 0) before = Operation::identity;
    return {before, __shfl_sync(~0u, own, 31), (heads & ((1u << lane) - 1)) != 0, heads != 0};
}

/// Blocks per multiprocessor: a fifth one costs registers, which extremes of 64 bits do not have.
template <class Out, class Operation>
constexpr unsigned blocks_held = sizeof(Out) == 4 || std::is_same_v<Operation, sum_of<Out>> ? 5 : 4;

/// Block b scans tile b: thread t its items [t · per_thread, (t + 1) · per_thread). They pass through shared memory, warp
/// by warp, so that device memory is accessed in whole lines. Warp 0 looks back. Shared memory: one tile (23 KB, 30 KB with
/// 64 bits) and two words per warp. One block per tile.
template <class In, class Out, class Operation, bool segmented>
__global__ __launch_bounds__(block_threads,
                             blocks_held<Out, Operation>) void scan_tiles_kernel(scan_arguments<In, Out> a) {
    constexpr unsigned per_thread = items_per_thread<Out>;
    using load_type = cub::BlockLoad<In, block_threads, per_thread, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using store_type = cub::BlockStore<Out, block_threads, per_thread, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename load_type::TempStorage load;
        typename store_type::TempStorage store;
    } staging;
    __shared__ Out warp_sum[warps], prefix_of_tile;
    __shared__ bool warp_head[warps];
    constexpr Operation combine;
    constexpr Out identity = Operation::identity;
    if (segmented && *a.broken != 0) return;

    const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_items<Out>;
    const unsigned capacity = static_cast<unsigned>(min(a.out_size - begin, std::uint64_t{tile_items<Out>}));
    const unsigned given =
        a.in_size <= begin ? 0
                           : static_cast<unsigned>(min(a.in_size - begin, std::uint64_t{tile_items<Out>}));
    In loaded[per_thread];
    if (given == tile_items<Out>) {
        load_type(staging.load).Load(a.in + begin, loaded);
    } else {
        load_type(staging.load).Load(a.in + begin, loaded, static_cast<int>(given), In{});
    }
    const unsigned first = threadIdx.x * per_thread;
    Out items[per_thread];
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k)
        items[k] = first + k < given ? static_cast<Out>(loaded[k]) : identity;
    std::uint32_t heads = 0;
    if (segmented && first < capacity) heads = bits_at(a.heads, begin + first, per_thread);

    Out own = identity;
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k) own = (heads >> k & 1) != 0 ? items[k] : combine(own, items[k]);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const auto scanned = scan_lanes<Operation>(own, heads != 0);
    if (lane == 31) {
        warp_sum[warp] = scanned.all;
        warp_head[warp] = scanned.head_anywhere;
    }
    __syncthreads();
    Out before = identity, all = identity;  // of this warp, of the tile
    bool head_before = false, head_in_tile = false;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
        if (w == warp) {
            before = all;
            head_before = head_in_tile;
        }
        all = warp_head[w] ? warp_sum[w] : combine(all, warp_sum[w]);
        head_in_tile |= warp_head[w];
    }
    Out tile_before = identity;
    if (gridDim.x > 1) {
        if (warp == 0) {
            const auto as_prefix = [](Out value) {
                return cuda::tile_prefix{static_cast<std::uint64_t>(value), 0};
            };
            const bool known = blockIdx.x == 0 || head_in_tile;
            if (lane == 0)
                cuda::publish(a.tiles + blockIdx.x, as_prefix(all),
                              known ? cuda::tile_state::whole : cuda::tile_state::own);
            Out found = identity;
            if (blockIdx.x != 0)
                found = static_cast<Out>(cuda::look_back<look_back_rows>(a.tiles, blockIdx.x,
                                                                         on_prefixes<Out, Operation>{},
                                                                         as_prefix(identity))
                                             .value);
            if (lane == 0 && !known)
                cuda::publish(a.tiles + blockIdx.x, as_prefix(combine(found, all)), cuda::tile_state::whole);
            if (lane == 0) prefix_of_tile = found;
        }
        __syncthreads();
        tile_before = prefix_of_tile;
    }
    if (!head_before) before = combine(tile_before, before);
    Out running = scanned.head_before ? scanned.before : combine(before, scanned.before);
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k) {
        if ((heads >> k & 1) != 0) running = identity;
        const Out with = combine(running, items[k]);
        items[k] = a.inclusive ? with : running;
        running = with;
    }
    if (capacity == tile_items<Out>) {
        store_type(staging.store).Store(a.out + begin, items);
    } else {
        store_type(staging.store).Store(a.out + begin, items, static_cast<int>(capacity));
    }
}

template <class In, class Out, class Operation, bool segmented>
void scan_tiles(cuda_place& place, scan_arguments<In, Out> arguments) {
    const unsigned tiles = cuda::blocks_for(arguments.out_size, tile_items<Out>);
    cuda_array<cuda::tile_word> words;
    if (arguments.tiles == nullptr && tiles > 1) {
        words = cuda_array<cuda::tile_word>(place, tiles, "a scan's tiles");
        place.fill_bytes(words.data(), 0, words.span().size_bytes());
        arguments.tiles = words.data();
    }
    QUERN_LAUNCH(place, (cuda::launch_shape{tiles, block_threads}),
                 (scan_tiles_kernel<In, Out, Operation, segmented>), arguments);
}

/// Sums do not depend on signs: one kernel for both.
template <class T>
using unsigned_like = std::make_unsigned_t<T>;

template <class In, class Out, bool segmented>
void scan(cuda_place& place, scan_arguments<In, Out> arguments, scan_operation operation) {
    if (operation == scan_operation::sum) {
        using from = unsigned_like<In>;
        using to = unsigned_like<Out>;
        scan_tiles<from, to, sum_of<to>, segmented>(
            place, {reinterpret_cast<const from*>(arguments.in), reinterpret_cast<to*>(arguments.out),
                    arguments.in_size, arguments.out_size, arguments.inclusive, arguments.tiles,
                    arguments.heads, arguments.broken});
    } else if constexpr (std::is_same_v<In, Out>) {
        if (operation == scan_operation::maximum) {
            scan_tiles<In, Out, maximum_of<Out>, segmented>(place, arguments);
        } else {
            scan_tiles<In, Out, minimum_of<Out>, segmented>(place, arguments);
        }
    }
}

template <class T>
void segmented_scan(cuda_place& place, device_span<const T> in, device_span<const std::uint64_t> offsets,
                    device_span<T> out, scan_operation operation, bool inclusive, const char* name) {
    check_same_size(name, "in", in.size(), "out", out.size());
    const checked_segments segments(place, offsets, in.size(), in.size() / 32 + 2,
                                    cuda::blocks_for(in.size(), tile_items<T>) * sizeof(cuda::tile_word));
    scan<T, T, true>(place,
                     {in.data(), out.data(), in.size(), in.size(), inclusive,
                      static_cast<cuda::tile_word*>(segments.zeros()), segments.heads().data(),
                      segments.view().broken_word},
                     operation);
}

}  // namespace

template <class In, class Out>
    requires scans_into<In, Out>
void inclusive_scan(cuda_place& place, device_span<const In> in, device_span<Out> out,
                    scan_operation operation) {
    check_same_size("inclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("inclusive_scan", operation == scan_operation::sum);
    scan<In, Out, false>(
        place, {in.data(), out.data(), in.size(), out.size(), true, nullptr, nullptr, nullptr}, operation);
}

template <class In, class Out>
    requires scans_into<In, Out>
void exclusive_scan(cuda_place& place, device_span<const In> in, device_span<Out> out,
                    scan_operation operation) {
    if (out.size() != in.size() + 1) check_same_size("exclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("exclusive_scan", operation == scan_operation::sum);
    scan<In, Out, false>(
        place, {in.data(), out.data(), in.size(), out.size(), false, nullptr, nullptr, nullptr}, operation);
}

template <integer_value T>
void segmented_inclusive_scan(cuda_place& place, device_span<const T> in,
                              device_span<const std::uint64_t> offsets, device_span<T> out,
                              scan_operation operation) {
    segmented_scan(place, in, offsets, out, operation, true, "segmented_inclusive_scan");
}

template <integer_value T>
void segmented_exclusive_scan(cuda_place& place, device_span<const T> in,
                              device_span<const std::uint64_t> offsets, device_span<T> out,
                              scan_operation operation) {
    segmented_scan(place, in, offsets, out, operation, false, "segmented_exclusive_scan");
}

#define QUERN_SCAN(In, Out)                                                                             \
    template void inclusive_scan(cuda_place&, device_span<const In>, device_span<Out>, scan_operation); \
    template void exclusive_scan(cuda_place&, device_span<const In>, device_span<Out>, scan_operation);
#define QUERN_SEGMENTED_SCAN(T)                                                              \
    template void segmented_inclusive_scan(cuda_place&, device_span<const T>,                \
                                           device_span<const std::uint64_t>, device_span<T>, \
                                           scan_operation);                                  \
    template void segmented_exclusive_scan(cuda_place&, device_span<const T>,                \
                                           device_span<const std::uint64_t>, device_span<T>, \
                                           scan_operation);
QUERN_SCAN(std::uint8_t, std::uint64_t)
QUERN_SCAN(std::uint32_t, std::uint64_t)
QUERN_SCAN(std::uint32_t, std::uint32_t)
QUERN_SCAN(std::int32_t, std::int32_t)
QUERN_SCAN(std::uint64_t, std::uint64_t)
QUERN_SCAN(std::int64_t, std::int64_t)
QUERN_SEGMENTED_SCAN(std::uint32_t)
QUERN_SEGMENTED_SCAN(std::int32_t)
QUERN_SEGMENTED_SCAN(std::uint64_t)
QUERN_SEGMENTED_SCAN(std::int64_t)
#undef QUERN_SCAN
#undef QUERN_SEGMENTED_SCAN

}  // namespace quern::primitives
