// SPDX-License-Identifier: Apache-2.0
// The doors of the link measures: what is asked is checked and put in units, computed at one place, and told in doubles.
#include <limits>
#include <numeric>
#include <type_traits>

#include "device/array.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/questions.hpp"
#include "ops/link_rank/storage.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/choose_device.hpp"

namespace quern {
namespace link_rank_detail {
namespace {

constexpr double unit = 0x1p-62;

/// Nodes by falling rank, then rising number.
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
    const integer_question asked(host, graph, options);
    const fixed_answer answer = fixed_page_rank(place, graph, asked.question());
    link_ranks found;
    found.ranks = from_units(answer.ranks);
    found.iterations = answer.iterations;
    found.change = static_cast<double>(answer.change) * unit;
    found.error_bound = asked.error_bound(answer);
    found.converged = answer.converged;
    return found;
}

/// work(place, host) at the place that is chosen, with the CPU beside it; `found.place` of the result is set.
template <class Work>
auto at_chosen_place(const context& run, std::string_view operation, std::string& where, const Work& work) {
    const chosen_device chosen = choose_device(run, operation);
    where = chosen.name + " (" + chosen.reason + ")";
    context there = run;  // settled once: asking twice would log twice
    there.device = {chosen.cuda ? device_choice::kind::cuda : device_choice::kind::cpu, chosen.ordinal};
    return at_place(there, operation, [&](auto& place) {
        if constexpr (std::is_same_v<decltype(place), cpu_place&>) {
            return work(place, place);
        } else {
            cpu_place host(there);
            return work(place, host);
        }
    });
}

}  // namespace
}  // namespace link_rank_detail

link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& run) {
    using namespace link_rank_detail;
    check(options, graph.nodes);
    std::string where;
    link_ranks found = at_chosen_place(run, "PageRank", where, [&](auto& place, cpu_place& host) {
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

hits_scores hits(const link_graph_view& graph, const hits_options& options, const context& run) {
    using namespace link_rank_detail;
    check(options);
    std::string where;
    hits_scores found = at_chosen_place(run, "HITS", where, [&](auto& place, cpu_place& host) {
        check(host, graph);
        const integer_hits_question asked(host, graph, options);
        const fixed_hits_answer answer = fixed_hits(place, graph, asked.back(), asked.question());
        const auto told = [&](std::span<const std::int64_t> scores, std::uint64_t change) {
            link_ranks ranks;
            ranks.ranks = from_units(scores);
            ranks.order = order_of(place, std::span<const double>(ranks.ranks));
            ranks.iterations = answer.iterations;
            ranks.change = static_cast<double>(change) * unit;
            ranks.error_bound = std::numeric_limits<double>::quiet_NaN();
            ranks.converged = answer.converged;
            return ranks;
        };
        return hits_scores{told(answer.authorities, answer.authority_change),
                           told(answer.hubs, answer.hub_change)};
    });
    found.authorities.place = found.hubs.place = where;
    return found;
}

}  // namespace quern
