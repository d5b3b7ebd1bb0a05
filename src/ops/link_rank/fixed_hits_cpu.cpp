// SPDX-License-Identifier: Apache-2.0
// HITS in integers on the CPU. Each half step has two passes: one sums along the links, one scales.
#include <algorithm>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_sums.hpp"

namespace quern::link_rank_detail {
namespace {

/// One side: authorities (links) or hubs (links reversed).
class side {
  public:
    side(cpu_place& place, const link_graph_view& graph, std::span<const std::uint64_t> weights,
         unsigned repeat_bits)
        : place_(place),
          graph_(graph),
          weights_(weights),
          repeat_bits_(repeat_bits),
          bounds_(link_pieces(place, graph.offsets)),
          scores_(graph.nodes),
          sums_(place, graph.nodes, "sums along links"),
          contributions_(place, graph.nodes, "what nodes send") {}

    /// Sets what each node sends to a constant, in place of step()'s result.
    void next_contributions(std::int64_t of_each) {
        std::fill_n(contributions_.data(), contributions_.size(), of_each >> repeat_bits_);
    }
    /// Computes scores from what the other side sends. Returns the change as a sum of magnitudes.
    std::uint64_t step(const side& other) {
        std::vector<wide_natural> totals(bounds_.size() - 1);
        for_each_piece(place_, totals.size(), [&](std::size_t p) {
            wide_natural total = 0;
            for_each_block(graph_, weights_, other.contributions_.data(), bounds_[p], bounds_[p + 1],
                           [&](std::uint32_t first, std::uint32_t past_end, const std::int64_t* sums) {
                               for (std::uint32_t v = first; v < past_end; ++v) {
                                   sums_.data()[v] = sums[v - first];
                                   total += static_cast<std::uint64_t>(sums[v - first]);
                               }
                           });
            totals[p] = total;
        });
        wide_natural total = 0;
        for (const wide_natural of_piece : totals) total += of_piece;
        return scale(total);
    }
    std::vector<std::int64_t> take_scores() { return std::move(scores_); }

  private:
    std::uint64_t scale(wide_natural total) {
        const unit_scale scale = total == 0 ? unit_scale{} : scale_of(total);
        std::vector<std::uint64_t> changes(bounds_.size() - 1);
        for_each_piece(place_, changes.size(), [&](std::size_t p) {
            std::uint64_t change = 0;
            for (std::uint32_t v = bounds_[p]; v < bounds_[p + 1]; ++v) {
                const std::int64_t score = scaled(static_cast<std::uint64_t>(sums_.data()[v]), scale);
                change += magnitude(score - scores_[v]);
                scores_[v] = score;
                contributions_.data()[v] = score >> repeat_bits_;
            }
            changes[p] = change;
        });
        std::uint64_t change = 0;
        for (const std::uint64_t of_piece : changes) change += of_piece;
        return change;
    }

    cpu_place& place_;
    const link_graph_view& graph_;
    std::span<const std::uint64_t> weights_;
    unsigned repeat_bits_;
    std::vector<std::uint32_t> bounds_;
    std::vector<std::int64_t> scores_;
    cpu_array<std::int64_t> sums_, contributions_;
};

}  // namespace

fixed_hits_result fixed_hits(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params) {
    fixed_hits_result result;
    result.converged = graph.nodes == 0;
    if (graph.nodes == 0) return result;
    side authorities(place, graph, params.link_weights, params.repeat_bits);
    side hubs(place, back, params.back_weights, params.repeat_bits);
    hubs.next_contributions((std::int64_t{1} << 62) / graph.nodes);
    step_report report(place.ctx(), static_cast<double>(params.tolerance), params.max_iterations);
    while (!result.converged && result.iterations < params.max_iterations) {
        place.ctx().check_stop();
        result.authority_change = authorities.step(hubs);
        result.hub_change = hubs.step(authorities);
        ++result.iterations;
        report.step(result.iterations, static_cast<double>(result.authority_change),
                    static_cast<double>(result.authority_change) * 0x1p-62);
        result.converged = result.authority_change < params.tolerance;
    }
    result.authorities = authorities.take_scores();
    result.hubs = hubs.take_scores();
    return result;
}
fixed_hits_result fixed_hits(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params, kept_hits_links<cpu_place>& /*kept*/) {
    return fixed_hits(place, graph, back, params);
}

}  // namespace quern::link_rank_detail
