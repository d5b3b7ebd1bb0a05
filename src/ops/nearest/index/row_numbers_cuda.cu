// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.cuh"
#include "ops/nearest/index/row_numbers.hpp"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;

/// The shape of all kernels here: one thread per item, any grid that covers them; no shared memory.
cuda::launch_shape thread_each(std::size_t items) {
    return {dim3(cuda::blocks_for(items, block_threads)), dim3(block_threads)};
}
__device__ std::uint64_t item() {
    return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// A thread writes one id into every copy, so that neighbours write contiguously. rows null: the numbers themselves.
__global__ void number_rows_kernel(const std::uint32_t* rows, std::uint64_t n, std::uint64_t copies,
                                   std::uint32_t* ids) {
    const std::uint64_t i = item();
    if (i >= n) return;
    const std::uint32_t id = rows == nullptr ? static_cast<std::uint32_t>(i) : rows[i];
    for (std::uint64_t q = 0; q < copies; ++q) ids[q * n + i] = id;
}

__global__ void look_up_rows_kernel(const std::uint32_t* rows, std::uint32_t* ids, std::uint64_t count) {
    const std::uint64_t i = item();
    if (i < count) ids[i] = rows[ids[i]];
}

template <class Key>
__global__ void flag_within_kernel(const Key* keys, std::uint64_t count, Key limit, std::uint8_t* flags) {
    const std::uint64_t i = item();
    if (i < count) flags[i] = keys[i] <= limit ? 1 : 0;
}

template <class T>
__global__ void first_columns_kernel(const T* values, std::uint64_t columns, std::uint64_t k,
                                     std::uint64_t count, T* out) {
    const std::uint64_t i = item();
    if (i < count) out[i] = values[i / k * columns + i % k];
}

}  // namespace

void number_rows(cuda_place& place, device_span<const std::uint32_t> rows, std::uint64_t copies,
                 device_span<std::uint32_t> ids) {
    const std::uint64_t n = copies == 0 ? 0 : ids.size() / copies;
    QUERN_LAUNCH(place, thread_each(n), number_rows_kernel, rows.data(), n, copies, ids.data());
}

void look_up_rows(cuda_place& place, device_span<const std::uint32_t> rows, device_span<std::uint32_t> ids) {
    QUERN_LAUNCH(place, thread_each(ids.size()), look_up_rows_kernel, rows.data(), ids.data(), ids.size());
}

template <class Key>
void flag_within(cuda_place& place, device_span<const Key> keys, Key limit, device_span<std::uint8_t> flags) {
    QUERN_LAUNCH(place, thread_each(keys.size()), flag_within_kernel<Key>, keys.data(), keys.size(), limit,
                 flags.data());
}

template <class T>
void first_columns(cuda_place& place, device_span<const T> values, std::uint64_t columns, std::uint64_t k,
                   device_span<T> out) {
    QUERN_LAUNCH(place, thread_each(out.size()), first_columns_kernel<T>, values.data(), columns, k,
                 out.size(), out.data());
}

#define QUERN_ROW_NUMBERS(KEY)                                                                      \
    template void flag_within(cuda_place&, device_span<const KEY>, KEY, device_span<std::uint8_t>); \
    template void first_columns(cuda_place&, device_span<const KEY>, std::uint64_t, std::uint64_t,  \
                                device_span<KEY>);
QUERN_ROW_NUMBERS(std::uint32_t)
QUERN_ROW_NUMBERS(std::uint64_t)
#undef QUERN_ROW_NUMBERS

}  // namespace quern::nearest_detail
