// SPDX-License-Identifier: Apache-2.0
// HITS in integers on the CPU: each half of a step is a pass that sums along links and a pass that scales.
#include <algorithm>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_pieces.hpp"
#include "ops/link_rank/link_sums.hpp"

namespace quern::link_rank_detail {
namespace {

/// Authorities by the links, or hubs by the links back.
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
          sent_(place, graph.nodes, "what nodes send") {}

    /// What each node sends, where that is not what step() made.
    void send(std::int64_t of_each) { std::fill_n(sent_.data(), sent_.size(), of_each >> repeat_bits_); }
    /// Scores from what the other side sends; the change of their sum of magnitudes.
    std::uint64_t step(const side& other) {
        std::vector<wide_natural> totals(bounds_.size() - 1);
        for_each_piece(place_, totals.size(), [&](std::size_t p) {
            wide_natural total = 0;
            for_each_block(graph_, weights_, other.sent_.data(), bounds_[p], bounds_[p + 1],
                           [&](std::uint32_t first, std::uint32_t behind, const std::int64_t* sums) {
                               for (std::uint32_t v = first; v < behind; ++v) {
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
                sent_.data()[v] = score >> repeat_bits_;
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
    cpu_array<std::int64_t> sums_, sent_;
};

}  // namespace

fixed_hits_answer fixed_hits(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_question& question) {
    fixed_hits_answer answer;
    answer.converged = graph.nodes == 0;
    if (graph.nodes == 0) return answer;
    side authorities(place, graph, question.link_weights, question.repeat_bits);
    side hubs(place, back, question.back_weights, question.repeat_bits);
    hubs.send((std::int64_t{1} << 62) / graph.nodes);
    while (!answer.converged && answer.iterations < question.max_iterations) {
        place.run().check_stop();
        answer.authority_change = authorities.step(hubs);
        answer.hub_change = hubs.step(authorities);
        ++answer.iterations;
        answer.converged = answer.authority_change < question.tolerance;
    }
    answer.authorities = authorities.take_scores();
    answer.hubs = hubs.take_scores();
    return answer;
}

}  // namespace quern::link_rank_detail
