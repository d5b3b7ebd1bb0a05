// SPDX-License-Identifier: Apache-2.0
// The entry points of the link measures: check the parameters, convert them to units, compute at one place, and convert the
// results to doubles.
#include <limits>
#include <numeric>

#include "device/array.hpp"
#include "device/place.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/papers/storage.hpp"
#include "primitives/sort/sort.hpp"

namespace quern {
namespace link_rank_detail {
namespace {

constexpr double unit = 0x1p-62;

/// Nodes by descending rank, then ascending number.
template <class Place>
std::vector<std::uint32_t> order_of(Place& place, std::span<const double> ranks) {
    std::vector<std::uint32_t> nodes(ranks.size());
    std::iota(nodes.begin(), nodes.end(), 0u);
    const auto keys = array_from(place, ranks, "the ranks, sorted");
    const auto ids = array_from(place, std::span<const std::uint32_t>(nodes), "the nodes by rank");
    primitives::sort_pairs(place, keys.span(), ids.span(), {.direction = primitives::order::descending});
    return to_host(place, ids.span());
}

template <class Place>
link_ranks integer_ranks(Place& place, cpu_place& host, const link_graph_view& graph,
                         const page_rank_options& options) {
    const integer_problem problem(host, graph, options);
    const fixed_page_rank_result computed = fixed_page_rank(place, graph, problem.params());
    link_ranks found;
    found.ranks = from_units(computed.ranks);
    found.iterations = computed.iterations;
    found.change = static_cast<double>(computed.change) * unit;
    found.error_bound = problem.error_bound(computed);
    found.converged = computed.converged;
    return found;
}

}  // namespace
}  // namespace link_rank_detail

link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options, graph.nodes);
    any_place chosen = open_place(ctx, "PageRank");
    link_ranks found = chosen.run([&](auto& place, cpu_place& host) {
        check(host, graph);
        link_ranks ranks;
        ranks.converged = true;
        if (graph.nodes == 0) return ranks;
        ranks = options.storage == rank_storage::automatic ? integer_ranks(place, host, graph, options)
                                                           : stored_page_rank(place, host, graph, options);
        ranks.order = order_of(place, std::span<const double>(ranks.ranks));
        return ranks;
    });
    found.place = chosen.where();
    return found;
}

hits_scores hits(const link_graph_view& graph, const hits_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options);
    any_place chosen = open_place(ctx, "HITS");
    hits_scores found = chosen.run([&](auto& place, cpu_place& host) {
        check(host, graph);
        const integer_hits_problem problem(host, graph, options);
        const fixed_hits_result computed = fixed_hits(place, graph, problem.back(), problem.params());
        const auto to_ranks = [&](std::span<const std::int64_t> scores, std::uint64_t change) {
            link_ranks ranks;
            ranks.ranks = from_units(scores);
            ranks.order = order_of(place, std::span<const double>(ranks.ranks));
            ranks.iterations = computed.iterations;
            ranks.change = static_cast<double>(change) * unit;
            ranks.error_bound = std::numeric_limits<double>::quiet_NaN();
            ranks.converged = computed.converged;
            return ranks;
        };
        return hits_scores{to_ranks(computed.authorities, computed.authority_change),
                           to_ranks(computed.hubs, computed.hub_change)};
    });
    found.authorities.place = found.hubs.place = chosen.where();
    return found;
}

}  // namespace quern
