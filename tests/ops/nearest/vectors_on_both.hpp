// SPDX-License-Identifier: Apache-2.0
// The same vectors on the CPU and on a GPU, for tests that compare the two.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../on_each_place.hpp"
#include "ops/nearest/index/tile.hpp"
#include "vector_samples.hpp"

namespace quern {

/// work(cuda_place, cpu_place); skips where there is no GPU, and is not compiled where there is no CUDA.
template <class Work>
void with_the_cpu(Work&& work) {
    if constexpr (has_cuda) {
        std::string why_none;
        auto* const gpu = shared_place<cuda_place>(why_none);
        if (gpu == nullptr && tested_with().cuda_required) FAIL() << why_none;
        if (gpu == nullptr) GTEST_SKIP() << why_none;
        cpu_place cpu(context::cpu(2));
        work(*gpu, cpu);
    } else {
        GTEST_SKIP() << "this program was built without CUDA";
    }
}

/// Vectors in the memory of both places, with their sums of squares by the CPU.
template <class Gpu>
struct vectors_on_both {
    vectors_on_both(Gpu& gpu, cpu_place& cpu, sample_vectors vectors)
        : host(std::move(vectors)),
          squares(host.rows),
          device_bytes(gpu, bytes_of(host)),
          on_cpu(tile<cpu_place>(host, host.view().values, {})) {
        stats = stats_of(cpu, on_cpu, squares);
        device_squares = array_from(gpu, std::span<const double>(squares));
        on_cpu.squares = squares;
        on_gpu = tile<Gpu>(host, device_bytes.span(), device_squares.span());
    }
    vectors_on_both(const vectors_on_both&) = delete;  // tiles point into it

    static std::vector<std::byte> bytes_of(const sample_vectors& vectors) {
        const auto bytes = vectors.view().values;
        return {bytes.begin(), bytes.end()};
    }
    template <class Place>
    static nearest_detail::row_tile<Place> tile(const sample_vectors& vectors,
                                                span_on<Place, const std::byte> values,
                                                span_on<Place, const double> squares) {
        return {.type = vectors.type,
                .rows = vectors.rows,
                .dimensions = vectors.dimensions,
                .stride = vectors.stride,
                .values = values,
                .squares = squares};
    }

    sample_vectors host;
    std::vector<double> squares;
    guarded_array<Gpu, std::byte> device_bytes;
    array_on<Gpu, double> device_squares;
    nearest_detail::row_tile<cpu_place> on_cpu;
    nearest_detail::row_tile<Gpu> on_gpu;
    nearest_detail::row_stats stats;
};

}  // namespace quern
