// SPDX-License-Identifier: Apache-2.0
// The input and the statistics that all ways to rank nodes share.
#pragma once

#include <cstdint>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/link_rank.hpp"
#include "tasks/links/input_graph.hpp"

namespace quern {

/// Nodes, links, nodes without links out and links to themselves.
void note_graph(const link_graph& graph, link_rank_result& result);
/// A graph with the files of numbers of its nodes.
struct ranked_input {
    input_graph nodes;
    std::vector<double> preference, start;
    page_rank_options rank;  ///< its spans point to these

    std::uint64_t bytes_held() const {
        return nodes.bytes_held + (preference.size() + start.size()) * sizeof(double);
    }
};
/// Notes the graph, and ids of the start that are not nodes. Throws as rank_links().
ranked_input read_ranked_input(const link_rank_options& options, link_rank_result& result,
                               const context& ctx);
/// The counts and the outcome of the statistics.
void note_statistics(link_rank_result& result);

}  // namespace quern
