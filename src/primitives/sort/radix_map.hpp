// SPDX-License-Identifier: Apache-2.0
// Chooses the buckets of a radix sort from a sample, so that they have about equal weight for any keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/sort/radix_kernels.hpp"

namespace quern::primitives::radix {

/// About `wanted` buckets for keys whose places the sorted `sample` (not empty) represents. If it has two different places,
/// no bucket takes the whole sample.
template <class Bits>
void draw_buckets(std::span<const Bits> sample, std::size_t wanted, bucket_map<Bits>& map);

}  // namespace quern::primitives::radix
