// SPDX-License-Identifier: Apache-2.0
// Copies values of nodes to a GPU and back: by node on the host, by slot (sliced_ell.cuh) on the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/link_rank/sliced_ell.cuh"

namespace quern::link_rank_detail {

/// array[slot of v] = values[v]; other slots do not change. T: 64-bit integers. `spare` holds one value per node.
template <class T>
void to_slots(cuda_place& place, const node_slots& slots, std::span<const T> values,
              const cuda_array<T>& array, const cuda_array<std::uint64_t>& spare);

/// array[slot of v] for every node v. Synchronises.
std::vector<std::int64_t> values_of_nodes(cuda_place& place, const node_slots& slots,
                                          const cuda_array<std::int64_t>& array,
                                          const cuda_array<std::uint64_t>& spare);

}  // namespace quern::link_rank_detail
