// SPDX-License-Identifier: Apache-2.0
// The integer iteration on a GPU. A step has two kernels: sums over the links (sliced_ell.cuh; link_tiles.cuh where links
// have weights or do not fit), and one pass over the nodes that spreads the step, measures it and takes for the next. The
// last block of a pass decides how to continue, so that steps follow each other without the host, which checks every few
// steps. Kernels enqueued after the end do nothing.
#include <cstdint>
#include <memory>
#include <span>

#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/rank_state.cuh"

namespace quern::link_rank_detail {
namespace {

using namespace rank_cuda;

constexpr std::uint32_t steps_unseen = 8;  // host: steps enqueued together

class iteration {
  public:
    iteration(cuda_place& place, const link_graph_view& graph, const fixed_page_rank_params& params,
              const sliced_ell_layout& layout, kept_rank_links<cuda_place>& kept)
        : place_(place),
          graph_(graph),
          params_(params),
          pairs_((std::uint64_t{graph.nodes} + max_hot_groups + 4) / 2),  // three more may be read
          nodes_(place, params, graph.nodes, pairs_, 2 * pairs_) {
        if (!kept) kept = make_links(layout);  // last: tiles take most of the memory that is left
        links_ = kept;
        nodes_.bring_nodes(*links_);
    }

    fixed_page_rank_result run() {
        nodes_.write({});
        nodes_.begin<true>(*links_);
        // Links are summed in the mode of the last take; the next take uses the mode in the state: wide twice at first, and
        // from the step on where narrow ones round too much.
        bool summed_wide = true, take_wide = true, stays_wide = !params_.link_weights.empty();
        for (;;) {
            place_.ctx().check_stop();
            const std::uint32_t steps = links_->tiles && links_->tiles->streams() ? 1 : steps_unseen;
            for (std::uint32_t i = 0; i < steps; ++i) {
                nodes_.step<true>(*links_, summed_wide, take_wide);
                summed_wide = take_wide;
                take_wide = stays_wide;
            }
            const step_state seen = nodes_.read();
            if (seen.halted == going::ended) return result_of(seen);
            if (seen.halted == going::widens) {
                nodes_.go_on();
                summed_wide = seen.now_wide;
                take_wide = stays_wide = true;
            }
        }
    }

  private:
    fixed_page_rank_result result_of(const step_state& seen) {
        fixed_page_rank_result result;
        result.ranks.resize(graph_.nodes);
        nodes_.ranks_to(*links_, result.ranks);
        result.iterations = seen.iterations;
        result.change = seen.change;
        result.converged = seen.converged != 0;
        result.wide_steps = seen.wide_steps;
        return result;
    }

    std::shared_ptr<cuda_rank_links> make_links(const sliced_ell_layout& layout) {
        auto made = std::make_shared<cuda_rank_links>();
        made->slots = {graph_.nodes, graph_.nodes, nullptr};
        if (params_.link_weights.empty() && !has_huge_node(graph_)) {
            try {
                made->slices.emplace(place_, graph_, layout);
                made->slots = made->slices->slots();
            } catch (const out_of_memory&) {  // NOLINT(bugprone-empty-catch): then as they stand, in tiles
            }
        }
        made->range = {0, made->slots.slots};
        bring_degrees(place_, graph_, pairs_, nodes_.spare(), *made);
        if (!made->slices) made->tiles.emplace(place_, graph_, params_.link_weights);
        return made;
    }

    cuda_place& place_;
    const link_graph_view& graph_;
    const fixed_page_rank_params& params_;
    std::uint64_t pairs_;
    rank_state nodes_;
    std::shared_ptr<const cuda_rank_links> links_;
};

}  // namespace

fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params,
                                       const sliced_ell_layout& layout) {
    if (graph.nodes == 0) return {};
    kept_rank_links<cuda_place> links;
    return iteration(place, graph, params, layout, links).run();
}
fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params) {
    return fixed_page_rank(place, graph, params, sliced_ell_layout{});
}
fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params,
                                       kept_rank_links<cuda_place>& kept, std::uint32_t /*steps*/) {
    if (graph.nodes == 0) return {};
    return iteration(place, graph, params, {}, kept).run();
}

}  // namespace quern::link_rank_detail
