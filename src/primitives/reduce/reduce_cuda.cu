// SPDX-License-Identifier: Apache-2.0
// Reductions of a whole array, in two launches.
// - Sums of floats: 8 or 16 threads for each block of 1,024 values, each handling neighbouring lanes of the canonical
//   order, so that a load is 16 bytes; one warp if the values are not aligned to that.
// - Reductions in any order: as many blocks of threads as the device holds.
// - Then one block of threads reduces the resulting sums.
//
// The values are read once, at memory speed.
#include <algorithm>

#include "primitives/reduce/reduction.cuh"

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

template <class Reduction>
__device__ typename Reduction::held reduce_pack(reader<Reduction>& from,
                                                const pack<typename Reduction::value_type>& p) {
    if constexpr (Reduction::sums && sizeof(typename Reduction::value_type) == 1) {
        const uint4 words = reinterpret_cast<const uint4&>(p);
        return __dp4a(
            words.x, 0x01010101u,
            __dp4a(words.y, 0x01010101u, __dp4a(words.z, 0x01010101u, __dp4a(words.w, 0x01010101u, 0u))));
    } else {
        auto all = from.take(p.values[0]);
#pragma unroll
        for (unsigned k = 1; k < p.width; ++k) all = Reduction::combine(all, from.take(p.values[k]));
        return all;
    }
}

/// Block b reduces its share of all values, in any order, into sums[b]. Any grid; 64 bytes of shared memory. Block 0 takes
/// the few values before and after whole packs.
template <class Reduction>
__global__ __launch_bounds__(block_threads) void reduce_shares_kernel(
    const typename Reduction::value_type* values, std::uint64_t count, typename Reduction::held* sums,
    std::uint64_t* fault_word) {
    using T = typename Reduction::value_type;
    using packed = pack<T>;
    constexpr unsigned batch = 4;  // loads in flight
    __shared__ typename Reduction::held sum_of_warp[warps];
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * block_threads;
    const auto misaligned = reinterpret_cast<std::uintptr_t>(values) % 16 / sizeof(T);
    const std::uint64_t before = misaligned == 0 ? 0 : min(std::uint64_t{packed::width - misaligned}, count);
    const std::uint64_t packs = (count - before) / packed::width, after = before + packs * packed::width;
    const packed* const from = reinterpret_cast<const packed*>(values + before);
    reader<Reduction> read(values, 0);
    auto mine = Reduction::identity();
    if (thread < before) mine = Reduction::combine(mine, read.take(values[thread]));
    if (after + thread < count) mine = Reduction::combine(mine, read.take(values[after + thread]));
    std::uint64_t p = thread;
    for (; p + (batch - 1) * threads < packs; p += batch * threads) {
        packed loaded[batch];
#pragma unroll
        for (unsigned k = 0; k < batch; ++k) loaded[k] = from[p + k * threads];
#pragma unroll
        for (unsigned k = 0; k < batch; ++k) mine = Reduction::combine(mine, reduce_pack(read, loaded[k]));
    }
    for (; p < packs; p += threads) {
        const packed loaded = from[p];
        mine = Reduction::combine(mine, reduce_pack(read, loaded));
    }
    if constexpr (Reduction::refuses_nan) {
        read.note(thread, 1, min(thread + 1, before), fault_word);
        read.note(after + thread, 1, min(after + thread + 1, count), fault_word);
        for (unsigned k = 0; k < packed::width; ++k)
            read.note(before + thread * packed::width + k, threads * packed::width, after, fault_word);
    }
    const auto sum = fold_lanes<Reduction>(mine);
    if (threadIdx.x % 32 == 0) sum_of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sums_reader<Reduction> of_warps{sum_of_warp};
    const auto all = reduce_block<Reduction>(of_warps, 0, warps);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
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
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(sums.size(), warps), block_threads}),
                 (reduce_blocks_kernel<Reduction, Reader>), from, count, sums.data());
    return sums;
}

template <class T, reduce_operation operation>
reduced_type<T> reduce_by(cuda_place& place, device_span<const T> values) {
    using rule = reduction<T, operation>;
    using held = typename rule::held;
    cuda_array<held> sums;
    if constexpr (rule::any_order) {
        constexpr std::uint64_t least = block_threads * 4;  // minimum packs per block
        const std::uint64_t shares = std::clamp<std::uint64_t>(values.size_bytes() / 16 / least, 1,
                                                               std::uint64_t{place.multiprocessors()} * 8);
        sums = cuda_array<held>(place, shares, "sums of shares");
        QUERN_LAUNCH(place, (cuda::launch_shape{static_cast<unsigned>(shares), block_threads}),
                     reduce_shares_kernel<rule>, values.data(), values.size(), sums.data(),
                     place.fault_word());
    } else {
        if (reinterpret_cast<std::uintptr_t>(values.data()) % 16 == 0) {
            constexpr unsigned blocks_each = block_threads / (canonical_lanes / pack<T>::width);
            sums = cuda_array<held>(place, (values.size() + canonical_block - 1) / canonical_block,
                                    "sums of blocks");
            QUERN_LAUNCH(place,
                         (cuda::launch_shape{cuda::blocks_for(sums.size(), blocks_each), block_threads}),
                         reduce_aligned_blocks_kernel<rule>, values.data(), values.size(), sums.data());
        } else {
            sums = reduce_level<rule>(place, reader<rule>(values.data(), 0), values.size());
        }
        while (sums.size() > one_block_takes)
            sums = reduce_level<rule>(place, sums_reader<rule>{sums.data()}, sums.size());
    }
    cuda_array<reduced_type<T>> result(place, 1, "a reduction's result");
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
