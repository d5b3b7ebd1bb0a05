// SPDX-License-Identifier: Apache-2.0
// The node pass of PageRank in doubles on a GPU: bound by memory.
#include "device/cuda/check.cuh"
#include "ops/link_rank/papers/vector_steps.hpp"

namespace quern::link_rank_detail {
namespace {

constexpr unsigned block_threads = 256;

/// One thread per node. `preference` may be null. No contraction: the bits equal the CPU's.
__global__ void take_rank_step_kernel(rank_step step, std::size_t nodes, const double* products,
                                      const double* preference, const std::uint8_t* dangling, double* ranks,
                                      double* changes, double* dangling_mass) {
    const std::size_t v = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    double next = __dadd_rn(__dmul_rn(step.follow, products[v]), step.each);
    if (preference != nullptr) next = __dadd_rn(next, __dmul_rn(step.prefer, preference[v]));
    changes[v] = fabs(__dsub_rn(next, ranks[v]));
    dangling_mass[v] = dangling[v] != 0 ? next : 0.0;
    ranks[v] = next;
}

}  // namespace

void take_rank_step(cuda_place& place, const rank_step& step, device_span<const double> products,
                    device_span<const double> preference, device_span<const std::uint8_t> dangling,
                    device_span<double> ranks, device_span<double> changes,
                    device_span<double> dangling_mass) {
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(ranks.size(), block_threads), block_threads}),
                 take_rank_step_kernel, step, ranks.size(), products.data(),
                 preference.empty() ? nullptr : preference.data(), dangling.data(), ranks.data(),
                 changes.data(), dangling_mass.data());
}

}  // namespace quern::link_rank_detail
