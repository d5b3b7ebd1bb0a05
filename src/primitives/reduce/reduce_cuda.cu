// SPDX-License-Identifier: Apache-2.0
// Reductions of a whole array.
// - Integers and extremes allow any order: CUB's reduction. One instance serves all extremes of a width: the values are
//   turned into keys whose maximum is asked for.
// - Sums of floats, in the canonical order: 8 or 16 threads for each block of 1,024 values, each handling neighbouring
//   lanes of the order, so that a load is 16 bytes; one warp if the values are not aligned to that. Then one block of
//   threads reduces the resulting sums.
//
// The values are read once, at memory speed.
#include <cub/device/device_reduce.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <limits>
#include <type_traits>

#include "primitives/cub_memory.cuh"
#include "primitives/reduce/reduction.cuh"
#include "primitives/sort/radix_sort.cuh"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;

/// Warp w reduces the values [1024 w, 1024 (w + 1)) of the reader into sums[w], in the canonical order. No shared memory; a
/// grid that covers all blocks.
template <class Reduction, class Reader>
__global__ __launch_bounds__(block_threads) void reduce_blocks_kernel(Reader from, std::uint64_t count,
                                                                      typename Reduction::held* sums) {
    const std::uint64_t block = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32;
    const std::uint64_t first = block * canonical_block;
    if (first >= count) return;
    const auto sum = reduce_block<Reduction>(
        from, first, static_cast<unsigned>(min(count - first, std::uint64_t{canonical_block})));
    if (threadIdx.x % 32 == 0) sums[block] = sum;
}

/// The data of one load.
template <class T>
struct alignas(16) pack {
    static constexpr unsigned width = 16 / sizeof(T);
    T values[width];
};

/// Group g of 32 / width threads reduces the values [1024 g, 1024 (g + 1)) into sums[g], in the canonical order: thread j
/// handles the lanes from width · j on. `values` are aligned to 16 bytes. No shared memory; a grid that covers all blocks.
template <class Reduction>
__global__ __launch_bounds__(block_threads) void reduce_aligned_blocks_kernel(
    const typename Reduction::value_type* values, std::uint64_t count, typename Reduction::held* sums) {
    using packed = pack<typename Reduction::value_type>;
    constexpr unsigned width = packed::width, group = canonical_lanes / width;
    constexpr unsigned rows = canonical_block / canonical_lanes, batch = 8;  // loads in flight
    const unsigned j = threadIdx.x % group;
    const std::uint64_t block = std::uint64_t{blockIdx.x} * (block_threads / group) + threadIdx.x / group;
    const std::uint64_t first = block * canonical_block;
    typename Reduction::held mine[width];
#pragma unroll
    for (unsigned c = 0; c < width; ++c) mine[c] = Reduction::identity();
    if (first + canonical_block <= count) {
        const packed* const from = reinterpret_cast<const packed*>(values + first) + j;
#pragma unroll 1
        for (unsigned row = 0; row < rows; row += batch) {
            packed loaded[batch];
#pragma unroll
            for (unsigned k = 0; k < batch; ++k) loaded[k] = from[(row + k) * group];
#pragma unroll
            for (unsigned k = 0; k < batch; ++k)
#pragma unroll
                for (unsigned c = 0; c < width; ++c)
                    mine[c] = Reduction::combine(mine[c], loaded[k].values[c]);
        }
    } else {
        for (std::uint64_t at = first + j * width; at < count; at += canonical_lanes)
#pragma unroll
            for (unsigned c = 0; c < width; ++c)
                if (at + c < count) mine[c] = Reduction::combine(mine[c], values[at + c]);
    }
#pragma unroll
    for (unsigned h = group / 2; h != 0; h /= 2)
#pragma unroll
        for (unsigned c = 0; c < width; ++c)
            mine[c] = Reduction::combine(mine[c], __shfl_down_sync(~0u, mine[c], h, group));
    if constexpr (width == 4) {
        mine[0] = Reduction::combine(mine[0], mine[2]);
        mine[1] = Reduction::combine(mine[1], mine[3]);
    }
    if (j == 0 && first < count) sums[block] = Reduction::combine(mine[0], mine[1]);
}

/// One block of 1,024 threads reduces all sums; up to 16 KB of shared memory.
template <class Reduction>
__global__ __launch_bounds__(1024) void reduce_sums_kernel(
    const typename Reduction::held* sums, std::uint64_t count,
    reduced_type<typename Reduction::value_type>* result) {
    __shared__ typename Reduction::held scratch[reduce_scratch];
    const auto sum = reduce_sums<Reduction>(sums, count, scratch);
    if (threadIdx.x == 0) *result = Reduction::finish(sum);
}

/// Sums left to one block of threads; more are first reduced by all multiprocessors, by the same rule.
constexpr std::uint64_t one_block_takes = 1 << 14;

template <class Reduction, class Reader>
cuda_array<typename Reduction::held> reduce_level(cuda_place& place, Reader from, std::uint64_t count) {
    cuda_array<typename Reduction::held> sums(place, (count + canonical_block - 1) / canonical_block,
                                              "sums of blocks");
    QUERN_LAUNCH(place,
                 (quern::cuda::launch_shape{quern::cuda::blocks_for(sums.size(), warps), block_threads}),
                 (reduce_blocks_kernel<Reduction, Reader>), from, count, sums.data());
    return sums;
}

