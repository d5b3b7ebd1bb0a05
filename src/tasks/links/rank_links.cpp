// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/grouped.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/link_rank.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/links/rank_output.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"

namespace quern {
namespace {

void note_ranks(const link_ranks& ranks, link_rank_result& result) {
    result.iterations = ranks.iterations;
    result.change = ranks.change;
    result.error_bound = ranks.error_bound;
    result.converged = ranks.converged;
}

}  // namespace

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

ranked_input read_ranked_input(const link_rank_options& options, link_rank_result& result,
                               const context& ctx) {
    ranked_input read;
    read.nodes =
        read_input_graph(options.graph, options.input_format, options.weighted, ctx, result.statistics);
    note_graph(read.nodes.graph, result);
    read.rank = options.rank;
    if (!options.preference.empty()) {
        read.preference = read_node_numbers(
            options.preference, read.nodes,
            [&](std::string_view id, std::uint64_t line) {
                throw invalid_input(options.preference.string(), line,
                                    "'" + std::string(id) + "' is not a node of the graph" +
                                        (id.find_first_of(" ,;") == std::string_view::npos
                                             ? ""
                                             : " (expected an id, or an id, a tab and a number)"));
            },
            ctx);
        read.rank.preference = read.preference;
    }
    if (!options.start.empty()) {
        read.start = read_node_numbers(
            options.start, read.nodes, [&](std::string_view, std::uint64_t) { ++result.unknown_starts; },
            ctx);
        read.rank.start = read.start;
    }
    return read;
}

link_rank_result rank_links(const link_rank_options& options, const context& requested,
                            const std::function<void(const ranked_node&)>& sink) {
    link_rank_result result;
    const context ctx =
        pinned_to_device(requested, "pagerank", result.statistics, offered_places::several_gpus);
    const ranked_input read = read_ranked_input(options, result, ctx);
    const input_graph& nodes = read.nodes;

    ctx.report({"rank", 0, 0, "iterations"});
    stage_clock clock(result.statistics);
    const std::uint64_t held = read.bytes_held();
    const context remaining = with_remaining_memory(ctx, held, "the links of a graph");
    link_ranks ranks;
    std::vector<double> hubs;
    try {
        if (options.method == rank_method::hits) {
            hits_scores scores =
                hits(nodes.graph.view(), {read.rank.tolerance, read.rank.max_iterations}, remaining);
            ranks = std::move(scores.authorities);
            hubs = std::move(scores.hubs.ranks);
        } else {
            ranks = page_rank(nodes.graph.view(), read.rank, remaining);
        }
    } catch (const out_of_memory&) {
        if (ctx.device.where == device_choice::kind::cuda) throw;  // perhaps of the GPU's memory
        constexpr std::uint64_t bytes_a_node = 100;
        throw out_of_memory(fmt::format("{}: ranking a graph of {} links and {} nodes",
                                        options.graph.string(), grouped(result.links), grouped(result.nodes)),
                            std::max(held + bytes_a_node * result.nodes, ctx.memory_limit() + 1),
                            ctx.memory_limit());
    }
    note_ranks(ranks, result);
    clock.end_stage("rank", 0);
    std::uint64_t written = 0;
    for (const std::uint32_t node : ranks.order) {
        if (written++ % 65536 == 0) {
            ctx.check_stop();
            ctx.report({"write", written - 1, ranks.order.size(), "nodes"});
        }
        const std::string name = nodes.name_of(node);
        sink({name, ranks.ranks[node], hubs.empty() ? 0 : hubs[node]});
    }
    clock.end_stage("write", 0);
    note_statistics(result);
    return result;
}

}  // namespace quern
