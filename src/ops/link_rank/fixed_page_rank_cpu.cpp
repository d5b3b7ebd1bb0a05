// SPDX-License-Identifier: Apache-2.0
// The integer iteration on the CPU. One pass over the nodes spreads a step, measures it and takes for the next, so that
// what a node owns passes through the caches once a step; links are read once, 4 bytes each, and gather 4 bytes.
#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/hot_first.hpp"
#include "ops/link_rank/link_pieces.hpp"
#include "ops/link_rank/link_sums.hpp"
#include "ops/link_rank/node_kernels.hpp"

namespace quern::link_rank_detail {
namespace {

using totals = pass_totals;

void add(totals& sum, const totals& part) {
    sum.change += part.change;
    sum.greatest = std::max(sum.greatest, part.greatest);
    sum.stayed += part.stayed;
    sum.lost += part.lost;
}

/// How a step is taken.
struct taking {
    bool wide = false;
    unsigned shift = 0;
};

class iteration {
  public:
    iteration(cpu_place& place, const link_graph_view& graph, const fixed_question& question)
        : place_(place),
          graph_(graph),
          question_(question),
          weighted_(!question.link_weights.empty()),
          order_(place, graph, question.max_iterations),
          links_(order_.links(graph)),
          bounds_(link_pieces(place, graph.offsets)),
          ranks_(place, graph.nodes, "the ranks"),
          residuals_(place, graph.nodes, "the residuals") {}

    fixed_answer run() {
        taking now{true, 0}, next{true, 0};
        totals taken = begin();

        fixed_answer answer;
        std::uint64_t before = ~std::uint64_t{0}, before_that = before;
        for (;;) {
            place_.run().check_stop();
            const totals all = step(now, next, taken.lost);
            ++answer.iterations;
            if (now.wide && !weighted_) ++answer.wide_steps;
            answer.change = all.change;
            answer.converged = all.change < question_.tolerance;
            const bool stuck = answer.iterations >= 3 && all.change >= before && before >= before_that;
            if (answer.converged || answer.iterations == question_.max_iterations || stuck) break;
            before_that = std::exchange(before, all.change);
            taken = all;
            now = next;
            if (!weighted_) next = after(next, all);
        }
        answer.ranks.assign(ranks_.data(), ranks_.data() + ranks_.size());
        return answer;
    }

  private:
    /// How the step after the next one is taken.
    taking after(const taking& next, const totals& all) {
        const unsigned shift = shift_for(all.greatest, question_.contribution_digits);
        const bool clamped = shift > next.shift;
        if (next.shift > 0 && !clamped && all.stayed > all.change / 16) stays_wide_ = true;
        return stays_wide_ ? taking{true, 0} : taking{false, shift};
    }

    /// work(begin, end) → totals for stretches of nodes, on all threads.
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
        return question_.teleport.empty() ? question_.teleport_each : question_.teleport[v];
    }
    std::int64_t start(std::uint32_t v) const {
        return question_.start.empty() ? question_.start_each : question_.start[v];
    }

    /// Takes for the first step.
    totals begin() {
        std::int64_t* const sent = array_for<std::int64_t>(turn_);
        return over_nodes([&](std::uint32_t begin, std::uint32_t end) {
            totals sum;
            for (std::uint32_t v = begin; v < end; ++v) {
                ranks_.data()[v] = teleport(v);
                residuals_.data()[v] = teleport(v) - take(v, start(v), {true, 0}, sent, sum);
            }
            return sum;
        });
    }

    /// Writes what node v sends of `amount` and returns what is taken for it.
    template <class Sent>
    std::int64_t take(std::uint32_t v, std::int64_t amount, const taking& how, Sent* sent,
                      totals& sum) const {
        const std::uint64_t degree = graph_.out_degrees[v];
        Sent& of_node = sent[order_.slot(v)];
        of_node = 0;
        if (degree == 0) sum.lost += amount;
        if (weighted_) of_node = static_cast<Sent>(amount);
        if (degree == 0 || weighted_) return amount;
        const double divisor =
            static_cast<double>(degree) * static_cast<double>(std::uint64_t{1} << how.shift);
        if constexpr (std::is_same_v<Sent, std::int32_t>) {
            of_node = narrow_contribution(amount, divisor);
        } else {
            of_node = wide_contribution(amount, divisor);
        }
        return taken(of_node, degree, how.shift);
    }

