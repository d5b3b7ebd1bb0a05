// SPDX-License-Identifier: Apache-2.0
// What the integer iteration does to nodes, many at a time: the vectors' form of fixed_arithmetic.hpp, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::link_rank_detail {

/// What a pass adds up over its nodes.
struct pass_totals {
    std::uint64_t change = 0;    ///< L of the step that is spread
    std::uint64_t greatest = 0;  ///< M
    std::uint64_t stayed = 0;    ///< R of the take for the next step
    std::int64_t lost = 0;       ///< E of the take for the next step
};

/// What is the same for all nodes in a pass.
struct node_step {
    std::uint64_t alpha = 0;     ///< α·2^64
    unsigned shift = 0;          ///< s of the step that is spread
    std::int64_t each = 0;       ///< what every node gets
    std::int64_t preferred = 0;  ///< what is shared by the preference
    double divisor = 1;          ///< 2^s of the step that is taken
    unsigned next_shift = 0;     ///< that s
};

/// Where the nodes' arrays begin.
struct node_arrays {
    const std::int64_t* sums = nullptr;  ///< what came along the links
    const std::uint64_t* degrees = nullptr;
    const std::uint64_t* preference = nullptr;  ///< null: none
    std::int64_t* ranks = nullptr;
    std::int64_t* residuals = nullptr;
    std::int32_t* send = nullptr;
};

/// Spreads to, measures and takes from the first nodes, narrowly; adds to `totals`. Returns how many it did: all but
/// less than a vector.
std::size_t move_nodes(const node_step& step, const node_arrays& nodes, std::size_t count,
                       pass_totals& totals);

}  // namespace quern::link_rank_detail
