// SPDX-License-Identifier: Apache-2.0
// The graph of links that are in order already, as a store has them.
#pragma once

#include <cstdint>
#include <span>

#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// What make_link_graph makes of the same links, in the memory of the graph alone. The links of node v go to targets[i] with
/// ends[v − 1] <= i < ends[v]; `ends`, one a node, are to rise up to the number of links, and targets to be nodes.
/// Throws out_of_memory, interrupted. Cost: each thread reads all links twice and keeps those into its own nodes.
link_graph graph_of_sorted_links(std::span<const std::uint64_t> ends, std::span<const std::uint32_t> targets,
                                 const context& run);

}  // namespace quern::link_rank_detail
