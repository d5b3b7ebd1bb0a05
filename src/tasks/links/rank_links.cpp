// SPDX-License-Identifier: Apache-2.0
#include "quern/base/error.hpp"
#include "quern/tasks/link_rank.hpp"
#include "tasks/links/linked_nodes.hpp"
#include "tasks/memory_left.hpp"
#include "tasks/pinned_to_device.hpp"
#include "tasks/stage_clock.hpp"

namespace quern {
namespace {

void note_graph(const link_graph& graph, link_rank_result& result) {
    result.nodes = graph.nodes;
    result.links = graph.sources.size();
    for (const std::uint64_t degree : graph.out_degrees) result.dangling += degree == 0 ? 1 : 0;
    for (std::uint32_t node = 0; node < graph.nodes; ++node) {
        const auto begin = graph.sources.begin() + static_cast<std::ptrdiff_t>(graph.offsets[node]);
        const auto end = graph.sources.begin() + static_cast<std::ptrdiff_t>(graph.offsets[node + 1]);
        const auto [first, last] = std::equal_range(begin, end, node);
        result.self_loops += static_cast<std::uint64_t>(last - first);
    }
}

void note_ranks(const link_ranks& ranks, link_rank_result& result) {
    result.iterations = ranks.iterations;
    result.change = ranks.change;
    result.error_bound = ranks.error_bound;
    result.converged = ranks.converged;
}

void note_statistics(link_rank_result& result) {
    auto& counts = result.statistics.counts;
    counts["nodes"] = result.nodes;
    counts["links"] = result.links;
    counts["dangling"] = result.dangling;
    counts["self_loops"] = result.self_loops;
    counts["iterations"] = result.iterations;
    auto& measures = result.statistics.measures;
    measures["change"] = result.change;
    if (result.error_bound == result.error_bound) measures["error_bound"] = result.error_bound;  // not NaN
    result.statistics.outcome["converged"] = result.converged;
}

}  // namespace

link_rank_result rank_links(const link_rank_options& options, const context& asked,
                            const std::function<void(const ranked_node&)>& take) {
    link_rank_result result;
    const context run = pinned_to_device(asked, "pagerank", result.statistics);
    const linked_nodes nodes =
        read_linked_nodes(options.graph, options.input_format, options.weighted, run, result.statistics);
    note_graph(nodes.graph, result);

    page_rank_options rank = options.rank;
    std::vector<double> preference, start;
    if (!options.preference.empty()) {
        preference = read_node_numbers(
            options.preference, nodes,
            [&](std::string_view id, std::uint64_t line) {
                throw invalid_input(options.preference.string(), line,
                                    "'" + std::string(id) + "' is no node of the graph");
            },
            run);
        rank.preference = preference;
    }
    if (!options.start.empty()) {
        start = read_node_numbers(
            options.start, nodes, [&](std::string_view, std::uint64_t) { ++result.unknown_starts; }, run);
        rank.start = start;
    }

    stage_clock clock(result.statistics);
    const std::uint64_t held = nodes.bytes_held + (preference.size() + start.size()) * sizeof(double);
    const context beside = with_memory_left(run, held, "the links of a graph");
    link_ranks ranks;
    std::vector<double> hubs;
    if (options.method == rank_method::hits) {
        hits_scores scores = hits(nodes.graph.view(), {rank.tolerance, rank.max_iterations}, beside);
        ranks = std::move(scores.authorities);
        hubs = std::move(scores.hubs.ranks);
    } else {
        ranks = page_rank(nodes.graph.view(), rank, beside);
    }
    note_ranks(ranks, result);
    clock.end_stage("rank", 0);
    for (const std::uint32_t node : ranks.order) {
        const std::string name = nodes.name_of(node);
        take({name, ranks.ranks[node], hubs.empty() ? 0 : hubs[node]});
    }
    clock.end_stage("write", 0);
    note_statistics(result);
    return result;
}

}  // namespace quern
