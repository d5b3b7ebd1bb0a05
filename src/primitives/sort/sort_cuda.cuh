// SPDX-License-Identifier: Apache-2.0
// Sorting on a GPU: CUB's radix sort, 8 bits a pass, one pass over the data each (Adinets and Merrill, "Onesweep",
// 2022). It knows −0 and +0 as equal keys and moves them with their bits. One .cu file per type of key, because each
// sort of a key, a value and a direction is its own kernels and seconds of compiling.
//
// Floats are read once more than CUB reads them, to find the first NaN before the sort moves it: the bits of the
// array over the bandwidth, 3 % of a sort of (float, id).
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <cstddef>
#include <type_traits>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "primitives/doors.hpp"
#include "primitives/keys.hpp"
#include "primitives/sort/radix_sort.hpp"

namespace quern::primitives {
namespace cuda {
namespace {

using quern::cuda::blocks_for;
using quern::cuda::launch_shape;

/// Sixteen bytes of keys: what a thread loads at once.
template <class Key>
struct alignas(16) key_vector {
    Key keys[16 / sizeof(Key)];
};

constexpr unsigned nan_threads = 256;
constexpr unsigned nan_vectors = 4;  // loads in flight in a thread

/// A block looks at nan_threads · nan_vectors vectors; block 0 also at the keys before the first aligned address and
/// behind the last whole vector (fewer than 16 bytes each). Nothing shared; bound by memory.
template <class Key>
__global__ void __launch_bounds__(nan_threads)
    find_nan_kernel(const Key* keys, std::uint64_t count, std::uint64_t head, std::uint64_t vectors,
                    std::uint64_t* fault_word) {
    constexpr unsigned per_vector = 16 / sizeof(Key);
    const auto look = [&](Key key, std::uint64_t position) {
        if (is_not_a_number(key)) quern::cuda::note_fault(fault_word, fault::key_not_a_number, position);
    };
    const auto* aligned = reinterpret_cast<const key_vector<Key>*>(keys + head);
    const std::uint64_t first = std::uint64_t{blockIdx.x} * nan_threads * nan_vectors + threadIdx.x;
    key_vector<Key> loaded[nan_vectors];
#pragma unroll
    for (unsigned v = 0; v < nan_vectors; ++v) {
        const std::uint64_t at = first + v * nan_threads;
        loaded[v] = at < vectors ? aligned[at] : key_vector<Key>{};
    }
    bool any = false;
#pragma unroll
    for (unsigned v = 0; v < nan_vectors; ++v)
        for (const Key key : loaded[v].keys) any |= is_not_a_number(key);
    if (any) {
#pragma unroll
        for (unsigned v = 0; v < nan_vectors; ++v)
            for (unsigned k = 0; k < per_vector; ++k)
                look(loaded[v].keys[k], head + (first + v * nan_threads) * per_vector + k);
    }
    if (blockIdx.x != 0) return;
    const std::uint64_t behind = head + vectors * per_vector;
    if (threadIdx.x < head) look(keys[threadIdx.x], threadIdx.x);
    if (behind + threadIdx.x < count) look(keys[behind + threadIdx.x], behind + threadIdx.x);
}

/// CUB's call for one direction; with temp == nullptr it only tells how many bytes it needs.
template <class Key, class Value>
cudaError_t call_cub(void* temp, std::size_t& bytes, cub::DoubleBuffer<Key>& keys,
                     cub::DoubleBuffer<Value>& values, std::uint64_t count, int end_bit, order direction,
                     cudaStream_t stream) {
    using sort = cub::DeviceRadixSort;
    const bool rising = direction == order::ascending;
    if constexpr (std::is_same_v<Value, no_value>) {
        return rising ? sort::SortKeys(temp, bytes, keys, count, 0, end_bit, stream)
                      : sort::SortKeysDescending(temp, bytes, keys, count, 0, end_bit, stream);
    } else {
        return rising ? sort::SortPairs(temp, bytes, keys, values, count, 0, end_bit, stream)
                      : sort::SortPairsDescending(temp, bytes, keys, values, count, 0, end_bit, stream);
    }
}

constexpr std::size_t rounded_up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// The spares in one allocation: each takes a microsecond, which shows when a million keys are sorted.
template <class Key, class Value>
void sort_with_spares(cuda_place& place, Key* keys, Value* values, std::uint64_t count,
                      sort_options options) {
    constexpr bool paired = !std::is_same_v<Value, no_value>;
    const std::size_t key_bytes = rounded_up(count * sizeof(Key));
    const std::size_t value_bytes = paired ? count * sizeof(Value) : 0;
    const cuda_array<std::byte> spare(place, key_bytes + value_bytes, "a copy of what is sorted");
    auto* spare_values = paired ? reinterpret_cast<Value*>(spare.data() + key_bytes) : nullptr;
    radix_sort(place, keys, reinterpret_cast<Key*>(spare.data()), values, spare_values, count, options);
}

}  // namespace

template <sortable_key Key, class Value>
void radix_sort(cuda_place& place, Key* keys, Key* spare_keys, Value* values, Value* spare_values,
                std::uint64_t count, sort_options options) {
    const auto end_bit = static_cast<int>(bits_to_sort<Key>(options));
    if (count < 2 || end_bit == 0) return;
    cub::DoubleBuffer<Key> key_buffers(keys, spare_keys);
    cub::DoubleBuffer<Value> value_buffers(values, spare_values);
    std::size_t bytes = 0;
    QUERN_CHECK(call_cub(nullptr, bytes, key_buffers, value_buffers, count, end_bit, options.direction,
                         place.stream()));
    const cuda_array<std::byte> temp(place, bytes, "counters of a sort");
    QUERN_CHECK(call_cub(temp.data(), bytes, key_buffers, value_buffers, count, end_bit, options.direction,
                         place.stream()));
    // An odd number of passes ends in the spares.
    if (key_buffers.Current() == keys) return;
    place.copy_within(keys, spare_keys, count * sizeof(Key));
    if constexpr (!std::is_same_v<Value, no_value>)
        place.copy_within(values, spare_values, count * sizeof(Value));
}

template <sortable_key Key>
void refuse_nan(cuda_place& place, device_span<const Key> keys) {
    if constexpr (floating_value<Key>) {
        if (keys.empty()) return;
        const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(keys.data()) % 16 / sizeof(Key);
        constexpr std::size_t per_vector = 16 / sizeof(Key);
        const std::size_t head = std::min((per_vector - misaligned) % per_vector, keys.size());
        const std::size_t vectors = (keys.size() - head) / per_vector;
        const unsigned blocks = std::max(1u, blocks_for(vectors, nan_threads * nan_vectors));
        QUERN_LAUNCH(place, (launch_shape{blocks, nan_threads}), find_nan_kernel<Key>, keys.data(),
                     keys.size(), head, vectors, place.fault_word());
    }
}

}  // namespace cuda

template <sortable_key Key>
void sort_keys(cuda_place& place, device_span<Key> keys, sort_options options) {
    cuda::refuse_nan<Key>(place, keys);
    if (keys.size() < 2) return;
    cuda::sort_with_spares<Key, cuda::no_value>(place, keys.data(), nullptr, keys.size(), options);
}

template <sortable_key Key, payload Value>
void sort_pairs(cuda_place& place, device_span<Key> keys, device_span<Value> values, sort_options options) {
    check_same_size("sort_pairs", "values", values.size(), "keys", keys.size());
    cuda::refuse_nan<Key>(place, keys);
    if (keys.size() < 2) return;
    cuda::sort_with_spares(place, keys.data(), values.data(), keys.size(), options);
}

}  // namespace quern::primitives

/// Everything above for one type of key.
#define QUERN_SORT_OF(KEY)                                                                                \
    namespace quern::primitives {                                                                         \
    template void sort_keys(cuda_place&, device_span<KEY>, sort_options);                                 \
    template void sort_pairs(cuda_place&, device_span<KEY>, device_span<std::uint32_t>, sort_options);    \
    template void sort_pairs(cuda_place&, device_span<KEY>, device_span<std::uint64_t>, sort_options);    \
    namespace cuda {                                                                                      \
    template void refuse_nan(cuda_place&, device_span<const KEY>);                                        \
    template void radix_sort(cuda_place&, KEY*, KEY*, no_value*, no_value*, std::uint64_t, sort_options); \
    template void radix_sort(cuda_place&, KEY*, KEY*, std::uint32_t*, std::uint32_t*, std::uint64_t,      \
                             sort_options);                                                               \
    template void radix_sort(cuda_place&, KEY*, KEY*, std::uint64_t*, std::uint64_t*, std::uint64_t,      \
                             sort_options);                                                               \
    }                                                                                                     \
    }
