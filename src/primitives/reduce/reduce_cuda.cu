// SPDX-License-Identifier: Apache-2.0
// Reductions of a whole array: a warp for each block of 1,024 values, then one block of threads for the sums of the
// blocks. Two launches: the values are read once, at the memory's speed; the sums are a thousandth of them.
#include "primitives/reduce/reduction.cuh"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;

/// Warp w reduces the values [1024 w, 1024 (w + 1)) into sums[w]. No shared memory; a grid that covers all blocks.
template <class Reduction>
__global__ __launch_bounds__(block_threads) void reduce_blocks_kernel(
    const typename Reduction::value_type* values, std::uint64_t count, typename Reduction::held* sums,
    std::uint64_t* fault_word) {
    const std::uint64_t block = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32;
    const std::uint64_t first = block * canonical_block;
    if (first >= count) return;
    Reduction reduction;
    const auto sum =
        reduce_block<Reduction>(static_cast<unsigned>(min(count - first, std::uint64_t{canonical_block})),
                                [&](unsigned i) { return reduction.take(values[first + i], first + i); });
    if (threadIdx.x % 32 == 0) sums[block] = sum;
    reduction.note(fault_word);
}

/// One block of 1,024 threads reduces all sums; 8.5 KB of shared memory.
template <class Reduction>
__global__ __launch_bounds__(1024) void reduce_sums_kernel(
    const typename Reduction::held* sums, std::uint64_t count,
    reduced_type<typename Reduction::value_type>* result) {
    __shared__ typename Reduction::held scratch[canonical_block + 64];
    const auto sum = reduce_sums<Reduction>(sums, count, scratch);
    if (threadIdx.x == 0) *result = Reduction::finish(sum);
}

/// Sums of sums, where there are too many for one block: a level like the first.
template <class Reduction>
__global__ __launch_bounds__(block_threads) void reduce_level_kernel(const typename Reduction::held* from,
                                                                     std::uint64_t count,
                                                                     typename Reduction::held* sums) {
    const std::uint64_t block = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32;
    const std::uint64_t first = block * canonical_block;
    if (first >= count) return;
    const auto sum =
        reduce_block<Reduction>(static_cast<unsigned>(min(count - first, std::uint64_t{canonical_block})),
                                [&](unsigned i) { return from[first + i]; });
    if (threadIdx.x % 32 == 0) sums[block] = sum;
}

constexpr std::uint64_t one_block_takes = 1 << 18;  // sums

template <class T, reduce_operation operation>
reduced_type<T> reduce_by(cuda_place& place, device_span<const T> values) {
    using rule = reduction<T, operation>;
    using held = typename rule::held;
    cuda_array<held> sums(place, (values.size() + canonical_block - 1) / canonical_block, "sums of blocks");
    cuda_array<reduced_type<T>> result(place, 1, "a reduction's result");
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(sums.size(), warps), block_threads}),
                 reduce_blocks_kernel<rule>, values.data(), values.size(), sums.data(), place.fault_word());
    while (sums.size() > one_block_takes) {
        cuda_array<held> upper(place, (sums.size() + canonical_block - 1) / canonical_block,
                               "sums of blocks");
        QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(upper.size(), warps), block_threads}),
                     reduce_level_kernel<rule>, sums.data(), sums.size(), upper.data());
        sums = std::move(upper);
    }
    QUERN_LAUNCH(place, (cuda::launch_shape{1, 1024}), reduce_sums_kernel<rule>, sums.data(), sums.size(),
                 result.data());
    reduced_type<T> found;
    copy_out<reduced_type<T>>(place, result.span(), std::span(&found, 1));
    return found;
}

}  // namespace

template <reducible T>
reduced_type<T> reduce(cuda_place& place, device_span<const T> values, reduce_operation operation) {
    switch (operation) {
        case reduce_operation::maximum:
            return reduce_by<T, reduce_operation::maximum>(place, values);
        case reduce_operation::minimum:
            return reduce_by<T, reduce_operation::minimum>(place, values);
        case reduce_operation::sum:
            break;
    }
    return reduce_by<T, reduce_operation::sum>(place, values);
}

template std::uint64_t reduce(cuda_place&, device_span<const std::uint8_t>, reduce_operation);
template std::uint64_t reduce(cuda_place&, device_span<const std::uint32_t>, reduce_operation);
template std::uint64_t reduce(cuda_place&, device_span<const std::uint64_t>, reduce_operation);
template std::int64_t reduce(cuda_place&, device_span<const std::int32_t>, reduce_operation);
template std::int64_t reduce(cuda_place&, device_span<const std::int64_t>, reduce_operation);
template double reduce(cuda_place&, device_span<const float>, reduce_operation);
template double reduce(cuda_place&, device_span<const double>, reduce_operation);

}  // namespace quern::primitives
