// SPDX-License-Identifier: Apache-2.0
// A stable sort of positions by a comparison of the caller's, for .cu files: CUB's merge sort.
#pragma once

#include <cub/device/device_merge_sort.cuh>

#include "device/array.hpp"
#include "device/cuda/check.cuh"

namespace quern::primitives {

/// `before` is a device functor: a strict weak order. Takes about the values' memory in addition; does not synchronise.
template <class Before>
void merge_sort(cuda_place& place, device_span<std::uint32_t> values, const Before& before) {
    std::size_t bytes = 0;
    QUERN_CHECK(cub::DeviceMergeSort::StableSortKeys(nullptr, bytes, values.data(), values.size(), before,
                                                     place.stream()));
    const cuda_array<std::uint8_t> extra(place, bytes, "a merge sort");
    QUERN_CHECK(cub::DeviceMergeSort::StableSortKeys(extra.data(), bytes, values.data(), values.size(),
                                                     before, place.stream()));
}

}  // namespace quern::primitives
