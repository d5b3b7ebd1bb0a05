// SPDX-License-Identifier: Apache-2.0
// The integer iteration (fixed_page_rank.hpp) over blocks of nodes, on the CPU: in each step a block reads what all nodes send, and
// its own links, ranks and residuals. Sums of totals over the blocks and step_control lead to the next step, so the ranks have the
// bits of fixed_page_rank() for any blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/step_control.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// The nodes `first` … `first + links.nodes` of a graph.
struct rank_block {
    link_graph_view links;          ///< offsets from 0; sources are nodes of the whole graph
    fixed_page_rank_params params;  ///< the spans are those of the block
};

/// Block of the nodes from `first` to `end`; `offsets` keeps those of the block.
rank_block block_of(const link_graph_view& graph, const fixed_page_rank_params& params, std::uint32_t first,
                    std::uint32_t end, std::vector<std::uint64_t>& offsets);

/// The bounds of `count` blocks of about equal work, from 0 to the number of nodes; blocks may be empty.
std::vector<std::uint32_t> block_bounds(const link_graph_view& graph, std::uint32_t count);

/// What nodes send along each of their links: one of the two, by the mode of the step.
struct sent_values {
    std::int32_t* narrow = nullptr;
    std::int64_t* wide = nullptr;
};

/// Takes for the first step, and sets ranks, residuals and `sent.wide` of the block.
pass_totals begin_block(cpu_place& place, const rank_block& block, const step_control& control,
                        std::int64_t* ranks, std::int64_t* residuals, const sent_values& sent);

/// The pass of a step: `all` of control.now, of all nodes; `sent` of control.next, of the block.
pass_totals step_block(cpu_place& place, const rank_block& block, const step_control& control,
                       const sent_values& all, std::int64_t* ranks, std::int64_t* residuals,
                       const sent_values& sent);

}  // namespace quern::link_rank_detail
