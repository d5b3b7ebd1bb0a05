// SPDX-License-Identifier: Apache-2.0
// The pass over the keys: which of them might be among the best.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/types.hpp"

namespace quern::primitives::top_k_detail {

/// Writes the positions (rising, from 0) of the keys that, turned by exclusive-or with `flip`, do not exceed `limit`
/// to `positions`, which has room for `size`; NaNs are among them. `strict`: nor equal it. Returns how many.
template <sortable_key Key>
std::size_t collect_positions(const Key* keys, std::size_t size, std::uint64_t flip, Key limit, bool strict,
                              std::uint32_t* positions);

}  // namespace quern::primitives::top_k_detail
