// SPDX-License-Identifier: Apache-2.0
// The integer iteration on the CPU, one pass over the nodes for each step. Each link is read once (4 bytes) and gathers 4 bytes.
#include <array>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/link_rank/degree_ordering.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_sums.hpp"
#include "ops/link_rank/node_mover.hpp"
#include "ops/link_rank/step_control.hpp"

namespace quern::link_rank_detail {

struct cpu_rank_links {
    cpu_rank_links(cpu_place& place, const link_graph_view& graph, std::uint32_t steps)
        : order(place, graph, steps), links(order.links(graph)), bounds(link_pieces(place, graph.offsets)) {}

    degree_ordering order;
    link_graph_view links;              ///< sources are positions of contributions
    std::vector<std::uint32_t> bounds;  ///< of the nodes of a unit of work
};

namespace {

class iteration {
  public:
    iteration(cpu_place& place, const link_graph_view& graph, const fixed_page_rank_params& params,
              const cpu_rank_links& links)
        : place_(place),
          graph_(graph),
          params_(params),
          order_(links.order),
          links_(links.links),
          bounds_(links.bounds),
          ranks_(place, graph.nodes, "the ranks"),
          residuals_(place, graph.nodes, "the residuals") {}

    fixed_page_rank_result run() {
        control_.nodes = graph_.nodes;
        control_.weighted = !params_.link_weights.empty();
        pass_totals taken = begin();
        step_report report(place_.ctx(), static_cast<double>(params_.tolerance), params_.max_iterations);
        while (!control_.ended) {
            place_.ctx().check_stop();
            control_.begin_step(params_, taken.dangling_mass);
            taken = step();
            control_.end_step(params_, taken);
            report.step(control_.iterations, static_cast<double>(control_.change),
                        static_cast<double>(control_.change) * 0x1p-62);
        }
        fixed_page_rank_result result;
        result.iterations = control_.iterations;
        result.change = control_.change;
        result.converged = control_.converged;
        result.wide_steps = control_.wide_steps;
        result.ranks.assign(ranks_.data(), ranks_.data() + ranks_.size());
        return result;
    }

  private:
    node_mover<degree_ordering> mover() const {
        return {params_, control_, graph_.out_degrees, order_, ranks_.data(), residuals_.data()};
    }

    /// Calls work(begin, end) → totals for ranges of nodes, on all threads.
    template <class Work>
    pass_totals over_nodes(const Work& work) {
        std::vector<pass_totals> parts(bounds_.size() - 1);
        for_each_piece(place_, parts.size(),
                       [&](std::size_t p) { parts[p] = work(bounds_[p], bounds_[p + 1]); });
        pass_totals all;
        for (const pass_totals& part : parts) add_totals(all, part);
        return all;
    }

    /// Takes for the first step.
    pass_totals begin() {
        std::int64_t* const contributions = array_for<std::int64_t>(turn_);
        return over_nodes(
            [&](std::uint32_t begin, std::uint32_t end) { return mover().begin(begin, end, contributions); });
    }

    /// Spreads and measures a step, and takes for the next.
    pass_totals step() {
        const bool wide = control_.now.wide, next_wide = control_.next.wide;
        if (wide && next_wide) return step_as<std::int64_t, std::int64_t>();
        if (wide) return step_as<std::int64_t, std::int32_t>();
        if (next_wide) return step_as<std::int32_t, std::int64_t>();
        return step_as<std::int32_t, std::int32_t>();
    }

    template <class Contribution, class Next>
    pass_totals step_as() {
        const Contribution* const contributions = array_for<Contribution>(turn_);
        Next* const next_contributions = array_for<Next>(turn_ ^ 1);
        const pass_totals all = over_nodes([&](std::uint32_t begin, std::uint32_t end) {
            return mover().step(links_, contributions, next_contributions, begin, end);
        });
        turn_ ^= 1;
        if constexpr (!std::is_same_v<Contribution, Next>)
            std::get<two_arrays<Contribution>>(contributions_) = {};
        return all;
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
    const degree_ordering& order_;
    const link_graph_view& links_;
    const std::vector<std::uint32_t>& bounds_;
    cpu_array<std::int64_t> ranks_, residuals_;
    std::tuple<two_arrays<std::int32_t>, two_arrays<std::int64_t>> contributions_;
    std::size_t turn_ = 0;  ///< which of two_arrays is read
    step_control control_;
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
