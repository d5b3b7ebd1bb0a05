// SPDX-License-Identifier: Apache-2.0
// How the buckets of a radix sort are drawn: from a sample, so that they weigh about the same whatever the keys are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/sort/radix_kernels.hpp"

namespace quern::primitives::radix {

/// About `wanted` buckets for keys of which the sorted `sample` (not empty) shows the places. Where it shows two
/// places that differ, no bucket takes the whole sample.
template <class Bits>
void draw_buckets(std::span<const Bits> sample, std::size_t wanted, bucket_map<Bits>& map);

}  // namespace quern::primitives::radix
