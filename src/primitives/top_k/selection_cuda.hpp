// SPDX-License-Identifier: Apache-2.0
// The selection shared by both entry points of the GPU.
#pragma once

#include <cstdint>

#include "device/cuda/cuda_place.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::primitives::top_k_detail {

/// The k best (at least one) of the n keys, by key and id; `ids` null: positions. Only checks for NaN, whose position is
/// relative to `first_position`.
template <class Key>
void select_best(cuda_place& place, const Key* keys, const std::uint32_t* ids, std::uint64_t n,
                 std::uint64_t k, Key* best_keys, std::uint32_t* best_ids, best which,
                 std::uint64_t first_position = 0);

}  // namespace quern::primitives::top_k_detail
