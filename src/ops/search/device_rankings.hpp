// SPDX-License-Identifier: Apache-2.0
// What came from a device, as rankings: by the threads of the run, for a thousand rankings of a thousand take one of them
// as long as the device took.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// Of documents without a word of the query.
inline constexpr std::int64_t no_score = std::numeric_limits<std::int64_t>::min();

/// Rows of `row` places, best first, behind the last hit no_score; ids from `first` on. Row i is appended to *rankings[i],
/// and left out where that is null.
void append_rankings(std::span<const std::int64_t> scores, std::span<const std::uint32_t> ids,
                     std::size_t row, std::uint64_t first,
                     std::span<std::vector<scored_document>* const> rankings, const context& run);

}  // namespace quern::search_detail
