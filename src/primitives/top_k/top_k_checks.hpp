// SPDX-License-Identifier: Apache-2.0
// The checks of top-k's entry points (usage_error), with the same messages on every place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::primitives::top_k_detail {

/// keys.size(), ids.size() or −1 if there are none, best_keys.size(), best_ids.size().
void check_top_k(std::size_t keys, std::int64_t ids, std::size_t best_keys, std::size_t best_ids);

/// Returns the number of rows; 0 also if there are no columns.
std::uint64_t check_batched_top_k(std::size_t keys, std::uint64_t columns, std::uint64_t k,
                                  std::size_t best_keys, std::size_t best_ids);

}  // namespace quern::primitives::top_k_detail
