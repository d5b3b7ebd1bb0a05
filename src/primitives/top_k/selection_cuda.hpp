// SPDX-License-Identifier: Apache-2.0
// The selection that both doors of the GPU share.
#pragma once

#include <cstdint>

#include "device/cuda/place.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::primitives::top_k_detail {

/// The k best (at least one) of the n keys, by key and id; `ids` null: positions. Nothing is checked but
/// NaN, whose position is counted from `first_position`.
template <class Key>
void select_best(cuda_place& place, const Key* keys, const std::uint32_t* ids, std::uint64_t n,
                 std::uint64_t k, Key* best_keys, std::uint32_t* best_ids, best which,
                 std::uint64_t first_position = 0);

}  // namespace quern::primitives::top_k_detail
