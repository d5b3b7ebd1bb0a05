// SPDX-License-Identifier: Apache-2.0
// The pass over the keys that finds those that may be among the best.
#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/types.hpp"

namespace quern::primitives::top_k_detail {

/// Writes the positions (ascending, from 0) of the keys that, turned by exclusive-or with `flip`, do not exceed `limit`
/// (with `strict`: are below it) to `positions`, which must hold `size`; includes NaNs. Returns their number.
template <sortable_key Key>
std::size_t collect_positions(const Key* keys, std::size_t size, std::uint64_t flip, Key limit, bool strict,
                              std::uint32_t* positions);

}  // namespace quern::primitives::top_k_detail