    /// Spreads and measures a step taken as `now` has it, and takes for the next.
    totals step(const taking& now, const taking& next, std::int64_t lost) {
        const std::int64_t lost_share = times_fraction(question_.alpha, lost);
        each_ = question_.dangling == dangling_rule::uniform ? even_.next(lost_share, graph_.nodes) : 0;
        preferred_ = question_.dangling == dangling_rule::preference ? lost_share : 0;
        if (now.wide && next.wide) return step_as<std::int64_t, std::int64_t>(now, next);
        if (now.wide) return step_as<std::int64_t, std::int32_t>(now, next);
        if (next.wide) return step_as<std::int32_t, std::int64_t>(now, next);
        return step_as<std::int32_t, std::int32_t>(now, next);
    }

    template <class Sent, class Next>
    totals step_as(const taking& now, const taking& next) {
        const Sent* const sent = array_for<Sent>(turn_);
        Next* const send = array_for<Next>(turn_ ^ 1);
        const totals all = over_nodes([&](std::uint32_t begin, std::uint32_t end) {
            totals sum;
            for_each_block(links_, question_.link_weights, sent, begin, end,
                           [&](std::uint32_t first, std::uint32_t behind, const std::int64_t* sums) {
                               const std::uint32_t moved =
                                   move_most(first, behind, sums, now, next, send, sum);
                               for (std::uint32_t v = first + moved; v < behind; ++v)
                                   move_node(v, shifted(sums[v - first], now.shift), next, send, sum);
                           });
            return sum;
        });
        turn_ ^= 1;
        if constexpr (!std::is_same_v<Sent, Next>) std::get<two_arrays<Sent>>(sent_) = {};
        return all;
    }

    /// As move_node, for as many nodes of a block as fill vectors; how many that was.
    template <class Sent>
    std::uint32_t move_most(std::uint32_t first, std::uint32_t behind, const std::int64_t* sums,
                            const taking& now, const taking& next, Sent* send, totals& sum) {
        if constexpr (std::is_same_v<Sent, std::int32_t>) {
            const double divisor = static_cast<double>(std::uint64_t{1} << next.shift);
            const node_step step{question_.alpha, now.shift, each_, preferred_, divisor, next.shift};
            std::int32_t apart[block_nodes];  // where contributions are not in the order of nodes
            const node_arrays nodes{sums,
                                    graph_.out_degrees.data() + first,
                                    preferred_ == 0 ? nullptr : question_.preference.data() + first,
                                    ranks_.data() + first,
                                    residuals_.data() + first,
                                    order_.renumbered() ? apart : send + first};
            const auto moved = static_cast<std::uint32_t>(move_nodes(step, nodes, behind - first, sum));
            if (order_.renumbered())
                for (std::uint32_t i = 0; i < moved; ++i) send[order_.slot(first + i)] = apart[i];
            return moved;
        }
        return 0;
    }

    template <class Sent>
    void move_node(std::uint32_t v, std::int64_t sum_of_links, const taking& next, Sent* send, totals& sum) {
        std::int64_t gain = times_fraction(question_.alpha, sum_of_links) + each_;
        if (preferred_ != 0) gain += times_fraction(question_.preference[v], preferred_);
        ranks_.data()[v] += gain;
        const std::int64_t residual = residuals_.data()[v] + gain;
        sum.change += magnitude(residual);
        const std::uint64_t degree = graph_.out_degrees[v];
        if (degree != 0) sum.greatest = std::max(sum.greatest, size_a_link(residual, degree));
        const std::int64_t left = residual - take(v, residual, next, send, sum);
        sum.stayed += magnitude(left);
        residuals_.data()[v] = left;
    }

    static std::int64_t shifted(std::int64_t value, unsigned shift) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift);
    }

    /// Two arrays of what is sent: one is read, one is written.
    template <class Sent>
    using two_arrays = std::array<cpu_array<Sent>, 2>;
    template <class Sent>
    Sent* array_for(std::size_t which) {
        cpu_array<Sent>& one = std::get<two_arrays<Sent>>(sent_)[which];
        if (one.size() == 0) one = cpu_array<Sent>(place_, graph_.nodes, "what nodes send");
        return one.data();
    }

    cpu_place& place_;
    const link_graph_view& graph_;
    const fixed_question& question_;
    bool weighted_, stays_wide_ = false;
    hot_first order_;
    link_graph_view links_;  ///< sources are where contributions are
    std::vector<std::uint32_t> bounds_;
    cpu_array<std::int64_t> ranks_, residuals_;
    std::tuple<two_arrays<std::int32_t>, two_arrays<std::int64_t>> sent_;
    std::size_t turn_ = 0;  ///< which of two_arrays is read
    even_shares even_;
    std::int64_t each_ = 0, preferred_ = 0;  ///< of what was lost: to each node; by preference
};

}  // namespace

fixed_answer fixed_page_rank(cpu_place& place, const link_graph_view& graph, const fixed_question& question) {
    if (graph.nodes == 0) return {};
    return iteration(place, graph, question).run();
}

}  // namespace quern::link_rank_detail
