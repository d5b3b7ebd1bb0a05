// SPDX-License-Identifier: Apache-2.0
// The integer iteration on the CPU. One pass over the nodes spreads a step, measures it and takes for the next step, so
// that each node's data passes through the caches once per step. Each link is read once (4 bytes) and gathers 4 bytes.
#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/link_rank/degree_ordering.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_sums.hpp"

namespace quern::link_rank_detail {

struct cpu_rank_links {
    cpu_rank_links(cpu_place& place, const link_graph_view& graph, std::uint32_t steps)
        : order(place, graph, steps), links(order.links(graph)), bounds(link_pieces(place, graph.offsets)) {}

    degree_ordering order;
    link_graph_view links;              ///< sources are positions of contributions
    std::vector<std::uint32_t> bounds;  ///< of the nodes of a unit of work
};

namespace {

using totals = pass_totals;

void add(totals& sum, const totals& part) {
    sum.change += part.change;
    sum.greatest = std::max(sum.greatest, part.greatest);
    sum.residual_mass += part.residual_mass;
    sum.dangling_mass += part.dangling_mass;
}

/// The mode of a take.
struct step_mode {
    bool wide = false;
    unsigned shift = 0;
};

class iteration {
  public:
    iteration(cpu_place& place, const link_graph_view& graph, const fixed_page_rank_params& params,
              const cpu_rank_links& links)
        : place_(place),
          graph_(graph),
          params_(params),
          weighted_(!params.link_weights.empty()),
          order_(links.order),
          links_(links.links),
          bounds_(links.bounds),
          ranks_(place, graph.nodes, "the ranks"),
          residuals_(place, graph.nodes, "the residuals") {}

    fixed_page_rank_result run() {
        step_mode now{true, 0}, next{true, 0};
        totals taken = begin();

        fixed_page_rank_result result;
        std::uint64_t before = ~std::uint64_t{0}, before_that = before;
        step_report report(place_.ctx(), static_cast<double>(params_.tolerance), params_.max_iterations);
        for (;;) {
            place_.ctx().check_stop();
            const totals all = step(now, next, taken.dangling_mass);
            ++result.iterations;
            if (now.wide && !weighted_) ++result.wide_steps;
            result.change = all.change;
            report.step(result.iterations, static_cast<double>(all.change),
                        static_cast<double>(all.change) * 0x1p-62);
            result.converged = all.change < params_.tolerance;
            const bool stuck = result.iterations >= 3 && all.change >= before && before >= before_that;
            if (result.converged || result.iterations == params_.max_iterations || stuck) break;
            before_that = std::exchange(before, all.change);
            taken = all;
            now = next;
            if (!weighted_) next = after(next, all);
        }
        result.ranks.assign(ranks_.data(), ranks_.data() + ranks_.size());
        return result;
    }

  private:
    /// The mode of the step after the next one.
    step_mode after(const step_mode& next, const totals& all) {
        const unsigned shift = shift_for(all.greatest, params_.contribution_digits);
        const bool clamped = shift > next.shift;
        if (next.shift > 0 && !clamped && all.residual_mass > all.change / 16) stays_wide_ = true;
        return stays_wide_ ? step_mode{true, 0} : step_mode{false, shift};
    }

    /// Calls work(begin, end) → totals for ranges of nodes, on all threads.
    template <class Work>
    totals over_nodes(const Work& work) {
        std::vector<totals> parts(bounds_.size() - 1);
        for_each_piece(place_, parts.size(),
                       [&](std::size_t p) { parts[p] = work(bounds_[p], bounds_[p + 1]); });
        totals all;
        for (const totals& part : parts) add(all, part);
        return all;
    }

    std::int64_t teleport(std::uint32_t v) const {
        return params_.teleport.empty() ? params_.teleport_each : params_.teleport[v];
    }
    std::int64_t start(std::uint32_t v) const {
        return params_.start.empty() ? params_.start_each : params_.start[v];
    }

    /// Takes for the first step.
    totals begin() {
        std::int64_t* const contributions = array_for<std::int64_t>(turn_);
        return over_nodes([&](std::uint32_t begin, std::uint32_t end) {
            totals sum;
            for (std::uint32_t v = begin; v < end; ++v) {
                ranks_.data()[v] = teleport(v);
                residuals_.data()[v] = teleport(v) - take(v, start(v), {true, 0}, contributions, sum);
            }
            return sum;
        });
    }

    /// Writes what node v sends of `amount`; returns what is taken for it.
    template <class Contribution>
    std::int64_t take(std::uint32_t v, std::int64_t amount, const step_mode& how, Contribution* contributions,
                      totals& sum) const {
        const std::uint64_t degree = graph_.out_degrees[v];
        Contribution& of_node = contributions[order_.slot(v)];
        of_node = 0;
        if (degree == 0) sum.dangling_mass += amount;
        if (weighted_) of_node = static_cast<Contribution>(amount);
        if (degree == 0 || weighted_) return amount;
        const double divisor =
            static_cast<double>(degree) * static_cast<double>(std::uint64_t{1} << how.shift);
        if constexpr (std::is_same_v<Contribution, std::int32_t>) {
            of_node = narrow_contribution(amount, divisor);
        } else {
            of_node = wide_contribution(amount, divisor);
        }
        return taken(of_node, degree, how.shift);
    }

