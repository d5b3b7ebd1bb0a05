// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "device/cuda/abilities.hpp"
#include "device/cuda/check.cuh"

namespace quern::cuda {
namespace {

/// Never launched: CUDA tells which of its copies the device would run.
__global__ void example_kernel() {}

}  // namespace

abilities abilities_of(int ordinal) {
    int shared_bytes = 0, current = 0;
    QUERN_CHECK(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
    QUERN_CHECK(cudaGetDevice(&current));
    if (current != ordinal) QUERN_CHECK(cudaSetDevice(ordinal));
    cudaFuncAttributes code{};
    QUERN_CHECK(cudaFuncGetAttributes(&code, example_kernel));
    if (current != ordinal) QUERN_CHECK(cudaSetDevice(current));
    return limited_abilities(static_cast<unsigned>(code.ptxVersion), static_cast<std::size_t>(shared_bytes),
                             std::getenv("QUERN_CUDA_ARCHITECTURE"));
}

}  // namespace quern::cuda
