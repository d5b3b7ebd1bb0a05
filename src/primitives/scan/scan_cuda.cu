// SPDX-License-Identifier: Apache-2.0
// Prefix sums of whole arrays are CUB's. Scans within segments are a kernel of ours, in one pass
// (primitives/look_back.cuh), which maxima and minima of whole arrays use too. Segments are given as one bit per item, set
// where a segment begins: for any mixture of lengths, every block does the same work. A tile where a segment begins knows
// its prefix at once (earlier values do not reach past it), so segments shorten the look-back.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <limits>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/cub_memory.cuh"
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

template <class T>
struct scan_arguments {
    const T* in;
    T* out;
    std::uint64_t in_size, out_size;  ///< out_size ≥ in_size: missing inputs count as the identity
    bool inclusive;
    cuda::tile_word* tiles;      ///< zeros; not read if there is one tile; null: allocated
    const std::uint32_t* heads;  ///< bits as marked by checked_segments, and one word more; null: one segment
    const std::uint32_t* broken;  ///< not 0: the offsets were rejected; null: there are none
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
template <class T, class Operation>
constexpr unsigned blocks_held = sizeof(T) == 4 || std::is_same_v<Operation, sum_of<T>> ? 5 : 4;

/// Block b scans tile b: thread t its items [t · per_thread, (t + 1) · per_thread). They pass through shared memory, warp
/// by warp, so that device memory is accessed in whole lines. Warp 0 looks back. Shared memory: one tile (23 KB, 30 KB with
/// 64 bits) and two words per warp. One block per tile.
template <class T, class Operation>
__global__ __launch_bounds__(block_threads,
                             blocks_held<T, Operation>) void scan_tiles_kernel(scan_arguments<T> a) {
    constexpr unsigned per_thread = items_per_thread<T>;
    using load_type = cub::BlockLoad<T, block_threads, per_thread, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using store_type = cub::BlockStore<T, block_threads, per_thread, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename load_type::TempStorage load;
        typename store_type::TempStorage store;
    } staging;
    __shared__ T warp_sum[warps], prefix_of_tile;
    __shared__ bool warp_head[warps];
    constexpr Operation combine;
    constexpr T identity = Operation::identity;
    if (a.broken != nullptr && *a.broken != 0) return;

    const std::uint64_t begin = std::uint64_t{blockIdx.x} * tile_items<T>;
    const unsigned capacity = static_cast<unsigned>(min(a.out_size - begin, std::uint64_t{tile_items<T>}));
    const unsigned given =
        a.in_size <= begin ? 0 : static_cast<unsigned>(min(a.in_size - begin, std::uint64_t{tile_items<T>}));
    T items[per_thread];
    if (given == tile_items<T>) {
        load_type(staging.load).Load(a.in + begin, items);
    } else {
        load_type(staging.load).Load(a.in + begin, items, static_cast<int>(given), identity);
    }
    const unsigned first = threadIdx.x * per_thread;
    std::uint32_t heads = 0;
    if (a.heads != nullptr && first < capacity) heads = bits_at(a.heads, begin + first, per_thread);

    T own = identity;
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k) own = (heads >> k & 1) != 0 ? items[k] : combine(own, items[k]);
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const auto scanned = scan_lanes<Operation>(own, heads != 0);
    if (lane == 31) {
        warp_sum[warp] = scanned.all;
        warp_head[warp] = scanned.head_anywhere;
    }
    __syncthreads();
    T before = identity, all = identity;  // of this warp, of the tile
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
    T tile_before = identity;
    if (gridDim.x > 1) {
        if (warp == 0) {
            const auto as_prefix = [](T value) {
                return cuda::tile_prefix{static_cast<std::uint64_t>(value), 0};
            };
            const bool known = blockIdx.x == 0 || head_in_tile;
            if (lane == 0)
                cuda::publish(a.tiles + blockIdx.x, as_prefix(all),
                              known ? cuda::tile_state::whole : cuda::tile_state::own);
            T found = identity;
            if (blockIdx.x != 0)
                found =
                    static_cast<T>(cuda::look_back<look_back_rows>(
                                       a.tiles, blockIdx.x, on_prefixes<T, Operation>{}, as_prefix(identity))
                                       .value);
            if (lane == 0 && !known)
                cuda::publish(a.tiles + blockIdx.x, as_prefix(combine(found, all)), cuda::tile_state::whole);
            if (lane == 0) prefix_of_tile = found;
        }
        __syncthreads();
        tile_before = prefix_of_tile;
    }
    if (!head_before) before = combine(tile_before, before);
    T running = scanned.head_before ? scanned.before : combine(before, scanned.before);
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k) {
        if ((heads >> k & 1) != 0) running = identity;
        const T with = combine(running, items[k]);
        items[k] = a.inclusive ? with : running;
        running = with;
    }
    if (capacity == tile_items<T>) {
        store_type(staging.store).Store(a.out + begin, items);
    } else {
        store_type(staging.store).Store(a.out + begin, items, static_cast<int>(capacity));
    }
}

