// SPDX-License-Identifier: Apache-2.0
// Controls the steps of the integer iteration (fixed_page_rank.hpp), for all nodes alike: modes, shares, termination.
// Decisions depend on the totals of each step alone, so every machine that has them decides alike.
#pragma once

#include <cstdint>
#include <utility>

#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"

namespace quern::link_rank_detail {

/// The mode of a take.
struct step_mode {
    bool wide = true;
    unsigned shift = 0;
};

struct step_control {
    std::uint32_t nodes = 0;
    bool weighted = false;
    step_mode now = {}, next = {};  ///< of the step that is spread, and of the take for the next one
    bool stays_wide = false, ended = false, converged = false;
    std::uint32_t iterations = 0, wide_steps = 0;
    std::uint64_t change = 0;                                        ///< L of the last step
    std::uint64_t before = ~std::uint64_t{0}, before_that = before;  ///< L of those before it
    even_shares even = {};
    std::int64_t uniform_share = 0, personalised_share = 0;  ///< lost mass: to each node; by preference

    /// Before the pass of a step; `dangling_mass` is that of its take.
    void begin_step(const fixed_page_rank_params& params, std::int64_t dangling_mass) {
        const std::int64_t share = times_fraction(params.alpha, dangling_mass);
        uniform_share = params.dangling == dangling_rule::uniform ? even.next(share, nodes) : 0;
        personalised_share = params.dangling == dangling_rule::preference ? share : 0;
    }

    /// After the pass, with its totals over all nodes: ends the iteration, or goes on to the next step.
    void end_step(const fixed_page_rank_params& params, const pass_totals& all) {
        ++iterations;
        if (now.wide && !weighted) ++wide_steps;
        change = all.change;
        converged = change < params.tolerance;
        const bool stuck = iterations >= 3 && change >= before && before >= before_that;
        ended = converged || iterations == params.max_iterations || stuck;
        if (ended) return;
        before_that = std::exchange(before, change);
        now = next;
        if (!weighted) next = after_next(params, all);
    }

  private:
    /// The mode of the step after the next one.
    step_mode after_next(const fixed_page_rank_params& params, const pass_totals& all) {
        const unsigned shift = shift_for(all.greatest, params.contribution_digits);
        const bool clamped = shift > next.shift;
        if (next.shift > 0 && !clamped && all.residual_mass > all.change / 16) stays_wide = true;
        return stays_wide ? step_mode{true, 0} : step_mode{false, shift};
    }
};

inline void add_totals(pass_totals& sum, const pass_totals& part) {
    sum.change += part.change;
    sum.greatest = part.greatest > sum.greatest ? part.greatest : sum.greatest;
    sum.residual_mass += part.residual_mass;
    sum.dangling_mass += part.dangling_mass;
}

}  // namespace quern::link_rank_detail
