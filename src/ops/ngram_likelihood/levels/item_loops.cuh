// SPDX-License-Identifier: Apache-2.0
// item_loops.hpp's loop on CUDA: one thread per item. Does not synchronise.
#pragma once

#include "device/cuda/check.cuh"

namespace quern::ngram_detail {

template <class Step>
__global__ void item_kernel(std::uint64_t items, Step step) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < items) step(i);
}

template <class Step>
void for_each_item(cuda_place& place, std::uint64_t items, const Step& step) {
    constexpr unsigned threads = 256;
    place.ctx().check_stop();
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(items, threads), threads}), item_kernel<Step>,
                 items, step);
}

}  // namespace quern::ngram_detail