template <class T, class Operation>
void scan_tiles(cuda_place& place, scan_arguments<T> arguments) {
    const unsigned tiles = cuda::blocks_for(arguments.out_size, tile_items<T>);
    cuda_array<cuda::tile_word> words;
    if (arguments.tiles == nullptr && tiles > 1) {
        words = cuda_array<cuda::tile_word>(place, tiles, "a scan's tiles");
        place.fill_bytes(words.data(), 0, words.span().size_bytes());
        arguments.tiles = words.data();
    }
    QUERN_LAUNCH(place, (cuda::launch_shape{tiles, block_threads}), (scan_tiles_kernel<T, Operation>),
                 arguments);
}

template <class T>
void scan_extremes(cuda_place& place, const scan_arguments<T>& arguments, scan_operation operation) {
    if (operation == scan_operation::maximum)
        scan_tiles<T, maximum_of<T>>(place, arguments);
    else
        scan_tiles<T, minimum_of<T>>(place, arguments);
}

/// Sums do not depend on signs: one kernel for both.
template <class T>
using unsigned_like = std::make_unsigned_t<T>;
template <class T>
device_span<unsigned_like<T>> as_unsigned(device_span<T> values) {
    return {reinterpret_cast<unsigned_like<T>*>(values.data()), values.size()};
}

template <class T>
void segmented_scan(cuda_place& place, device_span<const T> in, device_span<const std::uint64_t> offsets,
                    device_span<T> out, scan_operation operation, bool inclusive, const char* name) {
    check_same_size(name, "in", in.size(), "out", out.size());
    const checked_segments segments(place, offsets, in.size(), in.size() / 32 + 2,
                                    cuda::blocks_for(in.size(), tile_items<T>) * sizeof(cuda::tile_word));
    const auto scan_of = [&](const auto* from, auto* to) {
        return scan_arguments<std::remove_pointer_t<decltype(to)>>{
            from,
            to,
            in.size(),
            in.size(),
            inclusive,
            static_cast<cuda::tile_word*>(segments.zeros()),
            segments.heads().data(),
            segments.view().broken_word};
    };
    if (operation == scan_operation::sum)
        scan_tiles<unsigned_like<T>, sum_of<unsigned_like<T>>>(
            place, scan_of(as_unsigned(in).data(), as_unsigned(out).data()));
    else
        scan_extremes(place, scan_of(in.data(), out.data()), operation);
}

/// Reads 0 after the last value: the last of the results is then the total.
template <class In, class Out>
struct value_or_zero {
    const In* in;
    std::uint64_t size;
    __host__ __device__ Out operator()(std::uint64_t i) const {
        return i < size ? static_cast<Out>(in[i]) : Out{0};
    }
};

/// CUB knows the operator std::plus by its type, and has parameters for it.
template <class In, class Out>
void inclusive_sum(cuda_place& place, device_span<In> in, device_span<Out> out) {
    if (out.empty()) return;
    call_with_memory(place, "a scan's tiles", [&](void* memory, std::size_t& bytes) {
        return cub::DeviceScan::InclusiveScanInit(memory, bytes, in.data(), out.data(), ::cuda::std::plus<>{},
                                                  Out{0}, out.size(), place.stream());
    });
}
template <class In, class Out>
void exclusive_sum(cuda_place& place, device_span<In> in, device_span<Out> out) {
    if (out.empty()) return;
    const auto values = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0),
                                                        value_or_zero<In, Out>{in.data(), in.size()});
    call_with_memory(place, "a scan's tiles", [&](void* memory, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(memory, bytes, values, out.data(), ::cuda::std::plus<>{},
                                              Out{0}, out.size(), place.stream());
    });
}

}  // namespace

template <class In, class Out>
    requires scans_into<In, Out>
void inclusive_scan(cuda_place& place, device_span<const In> in, device_span<Out> out,
                    scan_operation operation) {
    check_same_size("inclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("inclusive_scan", operation == scan_operation::sum);
    if (operation == scan_operation::sum)
        inclusive_sum(place, as_unsigned(in), as_unsigned(out));
    else if constexpr (std::is_same_v<In, Out>)
        scan_extremes<Out>(place,
                           {in.data(), out.data(), in.size(), out.size(), true, nullptr, nullptr, nullptr},
                           operation);
}

template <class In, class Out>
    requires scans_into<In, Out>
void exclusive_scan(cuda_place& place, device_span<const In> in, device_span<Out> out,
                    scan_operation operation) {
    if (out.size() != in.size() + 1) check_same_size("exclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("exclusive_scan", operation == scan_operation::sum);
    if (operation == scan_operation::sum)
        exclusive_sum(place, as_unsigned(in), as_unsigned(out));
    else if constexpr (std::is_same_v<In, Out>)
        scan_extremes<Out>(place,
                           {in.data(), out.data(), in.size(), out.size(), false, nullptr, nullptr, nullptr},
                           operation);
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
