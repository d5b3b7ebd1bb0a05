// SPDX-License-Identifier: Apache-2.0
// The entry points of the link measures: check the parameters, convert them to units, compute at one place (PageRank in
// integers also on several), and convert the results to doubles.
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "device/array.hpp"
#include "device/first_devices.hpp"
#include "device/place_set.hpp"
#include "device/resident.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/papers/storage.hpp"
#include "ops/link_rank/rank_parts.hpp"
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

link_ranks to_ranks(const integer_problem& problem, const fixed_page_rank_result& computed) {
    link_ranks found;
    found.ranks = from_units(computed.ranks);
    found.iterations = computed.iterations;
    found.change = static_cast<double>(computed.change) * unit;
    found.error_bound = link_rank_detail::error_bound(problem.terms(), computed);
    found.converged = computed.converged;
    return found;
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
        return to_ranks(problem, fixed_page_rank(place_, graph_, problem.params(), rank_links_, steps_));
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

/// A graph in the caller's memory on several places, for PageRank in integers.
class shared_graph {
    template <class... Places>
    using variant_of = std::variant<rank_parts<Places>...>;

  public:
    /// `graph` has nodes.
    shared_graph(const context& ctx, const chosen_device& chosen, const link_graph_view& graph)
        : ctx_(ctx), graph_(graph), host_(ctx), places_(ctx, chosen) {
        check(host_, graph);
        places_[0].visit([&]<class Place>(Place&) {
            parts_.emplace(std::in_place_type<rank_parts<Place>>, places_, graph_);
        });
    }

    link_ranks page_rank(const page_rank_options& options, bool keeps_links = true) {
        const bool held_before = std::visit([](auto& parts) { return parts.holds_links(); }, *parts_);
        try {
            return ranks(options, keeps_links);
        } catch (const out_of_memory&) {
            if (!held_before) throw;
        }
        release();
        return ranks(options, keeps_links);
    }

    void release() {
        std::visit([](auto& parts) { parts.release(); }, *parts_);
        fractions_.reset();
    }
    std::uint64_t bytes() {
        std::uint64_t used = host_.memory().used() + host_.kept();
        for (std::size_t i = 0; i < places_.size(); ++i)
            used += places_[i].visit([](auto& place) { return place.memory().used(); });
        return used;
    }
    const std::string& where() const { return places_.where(); }

  private:
    link_ranks ranks(const page_rank_options& options, bool keeps_links) {
        if (!fractions_) fractions_.emplace(host_, graph_);
        const integer_problem problem(host_, graph_, *fractions_, options);
        link_ranks found = std::visit(
            [&](auto& parts) { return to_ranks(problem, parts.page_rank(problem.params(), ctx_)); }, *parts_);
        if (!keeps_links) release();
        try {
            found.order = places_[0].run(
                [&](auto& place) { return order_of(place, std::span<const double>(found.ranks)); });
        } catch (const out_of_memory&) {  // the links are in its memory
            found.order = order_of(host_, std::span<const double>(found.ranks));
        }
        return found;
    }

    context ctx_;
    link_graph_view graph_;
    cpu_place host_;
    place_set places_;
    std::optional<link_fractions> fractions_;
    std::optional<every_place<variant_of>> parts_;  ///< end before their places
};

/// The devices for a graph: the first of the chosen ones, as many as have `work_a_device` links each (a node counts as four);
/// all, if the budget of one is too small for the arrays.
chosen_device devices_for(const chosen_device& chosen, const link_graph_view& graph, const context& ctx,
                          std::uint64_t work_a_device) {
    constexpr std::uint64_t work_of_node = 4, bytes_of_node = 52, bytes_of_link = 4;
    const std::uint64_t links = graph.sources.size(), nodes = graph.nodes;
    if (nodes == 0 || chosen.more.empty()) return first_devices(chosen, 1);
    if (ctx.gpu_memory_bytes != 0 && bytes_of_node * nodes + bytes_of_link * links > ctx.gpu_memory_bytes)
        return chosen;
    return first_devices(chosen, std::max<std::uint64_t>((links + work_of_node * nodes) / work_a_device, 1));
}

}  // namespace
}  // namespace link_rank_detail

