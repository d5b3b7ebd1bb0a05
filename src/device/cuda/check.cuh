// SPDX-License-Identifier: Apache-2.0
// For .cu files: checks every CUDA call, launches on the place's stream, records every fault.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "device/cuda/cuda_place.hpp"
#include "device/fault.hpp"

namespace quern::cuda {

/// Throws device_error "CALL failed: TEXT (FILE:LINE)" for anything but success, and clears the error that CUDA keeps
/// for the next caller. (Allocate a place's memory with cuda_place::allocate, which throws out_of_memory.)
void check(cudaError_t error, const char* call, const char* file, int line);

/// Grid, block, bytes of dynamic shared memory; whether all blocks must be resident at once, because they wait for each
/// other; whether they may start before the preceding kernel ends, if it and the device allow that, and wait for it where
/// needed; the blocks of a cluster, for Hopper's kernels, or 0.
struct launch_shape {
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    bool cooperative = false;
    bool early = false;
    unsigned cluster = 0;
};

/// Blocks that cover `items`, with `per_block` each. More than a grid can have make the launch fail; they never wrap
/// into a grid that covers less.
constexpr unsigned blocks_for(std::size_t items, std::size_t per_block) {
    const std::size_t blocks = items / per_block + (items % per_block != 0 ? 1 : 0);
    return static_cast<unsigned>(blocks < 0xffffffffu ? blocks : 0xffffffffu);
}

/// Enqueues a kernel on the place's stream. Does nothing for a grid without blocks.
template <class... Parameters, class... Arguments>
cudaError_t launch(cuda_place& place, launch_shape shape, void (*kernel)(Parameters...),
                   Arguments&&... arguments) {
    if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return cudaSuccess;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = place.stream();
    cudaLaunchAttribute attributes[3]{};
    config.attrs = attributes;
    if (shape.cooperative) {
        attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
        attributes[config.numAttrs++].val.cooperative = 1;
    }
    if (shape.cluster != 0) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs++].val.clusterDim = {shape.cluster, 1, 1};
    }
    if (shape.early && place.abilities().starts_early()) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

/// The dynamic shared memory that a block of the kernel may have on the place's device.
template <class... Parameters>
std::size_t shared_room(cuda_place& place, void (*kernel)(Parameters...)) {
    place.make_current();
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes", __FILE__, __LINE__);
    return place.abilities().dynamic_shared(attributes.sharedSizeBytes);
}

/// Records a fault where the place will find it. Any thread may call it any number of times.
__device__ inline void note_fault(std::uint64_t* fault_word, fault kind, std::uint64_t position) {
    atomicMin(reinterpret_cast<unsigned long long*>(fault_word),
              static_cast<unsigned long long>(packed_fault(kind, position)));
}

}  // namespace quern::cuda

#define QUERN_CHECK(call) ::quern::cuda::check((call), #call, __FILE__, __LINE__)
/// QUERN_LAUNCH(place, (launch_shape{grid, block}), kernel, arguments…); a kernel with commas goes in parentheses.
#define QUERN_LAUNCH(place, shape, kernel, ...)                                                  \
    ::quern::cuda::check(::quern::cuda::launch(place, shape, kernel __VA_OPT__(, ) __VA_ARGS__), \
                         "launch of " #kernel, __FILE__, __LINE__)
