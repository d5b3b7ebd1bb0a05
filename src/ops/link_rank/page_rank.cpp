// SPDX-License-Identifier: Apache-2.0
// The entry points of the link measures: check the parameters, convert them to units, compute at one place (in
// integers also at several), and convert the results to doubles.
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
#include "ops/link_rank/hits_parts.hpp"
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

hits_scores to_scores(const fixed_hits_result& computed) {
    const auto to_ranks = [&](std::span<const std::int64_t> scores, std::uint64_t change) {
        link_ranks ranks;
        ranks.ranks = from_units(scores);
        ranks.iterations = computed.iterations;
        ranks.change = static_cast<double>(change) * unit;
        ranks.error_bound = std::numeric_limits<double>::quiet_NaN();
        ranks.converged = computed.converged;
        return ranks;
    };
    return {to_ranks(computed.authorities, computed.authority_change),
            to_ranks(computed.hubs, computed.hub_change)};
}

/// work(); once more without what earlier calls left (`held_before`: some did), if that takes the memory of this one.
template <class Release, class Work>
auto in_memory(bool held_before, const Release& release, const Work& work) {
    try {
        return work();
    } catch (const out_of_memory&) {
        if (!held_before) throw;
    }
    release();
    return work();
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
        return in_memory(
            holds_anything(), [this] { release(); },
            [&] {
                found = options.storage == rank_storage::automatic ? integer_ranks(options)
                                                                   : stored_ranks(options);
                found.order = order_of(place_, std::span<const double>(found.ranks));
                place_.synchronise();
                return found;
            });
    }

    hits_scores hits(const hits_options& options) {
        return in_memory(
            holds_anything(), [this] { release(); },
            [&] {
                if (!back_) back_.emplace(host_, graph_);
                const fixed_hits_result computed =
                    fixed_hits(place_, graph_, back_->back(), back_->params(options), hits_links_);
                hits_scores found = to_scores(computed);
                for (link_ranks* const side : {&found.authorities, &found.hubs})
                    side->order = order_of(place_, std::span<const double>(side->ranks));
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

template <class Place>
struct both_parts {
    std::optional<rank_parts<Place>> ranks{};
    std::optional<hits_parts<Place>> hits{};
};

/// A graph in the caller's memory on several places, for the measures in integers.
class shared_graph {
    template <class... Places>
    using variant_of = std::variant<both_parts<Places>...>;

  public:
    /// `graph` has nodes.
    shared_graph(const context& ctx, const chosen_device& chosen, const link_graph_view& graph)
        : ctx_(ctx), graph_(graph), host_(ctx), places_(ctx, chosen) {
        check(host_, graph);
        places_[0].visit([&]<class Place>(Place&) { parts_.emplace(std::in_place_type<both_parts<Place>>); });
    }

    /// Without `keeps_links`, for one call.
    link_ranks page_rank(const page_rank_options& options, bool keeps_links = true) {
        return in_memory(
            fractions_ || back_, [this] { release(); },
            [&] {
                if (!fractions_) fractions_.emplace(host_, graph_);
                const integer_problem problem(host_, graph_, *fractions_, options);
                link_ranks found = std::visit(
                    [&](auto& parts) {
                        if (!parts.ranks) parts.ranks.emplace(places_, graph_);
                        return to_ranks(problem, parts.ranks->page_rank(problem.params(), ctx_));
                    },
                    *parts_);
                if (!keeps_links) release();
                set_order(found);
                return found;
            });
    }
    hits_scores hits(const hits_options& options, bool keeps_links = true) {
        return in_memory(
            fractions_ || back_, [this] { release(); },
            [&] {
                if (!back_) back_.emplace(host_, graph_);
                hits_scores found = std::visit(
                    [&](auto& parts) {
                        if (!parts.hits) parts.hits.emplace(places_, graph_, back_->back());
                        return to_scores(parts.hits->hits(back_->params(options), ctx_));
                    },
                    *parts_);
                if (!keeps_links) release();
                set_order(found.authorities);
                set_order(found.hubs);
                return found;
            });
    }

    void release() {
        std::visit(
            [](auto& parts) {
                parts.ranks.reset();
                parts.hits.reset();
            },
            *parts_);
        fractions_.reset();
        back_.reset();
    }
    std::uint64_t bytes() {
        std::uint64_t used = host_.memory().used() + host_.kept();
        for (std::size_t i = 0; i < places_.size(); ++i)
            used += places_[i].visit([](auto& place) { return place.memory().used(); });
        return used;
    }
    const std::string& where() const { return places_.where(); }

  private:
    void set_order(link_ranks& found) {
        try {
            found.order = places_[0].run(
                [&](auto& place) { return order_of(place, std::span<const double>(found.ranks)); });
        } catch (const out_of_memory&) {  // the links are in its memory
            found.order = order_of(host_, std::span<const double>(found.ranks));
        }
    }

    context ctx_;
    link_graph_view graph_;
    cpu_place host_;
    place_set places_;
    std::optional<link_fractions> fractions_;
    std::optional<integer_hits_problem> back_;
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
    const chosen_device chosen = devices_for(choose_device(ctx, "HITS", offered_places::several_gpus), graph,
                                             ctx, resident_graph::work_a_device);
    hits_scores found;
    if (!chosen.more.empty()) {
        shared_graph shared(ctx, chosen, graph);
        found = shared.hits(options, false);
        found.authorities.place = found.hubs.place = shared.where();
        return found;
    }
    any_place here(ctx, chosen);
    found = here.run([&]<class Place>(Place& place, cpu_place& host) {
        return held_graph<Place>(place, host, graph, options.max_iterations).hits(options);
    });
    found.authorities.place = found.hubs.place = here.where();
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
            if (several) ctx.log(log_level::info, "PageRank over a stored matrix uses one GPU");
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
    template <class Work>
    auto by_several(const Work& work) {
        try {
            return work(*several);
        } catch (const out_of_memory&) {
            if (!on_one) throw;
        }
        on_one.reset();
        return work(*several);
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
    const auto of = [&](auto& held) { return held.page_rank(options); };
    link_ranks found = shared ? state_->by_several(of) : state_->by_one(of);
    found.place = shared ? place() : state_->one().where();
    return found;
}

hits_scores resident_graph::hits(const hits_options& options) {
    link_rank_detail::check(options);
    const auto of = [&](auto& held) { return held.hits(options); };
    hits_scores found = state_->several ? state_->by_several(of) : state_->by_one(of);
    found.authorities.place = found.hubs.place = place();
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