link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& ctx) {
    using namespace link_rank_detail;
    check(options, graph.nodes);
    const bool in_integers = options.storage == rank_storage::automatic;
    const chosen_device chosen = devices_for(
        choose_device(ctx, "PageRank", in_integers ? offered_places::several_gpus : offered_places::all),
        graph, ctx, resident_graph::work_a_device);
    link_ranks found;
    if (!chosen.more.empty()) {
        shared_graph shared(ctx, chosen, graph);
        found = shared.page_rank(options, false);
        found.place = shared.where();
        return found;
    }
    any_place here(ctx, chosen);
    found = here.run([&]<class Place>(Place& place, cpu_place& host) {
        return held_graph<Place>(place, host, graph, options.max_iterations).page_rank(options);
    });
    found.place = here.where();
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
    state(const context& run, const chosen_device& devices, const link_graph_view& view)
        : ctx(run), graph(view), chosen(devices) {
        if (chosen.more.empty())
            one();
        else
            several.emplace(ctx, chosen, graph);
    }

    /// The graph on the first device.
    resident<link_rank_detail::held_graph>& one() {
        if (!on_one) {
            if (several) ctx.log(log_level::info, "HITS and stored matrices use one GPU");
            on_one.emplace(ctx, first_devices(chosen, 1), graph, many);
        }
        return *on_one;
    }
    /// work(the graph on one device); once more without what the several hold, if that takes the memory.
    template <class Work>
    auto by_one(const Work& work) {
        if (several) {
            try {
                return one().visit(work);
            } catch (const out_of_memory&) {
                several->release();
            }
        }
        return one().visit(work);
    }
    link_ranks by_several(const page_rank_options& options) {
        try {
            return several->page_rank(options);
        } catch (const out_of_memory&) {
            if (!on_one) throw;
        }
        on_one.reset();
        return several->page_rank(options);
    }

    static constexpr std::uint32_t many = std::numeric_limits<std::uint32_t>::max();  ///< steps
    context ctx;
    link_graph_view graph;
    chosen_device chosen;
    std::optional<link_rank_detail::shared_graph> several;
    std::optional<resident<link_rank_detail::held_graph>> on_one;
};

resident_graph::resident_graph(const link_graph_view& graph, const context& ctx)
    : resident_graph(graph, ctx, choose_device(ctx, "ranks of a graph", offered_places::several_gpus)) {}
resident_graph::resident_graph(const link_graph_view& graph, const context& ctx, const chosen_device& chosen,
                               std::uint64_t work_of_each)
    : state_(std::make_unique<state>(ctx, link_rank_detail::devices_for(chosen, graph, ctx, work_of_each),
                                     graph)) {}
resident_graph::~resident_graph() = default;
resident_graph::resident_graph(resident_graph&&) noexcept = default;
resident_graph& resident_graph::operator=(resident_graph&&) noexcept = default;

link_ranks resident_graph::page_rank(const page_rank_options& options) {
    link_rank_detail::check(options, state_->graph.nodes);
    const bool shared = state_->several && options.storage == rank_storage::automatic;
    link_ranks found = shared ? state_->by_several(options)
                              : state_->by_one([&](auto& held) { return held.page_rank(options); });
    found.place = shared ? place() : state_->one().where();
    return found;
}

hits_scores resident_graph::hits(const hits_options& options) {
    link_rank_detail::check(options);
    hits_scores found = state_->by_one([&](auto& held) { return held.hits(options); });
    found.authorities.place = found.hubs.place = state_->one().where();
    return found;
}

std::uint64_t resident_graph::bytes() const {
    std::uint64_t sum = 0;
    if (state_->several) sum += state_->several->bytes();
    if (state_->on_one) sum += state_->on_one->visit([](const auto& held) { return held.bytes(); });
    return sum;
}

const std::string& resident_graph::place() const {
    return state_->several ? state_->several->where() : state_->one().where();
}

}  // namespace quern
