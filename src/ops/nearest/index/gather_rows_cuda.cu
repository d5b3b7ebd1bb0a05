// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.cuh"
#include "ops/nearest/index/row_source.hpp"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;

/// A thread copies one unit (four bytes, or one) of one row; neighbours copy neighbours. Any grid that covers rows · units;
/// no shared memory.
template <class Unit>
__global__ void gather_rows_kernel(const Unit* from, std::uint64_t units, const std::uint32_t* rows,
                                   std::uint64_t count, std::uint64_t stride, Unit* to) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count * units) return;
    const std::uint64_t row = i / units, unit = i % units;
    to[row * stride + unit] = from[rows[row] * units + unit];
}

template <class Unit>
void gather(cuda_place& place, device_span<const std::byte> from, std::uint64_t row_bytes,
            device_span<const std::uint32_t> rows, std::uint64_t stride, device_span<std::byte> to) {
    const std::uint64_t units = row_bytes / sizeof(Unit);
    QUERN_LAUNCH(place,
                 (cuda::launch_shape{cuda::blocks_for(rows.size() * units, block_threads), block_threads}),
                 gather_rows_kernel<Unit>, reinterpret_cast<const Unit*>(from.data()), units, rows.data(),
                 rows.size(), stride / sizeof(Unit), reinterpret_cast<Unit*>(to.data()));
}

}  // namespace

void gather_rows(cuda_place& place, device_span<const std::byte> from, std::uint64_t row_bytes,
                 device_span<const std::uint32_t> rows, std::uint64_t stride, device_span<std::byte> to) {
    const bool in_words = (reinterpret_cast<std::uintptr_t>(from.data()) | row_bytes | stride) % 4 == 0;
    if (in_words)
        gather<std::uint32_t>(place, from, row_bytes, rows, stride, to);
    else
        gather<std::uint8_t>(place, from, row_bytes, rows, stride, to);
}

}  // namespace quern::nearest_detail
