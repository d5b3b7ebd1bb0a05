// SPDX-License-Identifier: Apache-2.0
// The node pass of the integer iteration for many nodes at a time: the vector form of fixed_arithmetic.hpp, with equal
// bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::link_rank_detail {

/// Totals of a pass over its nodes.
struct pass_totals {
    std::uint64_t change = 0;         ///< L of the step that is being spread
    std::uint64_t greatest = 0;       ///< M
    std::uint64_t residual_mass = 0;  ///< R of the take for the next step
    std::int64_t dangling_mass = 0;   ///< E of the take for the next step
};

/// The constants of a pass.
struct node_step {
    std::uint64_t alpha = 0;              ///< α·2^64
    unsigned shift = 0;                   ///< s of the step that is being spread
    std::int64_t each = 0;                ///< share of every node
    std::int64_t personalised_share = 0;  ///< mass shared by the preference
    double divisor = 1;                   ///< 2^s of the step that is being taken
    unsigned next_shift = 0;              ///< that s
};

/// The start of the nodes' arrays.
struct node_arrays {
    const std::int64_t* sums = nullptr;  ///< sums over the links
    const std::uint64_t* degrees = nullptr;
    const std::uint64_t* preference = nullptr;  ///< null: none
    std::int64_t* ranks = nullptr;
    std::int64_t* residuals = nullptr;
    std::int32_t* next_contributions = nullptr;
};

/// Spreads to, measures and takes from the first nodes, narrow only; adds to `totals`. Returns the number of nodes done:
/// all but less than one vector.
std::size_t move_nodes(const node_step& step, const node_arrays& nodes, std::size_t count,
                       pass_totals& totals);

}  // namespace quern::link_rank_detail
