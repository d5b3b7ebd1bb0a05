// SPDX-License-Identifier: Apache-2.0
#include "ops/link_rank/node_values.cuh"

#include "device/cuda/check.cuh"

namespace quern::link_rank_detail {
namespace {

constexpr unsigned block_threads = 256;

/// One thread per node.
template <class T>
__global__ void to_slots_kernel(const T* values, std::uint32_t nodes, const std::uint32_t* slot_of,
                                T* array) {
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < nodes) array[slot_of[v]] = values[v];
}
__global__ void to_nodes_kernel(const std::int64_t* array, std::uint32_t nodes, const std::uint32_t* slot_of,
                                std::int64_t* values) {
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < nodes) values[v] = array[slot_of[v]];
}

cuda::launch_shape thread_each(std::uint32_t nodes) {
    return {cuda::blocks_for(nodes, block_threads), block_threads};
}

}  // namespace

template <class T>
void to_slots(cuda_place& place, const node_slots& slots, std::span<const T> values,
              const cuda_array<T>& array, const cuda_array<std::uint64_t>& spare) {
    if (slots.slot_of == nullptr) {
        place.copy_in(array.data(), values.data(), values.size_bytes());
        return;
    }
    T* const by_node = reinterpret_cast<T*>(spare.data());
    place.copy_in(by_node, values.data(), values.size_bytes());
    QUERN_LAUNCH(place, thread_each(slots.nodes), to_slots_kernel<T>, by_node, slots.nodes, slots.slot_of,
                 array.data());
}
template void to_slots<std::int64_t>(cuda_place&, const node_slots&, std::span<const std::int64_t>,
                                     const cuda_array<std::int64_t>&, const cuda_array<std::uint64_t>&);
template void to_slots<std::uint64_t>(cuda_place&, const node_slots&, std::span<const std::uint64_t>,
                                      const cuda_array<std::uint64_t>&, const cuda_array<std::uint64_t>&);

std::vector<std::int64_t> values_of_nodes(cuda_place& place, const node_slots& slots,
                                          const cuda_array<std::int64_t>& array,
                                          const cuda_array<std::uint64_t>& spare) {
    if (slots.slot_of == nullptr) return to_host(place, array.span().first(slots.nodes));
    auto* const by_node = reinterpret_cast<std::int64_t*>(spare.data());
    QUERN_LAUNCH(place, thread_each(slots.nodes), to_nodes_kernel, array.data(), slots.nodes, slots.slot_of,
                 by_node);
    return to_host(place, device_span<std::int64_t>(by_node, slots.nodes));
}

}  // namespace quern::link_rank_detail