template <class T>
T read_back(cuda_place& place, const cuda_array<T>& result) {
    T found;
    copy_out<T>(place, result.span(), std::span(&found, 1));
    return found;
}

template <floating_value T>
double canonical_sum(cuda_place& place, device_span<const T> values) {
    using rule = reduction<T, reduce_operation::sum>;
    cuda_array<double> sums;
    if (reinterpret_cast<std::uintptr_t>(values.data()) % 16 == 0) {
        constexpr unsigned blocks_each = block_threads / (canonical_lanes / pack<T>::width);
        sums = cuda_array<double>(place, (values.size() + canonical_block - 1) / canonical_block,
                                  "sums of blocks");
        QUERN_LAUNCH(
            place,
            (quern::cuda::launch_shape{quern::cuda::blocks_for(sums.size(), blocks_each), block_threads}),
            reduce_aligned_blocks_kernel<rule>, values.data(), values.size(), sums.data());
    } else {
        sums = reduce_level<rule>(place, reader<rule>(values.data(), 0), values.size());
    }
    while (sums.size() > one_block_takes)
        sums = reduce_level<rule>(place, sums_reader<rule>{sums.data()}, sums.size());
    const cuda_array<double> result(place, 1, "a reduction's result");
    QUERN_LAUNCH(place, (quern::cuda::launch_shape{1, 1024}), reduce_sums_kernel<rule>, sums.data(),
                 sums.size(), result.data());
    return read_back(place, result);
}

/// Keys of type Key in any order; `convert` makes them of values.
template <class Key, class T, class Combine, class Convert>
Key reduce_in_any_order(cuda_place& place, const T* values, std::uint64_t count, Combine combine,
                        Convert convert, Key identity) {
    const cuda_array<Key> result(place, 1, "a reduction's result");
    call_with_memory(place, "a reduction", [&](void* memory, std::size_t& bytes) {
        return cub::DeviceReduce::TransformReduce(memory, bytes, values, result.data(), count, combine,
                                                  convert, identity, place.stream());
    });
    return read_back(place, result);
}

struct to_64_bits {
    template <class T>
    __host__ __device__ std::uint64_t operator()(T value) const {
        return static_cast<std::uint64_t>(value);
    }
};

template <class T>
reduced_type<T> integer_sum(cuda_place& place, device_span<const T> values) {
    using read = std::conditional_t<sizeof(T) == 8, std::uint64_t, T>;  // both wrap in the same way
    return static_cast<reduced_type<T>>(
        reduce_in_any_order<std::uint64_t>(place, reinterpret_cast<const read*>(values.data()), values.size(),
                                           ::cuda::std::plus<>{}, to_64_bits{}, 0));
}

/// From an integer's bits to its key.
template <class Key>
struct masked_bits {
    Key mask;
    template <class Bits>
    __host__ __device__ Key operator()(Bits bits) const {
        return static_cast<Key>(bits) ^ mask;
    }
};

template <class T>
reduced_type<T> integer_extreme(cuda_place& place, device_span<const T> values, bool maximum) {
    using bits = std::make_unsigned_t<T>;
    using key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const key sign = std::is_signed_v<T> ? key{1} << (8 * sizeof(T) - 1) : 0;
    const masked_bits<key> masked{maximum ? sign : ~sign};
    const T of_nothing = maximum ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    const key found =
        reduce_in_any_order<key>(place, reinterpret_cast<const bits*>(values.data()), values.size(),
                                 ::cuda::maximum<>{}, masked, masked(static_cast<bits>(of_nothing)));
    return static_cast<T>(masked(found));
}

template <class T>
struct negated_if {
    bool negated;
    __host__ __device__ T operator()(T value) const { return negated ? -value : value; }
};
template <class T>
struct greater_or_nan {
    __host__ __device__ T operator()(T a, T b) const { return a >= b || a != a ? a : b; }
};

template <floating_value T>
double float_extreme(cuda_place& place, device_span<const T> values, bool maximum) {
    const negated_if<T> turned{!maximum};
    const T found = reduce_in_any_order<T>(place, values.data(), values.size(), greater_or_nan<T>{}, turned,
                                           -std::numeric_limits<T>::infinity());
    if (found != found) {  // a second pass finds the position
        cuda::refuse_nan(place, values.data(), values.size());
        place.synchronise();
    }
    return found == 0 ? 0 : turned(found);
}

}  // namespace

template <reducible T>
reduced_type<T> reduce(cuda_place& place, device_span<const T> values, reduce_operation operation) {
    const bool sum = operation == reduce_operation::sum, maximum = operation == reduce_operation::maximum;
    if constexpr (floating_value<T>)
        return sum ? canonical_sum(place, values) : float_extreme(place, values, maximum);
    else
        return sum ? integer_sum(place, values) : integer_extreme(place, values, maximum);
}

template std::uint64_t reduce(cuda_place&, device_span<const std::uint8_t>, reduce_operation);
template std::uint64_t reduce(cuda_place&, device_span<const std::uint32_t>, reduce_operation);
template std::uint64_t reduce(cuda_place&, device_span<const std::uint64_t>, reduce_operation);
template std::int64_t reduce(cuda_place&, device_span<const std::int32_t>, reduce_operation);
template std::int64_t reduce(cuda_place&, device_span<const std::int64_t>, reduce_operation);
template double reduce(cuda_place&, device_span<const float>, reduce_operation);
template double reduce(cuda_place&, device_span<const double>, reduce_operation);

}  // namespace quern::primitives
