// SPDX-License-Identifier: Apache-2.0
// The integer arithmetic of one node; fixed_page_rank.hpp defines the whole iteration. Plain functions shared by all
// compilers and all places.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bits.hpp"

namespace quern::link_rank_detail {

__extension__ typedef __int128 wide_integer;
__extension__ typedef unsigned __int128 wide_natural;

/// α·sum, rounded half up; `factor` is α·2^64.
constexpr std::int64_t times_fraction(std::uint64_t factor, std::int64_t sum) {
    constexpr wide_integer half = wide_integer{1} << 63;
    return static_cast<std::int64_t>((static_cast<wide_integer>(sum) * factor + half) >> 64);
}

constexpr std::uint64_t magnitude(std::int64_t value) {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

/// M is the maximum of this value: at least half of |residual| / degree, for degree > 0.
constexpr std::uint64_t size_a_link(std::int64_t residual, std::uint64_t degree) {
    return magnitude(residual) >> (binary_digits(degree) - 1);
}
/// s for the maximum size_a_link: contributions then have at most one binary digit more than `aim`.
constexpr unsigned shift_for(std::uint64_t greatest, unsigned aim) {
    return binary_digits(greatest) <= aim ? 0 : binary_digits(greatest) - aim;
}

/// c of one node; `divisor` is double(degree)·2^s, degree > 0.
constexpr std::int64_t wide_contribution(std::int64_t residual, double divisor) {
    return static_cast<std::int64_t>(static_cast<double>(residual) / divisor);
}
constexpr std::int32_t narrow_contribution(std::int64_t residual, double divisor) {
    constexpr double max = 0x7fffffff;
    const double each = static_cast<double>(residual) / divisor;
    return static_cast<std::int32_t>(each > max ? max : each < -max ? -max : each);
}
/// t of one node.
constexpr std::int64_t taken(std::int64_t contribution, std::uint64_t degree, unsigned shift) {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(contribution) * degree) << shift);
}

/// A sum of products with 63-bit fractions, rounded half up.
constexpr std::int64_t rounded_products(wide_integer sum) {
    return static_cast<std::int64_t>((sum + (wide_integer{1} << 62)) >> 63);
}

/// What a node gets in addition to its links' contributions. Uniform rule: an equal share of F, all mass lost so far, as
/// far as it divides evenly.
struct even_shares {
    std::int64_t kept = 0;  ///< F
    /// The share of each of `nodes` (> 0) nodes after another `dangling_mass`, α·E, has to be shared.
    constexpr std::int64_t next(std::int64_t dangling_mass, std::uint32_t nodes) {
        kept += dangling_mass;
        std::int64_t each = kept / nodes;
        if (kept % nodes < 0) --each;
        kept -= each * nodes;
        return each;
    }
};

/// Scales values with sum `sum` > 0 to sum 2^62, less at most one per value: scaled(value) = (value·times) >> shift, where
/// times = floor((2^(63 + b) − 1) / sum), at least 2^63, and shift = b + 1, b = binary_digits(sum).
struct unit_scale {
    std::uint64_t times = 0;
    unsigned shift = 0;
};
constexpr unit_scale scale_of(wide_natural sum) {
    unsigned b = 0;
    while (b < 127 && (sum >> b) != 0) ++b;
    // Long division, digit by digit: 2^(63 + b) − 1 starts with b digits 1, then 63 more follow.
    std::uint64_t quotient = 0;
    wide_natural rest = 0;
    for (unsigned digit = 0; digit < 63 + b; ++digit) {
        rest = rest * 2 + 1;
        quotient *= 2;
        if (rest >= sum) {
            rest -= sum;
            ++quotient;
        }
    }
    return {quotient, b + 1};
}
constexpr std::int64_t scaled(std::uint64_t value, const unit_scale& scale) {
    const wide_natural product = static_cast<wide_natural>(value) * scale.times;
    return static_cast<std::int64_t>(product >> scale.shift);
}

// The node pass of the integer iteration for many nodes at a time, with equal bits (node_kernels.cpp).

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
