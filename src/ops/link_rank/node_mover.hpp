// SPDX-License-Identifier: Apache-2.0
// CPU: the pass of a step over neighbouring nodes: spreads and measures the step, and takes for the next one, so that each node's
// data passes through the caches once per step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_sums.hpp"
#include "ops/link_rank/step_control.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// Nodes that send from the positions of their numbers, as a degree_ordering that does not renumber.
struct slots_as_numbered {
    static constexpr bool renumbered() { return false; }
    static constexpr std::uint32_t slot(std::uint32_t v) { return v; }
};

/// `params`, `degrees`, `ranks` and `residuals` are those of the nodes that are moved, numbered from 0.
template <class Slots>
class node_mover {
  public:
    node_mover(const fixed_page_rank_params& params, const step_control& control,
               std::span<const std::uint64_t> degrees, const Slots& slots, std::int64_t* ranks,
               std::int64_t* residuals)
        : params_(params),
          control_(control),
          degrees_(degrees),
          slots_(slots),
          ranks_(ranks),
          residuals_(residuals) {}

    /// Takes for the first step.
    pass_totals begin(std::uint32_t begin, std::uint32_t end, std::int64_t* contributions) const {
        pass_totals sum;
        for (std::uint32_t v = begin; v < end; ++v) {
            ranks_[v] = teleport(v);
            residuals_[v] = teleport(v) - take(v, start(v), {true, 0}, contributions, sum);
        }
        return sum;
    }

    /// `links`: the sources are positions of `contributions`. What the nodes send goes to `next_contributions`.
    template <class Contribution, class Next>
    pass_totals step(const link_graph_view& links, const Contribution* contributions,
                     Next* next_contributions, std::uint32_t begin, std::uint32_t end) const {
        pass_totals sum;
        for_each_block(
            links, params_.link_weights, contributions, begin, end,
            [&](std::uint32_t first, std::uint32_t past_end, const std::int64_t* sums) {
                const std::uint32_t moved = move_most(first, past_end, sums, next_contributions, sum);
                for (std::uint32_t v = first + moved; v < past_end; ++v)
                    move_node(v, shifted(sums[v - first], control_.now.shift), next_contributions, sum);
            });
        return sum;
    }

  private:
    std::int64_t teleport(std::uint32_t v) const {
        return params_.teleport.empty() ? params_.teleport_each : params_.teleport[v];
    }
    std::int64_t start(std::uint32_t v) const {
        return params_.start.empty() ? params_.start_each : params_.start[v];
    }

    /// Writes what node v sends of `amount`; returns what is taken for it.
    template <class Contribution>
    std::int64_t take(std::uint32_t v, std::int64_t amount, const step_mode& how, Contribution* contributions,
                      pass_totals& sum) const {
        const std::uint64_t degree = degrees_[v];
        Contribution& of_node = contributions[slots_.slot(v)];
        of_node = 0;
        if (degree == 0) sum.dangling_mass += amount;
        if (control_.weighted) of_node = static_cast<Contribution>(amount);
        if (degree == 0 || control_.weighted) return amount;
        const double divisor =
            static_cast<double>(degree) * static_cast<double>(std::uint64_t{1} << how.shift);
        if constexpr (std::is_same_v<Contribution, std::int32_t>) {
            of_node = narrow_contribution(amount, divisor);
        } else {
            of_node = wide_contribution(amount, divisor);
        }
        return taken(of_node, degree, how.shift);
    }

    /// As move_node, for as many nodes of a block as fill vectors; returns their number.
    template <class Contribution>
    std::uint32_t move_most(std::uint32_t first, std::uint32_t past_end, const std::int64_t* sums,
                            Contribution* next_contributions, pass_totals& sum) const {
        if constexpr (std::is_same_v<Contribution, std::int32_t>) {
            const step_mode& next = control_.next;
            const double divisor = static_cast<double>(std::uint64_t{1} << next.shift);
            const node_step step{
                params_.alpha, control_.now.shift, control_.uniform_share, control_.personalised_share,
                divisor,       next.shift};
            std::int32_t apart[block_nodes];  // where contributions are not in node order
            const node_arrays nodes{
                sums,
                degrees_.data() + first,
                control_.personalised_share == 0 ? nullptr : params_.preference.data() + first,
                ranks_ + first,
                residuals_ + first,
                slots_.renumbered() ? apart : next_contributions + first};
            const auto moved = static_cast<std::uint32_t>(move_nodes(step, nodes, past_end - first, sum));
            if (slots_.renumbered())
                for (std::uint32_t i = 0; i < moved; ++i)
                    next_contributions[slots_.slot(first + i)] = apart[i];
            return moved;
        }
        return 0;
    }

    template <class Contribution>
    void move_node(std::uint32_t v, std::int64_t sum_of_links, Contribution* next_contributions,
                   pass_totals& sum) const {
        std::int64_t gain = times_fraction(params_.alpha, sum_of_links) + control_.uniform_share;
        if (control_.personalised_share != 0)
            gain += times_fraction(params_.preference[v], control_.personalised_share);
        ranks_[v] += gain;
        const std::int64_t residual = residuals_[v] + gain;
        sum.change += magnitude(residual);
        const std::uint64_t degree = degrees_[v];
        if (degree != 0) sum.greatest = std::max(sum.greatest, size_a_link(residual, degree));
        const std::int64_t left = residual - take(v, residual, control_.next, next_contributions, sum);
        sum.residual_mass += magnitude(left);
        residuals_[v] = left;
    }

    static std::int64_t shifted(std::int64_t value, unsigned shift) {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift);
    }

    const fixed_page_rank_params& params_;
    const step_control& control_;
    std::span<const std::uint64_t> degrees_;
    const Slots& slots_;
    std::int64_t *ranks_, *residuals_;
};

}  // namespace quern::link_rank_detail