    /// Spreads and measures a step that was taken in mode `now`, and takes for the next.
    totals step(const step_mode& now, const step_mode& next, std::int64_t dangling_mass) {
        const std::int64_t dangling_share = times_fraction(params_.alpha, dangling_mass);
        uniform_share_ =
            params_.dangling == dangling_rule::uniform ? even_.next(dangling_share, graph_.nodes) : 0;
        personalised_share_ = params_.dangling == dangling_rule::preference ? dangling_share : 0;
        if (now.wide && next.wide) return step_as<std::int64_t, std::int64_t>(now, next);
        if (now.wide) return step_as<std::int64_t, std::int32_t>(now, next);
        if (next.wide) return step_as<std::int32_t, std::int64_t>(now, next);
        return step_as<std::int32_t, std::int32_t>(now, next);
    }

    template <class Contribution, class Next>
    totals step_as(const step_mode& now, const step_mode& next) {
        const Contribution* const contributions = array_for<Contribution>(turn_);
        Next* const next_contributions = array_for<Next>(turn_ ^ 1);
        const totals all = over_nodes([&](std::uint32_t begin, std::uint32_t end) {
            totals sum;
            for_each_block(links_, params_.link_weights, contributions, begin, end,
                           [&](std::uint32_t first, std::uint32_t past_end, const std::int64_t* sums) {
                               const std::uint32_t moved =
                                   move_most(first, past_end, sums, now, next, next_contributions, sum);
                               for (std::uint32_t v = first + moved; v < past_end; ++v)
                                   move_node(v, shifted(sums[v - first], now.shift), next, next_contributions,
                                             sum);
                           });
            return sum;
        });
        turn_ ^= 1;
        if constexpr (!std::is_same_v<Contribution, Next>)
            std::get<two_arrays<Contribution>>(contributions_) = {};
        return all;
    }

    /// As move_node, for as many nodes of a block as fill vectors; returns their number.
    template <class Contribution>
    std::uint32_t move_most(std::uint32_t first, std::uint32_t past_end, const std::int64_t* sums,
                            const step_mode& now, const step_mode& next, Contribution* next_contributions,
                            totals& sum) {
        if constexpr (std::is_same_v<Contribution, std::int32_t>) {
            const double divisor = static_cast<double>(std::uint64_t{1} << next.shift);
            const node_step step{params_.alpha,       now.shift, uniform_share_,
                                 personalised_share_, divisor,   next.shift};
            std::int32_t apart[block_nodes];  // where contributions are not in node order
            const node_arrays nodes{sums,
                                    graph_.out_degrees.data() + first,
                                    personalised_share_ == 0 ? nullptr : params_.preference.data() + first,
                                    ranks_.data() + first,
                                    residuals_.data() + first,
                                    order_.renumbered() ? apart : next_contributions + first};
            const auto moved = static_cast<std::uint32_t>(move_nodes(step, nodes, past_end - first, sum));
            if (order_.renumbered())
                for (std::uint32_t i = 0; i < moved; ++i)
                    next_contributions[order_.slot(first + i)] = apart[i];
            return moved;
        }
        return 0;
    }

    template <class Contribution>
    void move_node(std::uint32_t v, std::int64_t sum_of_links, const step_mode& next,
                   Contribution* next_contributions, totals& sum) {
        std::int64_t gain = times_fraction(params_.alpha, sum_of_links) + uniform_share_;
        if (personalised_share_ != 0) gain += times_fraction(params_.preference[v], personalised_share_);
        ranks_.data()[v] += gain;
        const std::int64_t residual = residuals_.data()[v] + gain;
        sum.change += magnitude(residual);
        const std::uint64_t degree = graph_.out_degrees[v];
        if (degree != 0) sum.greatest = std::max(sum.greatest, size_a_link(residual, degree));
        const std::int64_t left = residual - take(v, residual, next, next_contributions, sum);
        sum.residual_mass += magnitude(left);
        residuals_.data()[v] = left;
    }

    static std::int64_t shifted(std::int64_t value, unsigned shift) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift);
    }

    /// Two arrays of contributions: one is read, the other written.
    template <class Contribution>
    using two_arrays = std::array<cpu_array<Contribution>, 2>;
    template <class Contribution>
    Contribution* array_for(std::size_t which) {
        cpu_array<Contribution>& one = std::get<two_arrays<Contribution>>(contributions_)[which];
        if (one.size() == 0) one = cpu_array<Contribution>(place_, graph_.nodes, "what nodes send");
        return one.data();
    }

    cpu_place& place_;
    const link_graph_view& graph_;
    const fixed_page_rank_params& params_;
    bool weighted_, stays_wide_ = false;
    const degree_ordering& order_;
    const link_graph_view& links_;
    const std::vector<std::uint32_t>& bounds_;
    cpu_array<std::int64_t> ranks_, residuals_;
    std::tuple<two_arrays<std::int32_t>, two_arrays<std::int64_t>> contributions_;
    std::size_t turn_ = 0;  ///< which of two_arrays is read
    even_shares even_;
    std::int64_t uniform_share_ = 0, personalised_share_ = 0;  ///< lost mass: to each node; by preference
};

}  // namespace

fixed_page_rank_result fixed_page_rank(cpu_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params, kept_rank_links<cpu_place>& kept,
                                       std::uint32_t steps) {
    if (graph.nodes == 0) return {};
    if (!kept) kept = std::make_shared<cpu_rank_links>(place, graph, steps);
    return iteration(place, graph, params, *kept).run();
}
fixed_page_rank_result fixed_page_rank(cpu_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params) {
    kept_rank_links<cpu_place> links;
    return fixed_page_rank(place, graph, params, links, params.max_iterations);
}

}  // namespace quern::link_rank_detail
