// SPDX-License-Identifier: Apache-2.0
// The node pass of PageRank in floating point on a GPU: bound by memory.
#include "device/cuda/check.cuh"
#include "ops/link_rank/papers/vector_steps.hpp"

namespace quern::link_rank_detail {
namespace {

constexpr unsigned block_threads = 256;

__device__ double rounded_product(double a, double b) {
    return __dmul_rn(a, b);
}
__device__ float rounded_product(float a, float b) {
    return __fmul_rn(a, b);
}
__device__ double rounded_sum(double a, double b) {
    return __dadd_rn(a, b);
}
__device__ float rounded_sum(float a, float b) {
    return __fadd_rn(a, b);
}

/// One thread per node. `preference` may be null. No contraction: the bits equal the CPU's.
template <class Value>
__global__ void take_rank_step_kernel(Value follow, Value each, Value prefer, std::size_t nodes,
                                      const Value* products, const Value* preference,
                                      const std::uint8_t* dangling, Value* ranks, Value* changes,
                                      Value* dangling_mass) {
    const std::size_t v = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    Value next = rounded_sum(rounded_product(follow, products[v]), each);
    if (preference != nullptr) next = rounded_sum(next, rounded_product(prefer, preference[v]));
    changes[v] = fabs(rounded_sum(next, -ranks[v]));
    dangling_mass[v] = dangling[v] != 0 ? next : Value{0};
    ranks[v] = next;
}

template <class Value>
void take_step(cuda_place& place, const rank_step& step, device_span<const Value> products,
               device_span<const Value> preference, device_span<const std::uint8_t> dangling,
               device_span<Value> ranks, device_span<Value> changes, device_span<Value> dangling_mass) {
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(ranks.size(), block_threads), block_threads}),
                 take_rank_step_kernel<Value>, static_cast<Value>(step.follow), static_cast<Value>(step.each),
                 static_cast<Value>(step.prefer), ranks.size(), products.data(),
                 preference.empty() ? nullptr : preference.data(), dangling.data(), ranks.data(),
                 changes.data(), dangling_mass.data());
}

}  // namespace

void take_rank_step(cuda_place& place, const rank_step& step, device_span<const double> products,
                    device_span<const double> preference, device_span<const std::uint8_t> dangling,
                    device_span<double> ranks, device_span<double> changes,
                    device_span<double> dangling_mass) {
    take_step(place, step, products, preference, dangling, ranks, changes, dangling_mass);
}
void take_rank_step(cuda_place& place, const rank_step& step, device_span<const float> products,
                    device_span<const float> preference, device_span<const std::uint8_t> dangling,
                    device_span<float> ranks, device_span<float> changes, device_span<float> dangling_mass) {
    take_step(place, step, products, preference, dangling, ranks, changes, dangling_mass);
}

}  // namespace quern::link_rank_detail
