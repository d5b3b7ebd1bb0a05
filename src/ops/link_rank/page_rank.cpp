// SPDX-License-Identifier: Apache-2.0
// The entry points of the link measures: check the parameters, convert them to units, compute at one place, and convert the
// results to doubles.
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "device/resident.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/papers/storage.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank.hpp"

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

/// A graph in the caller's memory, and what the measures make of it on the place, each at its first need.
template <class Place>
class held_graph {
  public:
    /// `steps`: as in fixed_page_rank.
    held_graph(Place& place, cpu_place& host, const link_graph_view& graph, std::uint32_t steps)
        : place_(place), host_(host), graph_(graph), steps_(steps) {
        check(host, graph);
    }

    link_ranks page_rank(const page_rank_options& options) {
        link_ranks found;
        found.converged = true;
        if (graph_.nodes == 0) return found;
        return in_memory([&] {
            found =
                options.storage == rank_storage::automatic ? integer_ranks(options) : stored_ranks(options);
            found.order = order_of(place_, std::span<const double>(found.ranks));
            place_.synchronise();
            return found;
        });
    }

    hits_scores hits(const hits_options& options) {
        return in_memory([&] {
            if (!back_) back_.emplace(host_, graph_);
            const fixed_hits_result computed =
                fixed_hits(place_, graph_, back_->back(), back_->params(options), hits_links_);
            const auto to_ranks = [&](std::span<const std::int64_t> scores, std::uint64_t change) {
                link_ranks ranks;
                ranks.ranks = from_units(scores);
                ranks.order = order_of(place_, std::span<const double>(ranks.ranks));
                ranks.iterations = computed.iterations;
                ranks.change = static_cast<double>(change) * unit;
                ranks.error_bound = std::numeric_limits<double>::quiet_NaN();
                ranks.converged = computed.converged;
                return ranks;
            };
            hits_scores found{to_ranks(computed.authorities, computed.authority_change),
                              to_ranks(computed.hubs, computed.hub_change)};
            place_.synchronise();
            return found;
        });
    }

    std::uint64_t bytes() const {
        std::uint64_t used = host_.memory().used() + host_.kept();
        if constexpr (!std::is_same_v<Place, cpu_place>) used += place_.memory().used();
        return used;
    }

  private:
    link_ranks integer_ranks(const page_rank_options& options) {
        if (!fractions_) fractions_.emplace(host_, graph_);
        const integer_problem problem(host_, graph_, *fractions_, options);
        const fixed_page_rank_result computed =
            fixed_page_rank(place_, graph_, problem.params(), rank_links_, steps_);
        link_ranks found;
        found.ranks = from_units(computed.ranks);
        found.iterations = computed.iterations;
        found.change = static_cast<double>(computed.change) * unit;
        found.error_bound = link_rank_detail::error_bound(problem.terms(), computed);
        found.converged = computed.converged;
        return found;
    }

    link_ranks stored_ranks(const page_rank_options& options) {
        return options.precision == value_precision::f64 ? ranks_over(stored_, options)
                                                         : ranks_over(stored_floats_, options);
    }
    template <class Value>
    link_ranks ranks_over(std::optional<stored_links<Place, Value>>& stored,
                          const page_rank_options& options) {
        if (!stored || stored->storage() != options.storage) {
            stored.reset();
            stored.emplace(place_, host_, graph_, options.storage);
        }
        return stored_page_rank(place_, *stored, graph_, options);
    }

    bool holds_anything() const {
        return fractions_ || rank_links_ || back_ || hits_links_ || stored_ || stored_floats_;
    }
    void release() {
        rank_links_.reset();
        hits_links_.reset();
        stored_.reset();
        stored_floats_.reset();
        back_.reset();
        fractions_.reset();
    }
    /// work(); once more without what earlier calls left, if that takes the memory of this one.
    template <class Work>
    auto in_memory(const Work& work) {
        const bool held_before = holds_anything();
        try {
            return work();
        } catch (const out_of_memory&) {
            if (!held_before) throw;
        }
        release();
        return work();
    }

    Place& place_;
    cpu_place& host_;
    link_graph_view graph_;
    std::uint32_t steps_;
    std::optional<link_fractions> fractions_;
    kept_rank_links<Place> rank_links_;
    std::optional<integer_hits_problem> back_;
    kept_hits_links<Place> hits_links_;
    std::optional<stored_links<Place, double>> stored_;
    std::optional<stored_links<Place, float>> stored_floats_;
};

}  // namespace
}  // namespace link_rank_detail

link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options, graph.nodes);
    any_place chosen = open_place(ctx, "PageRank");
    link_ranks found = chosen.run([&]<class Place>(Place& place, cpu_place& host) {
        return held_graph<Place>(place, host, graph, options.max_iterations).page_rank(options);
    });
    found.place = chosen.where();
    return found;
}

hits_scores hits(const link_graph_view& graph, const hits_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options);
    any_place chosen = open_place(ctx, "HITS");
    hits_scores found = chosen.run([&]<class Place>(Place& place, cpu_place& host) {
        return held_graph<Place>(place, host, graph, options.max_iterations).hits(options);
    });
    found.authorities.place = found.hubs.place = chosen.where();
    return found;
}

struct resident_graph::state {
    state(const context& ctx, const link_graph_view& view)
        : nodes(view.nodes), graph(ctx, choose_device(ctx, "ranks of a graph"), view, many) {}

    static constexpr std::uint32_t many = std::numeric_limits<std::uint32_t>::max();  ///< steps
    std::uint32_t nodes;
    resident<link_rank_detail::held_graph> graph;
};

resident_graph::resident_graph(const link_graph_view& graph, const context& ctx)
    : state_(std::make_unique<state>(ctx, graph)) {}
resident_graph::~resident_graph() = default;
resident_graph::resident_graph(resident_graph&&) noexcept = default;
resident_graph& resident_graph::operator=(resident_graph&&) noexcept = default;

link_ranks resident_graph::page_rank(const page_rank_options& options) {
    link_rank_detail::check(options, state_->nodes);
    link_ranks found = state_->graph.visit([&](auto& held) { return held.page_rank(options); });
    found.place = place();
    return found;
}

hits_scores resident_graph::hits(const hits_options& options) {
    link_rank_detail::check(options);
    hits_scores found = state_->graph.visit([&](auto& held) { return held.hits(options); });
    found.authorities.place = found.hubs.place = place();
    return found;
}

std::uint64_t resident_graph::bytes() const {
    return state_->graph.visit([](const auto& held) { return held.bytes(); });
}

const std::string& resident_graph::place() const {
    return state_->graph.where();
}

}  // namespace quern
