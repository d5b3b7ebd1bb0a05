// SPDX-License-Identifier: Apache-2.0
// Makes the graph of links that are already sorted, as in a store.
#pragma once

#include <cstdint>
#include <span>

#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// Gives the same graph as make_link_graph for the same links, without memory besides the graph. The links of node v go to
/// targets[i] with ends[v − 1] <= i < ends[v]. `ends`, one per node, must ascend up to the number of links; targets must be
/// nodes. Throws out_of_memory, interrupted. Cost: each thread reads all links twice and keeps those into its own nodes.
link_graph graph_of_sorted_links(std::span<const std::uint64_t> ends, std::span<const std::uint32_t> targets,
                                 const context& ctx);

}  // namespace quern::link_rank_detail
