// SPDX-License-Identifier: Apache-2.0
// The entry points of the link measures: check the parameters, convert them to units, compute at one place, and convert the
// results to doubles.
#include <limits>
#include <numeric>
#include <type_traits>

#include "device/array.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/papers/storage.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/choose_device.hpp"

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

/// Calls work(place, host) at the chosen place, with the CPU as host; sets `found.place` of the result.
template <class Work>
auto at_chosen_place(const context& ctx, std::string_view operation, std::string& where, const Work& work) {
    const chosen_device chosen = choose_device(ctx, operation);
    where = chosen.name + " (" + chosen.reason + ")";
    context chosen_ctx = ctx;  // resolved once: a second choice would log twice
    chosen_ctx.device = {chosen.cuda ? device_choice::kind::cuda : device_choice::kind::cpu, chosen.ordinal};
    return at_place(chosen_ctx, operation, [&](auto& place) {
        if constexpr (std::is_same_v<decltype(place), cpu_place&>) {
            return work(place, place);
        } else {
            cpu_place host(chosen_ctx);
            return work(place, host);
        }
    });
}

}  // namespace
}  // namespace link_rank_detail

link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options, graph.nodes);
    std::string where;
    link_ranks found = at_chosen_place(ctx, "PageRank", where, [&](auto& place, cpu_place& host) {
        check(host, graph);
        link_ranks ranks;
        ranks.converged = true;
        if (graph.nodes == 0) return ranks;
        ranks = options.storage == rank_storage::automatic ? integer_ranks(place, host, graph, options)
                                                           : stored_page_rank(place, host, graph, options);
        ranks.order = order_of(place, std::span<const double>(ranks.ranks));
        return ranks;
    });
    found.place = where;
    return found;
}

hits_scores hits(const link_graph_view& graph, const hits_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options);
    std::string where;
    hits_scores found = at_chosen_place(ctx, "HITS", where, [&](auto& place, cpu_place& host) {
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
    found.authorities.place = found.hubs.place = where;
    return found;
}

}  // namespace quern
