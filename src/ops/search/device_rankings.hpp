// SPDX-License-Identifier: Apache-2.0
// Converts results of a device to rankings, on the threads of the context: for a thousand rankings of a thousand hits, one
// thread takes as long as the device did.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// For documents without a word of the query.
inline constexpr std::int64_t no_score = std::numeric_limits<std::int64_t>::min();

/// Rows of `row` places, best first, no_score after the last hit; ids from `first` on. Appends row i to *rankings[i]; skips
/// it if that is null.
void append_rankings(std::span<const std::int64_t> scores, std::span<const std::uint32_t> ids,
                     std::size_t row, std::uint64_t first,
                     std::span<std::vector<scored_document>* const> rankings, const context& ctx);

}  // namespace quern::search_detail
