// SPDX-License-Identifier: Apache-2.0
// PageRank in integers: the residual iteration (Richardson; Gleich 2015, section 5) on a grid of 2^-62, in which
// nothing is lost but what is counted. What one node does is fixed_arithmetic.hpp's.
//
// State of a node v: rank z_v and residual ρ_v, signed 64-bit, in units of 2^-62. With x = z − ρ,
//     ρ = (1 − α)v + α·(Gᵀx + d(x)·v) − x                                                            (invariant)
// holds before and after every step, apart from roundings that are counted, whatever part of the residual a step takes:
// what moves from ρ to x leaves z as it is. So a step may take a rounded part: what it sends along links is a 32-bit
// integer, and what rounding leaves stays in ρ for a later step. z = x + ρ is what a power iteration would have, and
// α/(1 − α)·Σ|ρ| bounds its error.
//
//   Before: z = ρ = (1 − α)v, x = 0.
//   Step k = 1, 2, …:
//   take    Of each node u with out-degree D_u > 0, c_u = trunc(clamp(double(ρ_u) / (double(D_u)·2^s))) is sent, within
//           ±(2^31 − 1) (narrow) or, with s = 0, without a limit (wide); the division is the IEEE one. t_u = c_u·D_u·2^s.
//           A node without links out gives all it has: t_u = ρ_u, and E = Σ t_u over these. ρ_u −= t_u.
//           R_k = Σ|ρ_u| of what stayed.
//           In step 1, c and t are taken from `start` in place of ρ; ρ_u −= t_u all the same. Steps 1 and 2 are wide: a
//           start may be nearly right, and neither it nor what it lacks is known well enough to round it.
//   spread  Every node v gets g_v = mul(α, 2^s·Σ c_u over links u→v) + share_v: ρ_v += g_v, z_v += g_v, where
//             mul(α, S) = (S·α64 + 2^63) >> 64, α64 = α·2^64, in 128 bits (rounds half up);
//             share_v: uniform: F += mul(α, E); each = floor(F / n); F −= n·each (kept for the next step); share = each;
//                      preference: mul(v_v·2^64, mul(α, E)); none: 0.
//   measure L_k = Σ|ρ_v|, M_k = max(|ρ_v| >> (digits(D_v) − 1)) over D_v > 0; digits: how many binary digits a number has.
//
//   The take of step k + 1 can be done in the pass that spreads and measures step k: s_{k+2} = max(0, digits(M_k) − b),
//   k >= 1, b = question.contribution_digits. Where M grows, a c_u can be too large and is clamped: the rest stays. All
//   steps from k + 2 on are wide again where, k >= 2, s_{k+1} > 0, R_{k+1} > floor(L_k / 16), and s_{k+2} so measured is
//   not above s_{k+1}: it was not clamping that left so much.
//   Ends after step k where L_k < tolerance (converged); where k = max_iterations; or where L_k >= L_{k−1} >= L_{k−2}: the
//   grid is too coarse for the tolerance. The ranks are z after the spread of step k: that the next take may have been
//   done does not show.
//
// Weights: p_uv = w/W_u·2^63; t_u = ρ_u (of step 1: start); the sum above is (Σ t_u·p_uv + 2^62) >> 63, in 128 bits,
// rounded once a node. No step counts as wide.
//
// All sums are of integers, exact, in any order: the same bits on every place, for any numbering of the nodes, any number
// of threads and any tiles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/place.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

struct fixed_question {
    std::uint64_t alpha = 0;      ///< α·2^64
    std::uint64_t tolerance = 0;  ///< in units of 2^-62; stop when L is below
    std::uint32_t max_iterations = 0;
    unsigned contribution_digits =
        30;  ///< that s aims at, of 31 there are; fewer only in tests, to need wide steps
    dangling_rule dangling = dangling_rule::uniform;
    std::int64_t teleport_each = 0;             ///< (1 − α)/n in units, where preference is empty
    std::span<const std::int64_t> teleport;     ///< (1 − α)v_v in units; empty: teleport_each
    std::span<const std::uint64_t> preference;  ///< v_v·2^64, at most 2^64 − 1; empty: 1/n each
    std::int64_t start_each = 0;                ///< 1/n in units, where start is empty
    std::span<const std::int64_t> start;        ///< in units, each >= 0, sum at most 2^62; empty: start_each
    std::span<const std::uint64_t> link_weights;  ///< p_uv, as graph.sources; empty: no weights
};

struct fixed_answer {
    std::vector<std::int64_t> ranks;  ///< z, in units of 2^-62
    std::uint32_t iterations = 0;     ///< steps: how often the links were gone through
    std::uint64_t change = 0;         ///< L of the last step, in units
    bool converged = false;
    std::uint32_t wide_steps = 0;
};

/// `graph` is in host memory and has been checked. CUDA: where its links do not fit the device's budget they are
/// streamed in tiles of nodes; what a node owns (x, ρ, c, D, offsets) must fit (out_of_memory).
fixed_answer fixed_page_rank(cpu_place& place, const link_graph_view& graph, const fixed_question& question);
fixed_answer fixed_page_rank(cuda_place& place, const link_graph_view& graph, const fixed_question& question);

/// HITS on the same grid. h and a are non-negative, in units of 2^-62, sum at most 2^62; h = floor(2^62 / n) at first. One
/// step: a_v = Σ (h_u >> g) over links u→v, then scaled to sum 2^62 (scale_of, scaled); h_u = Σ (a_v >> g) over links u→v,
/// scaled alike. g: binary digits of the most often repeated link, less one. Weights: the sum is
/// (Σ (h_u >> g)·p + 2^62) >> 63 in 128 bits, with p = weight over the greatest weight, times 2^63. All sums 0: all stays 0.
/// `graph` by target, `back` by source (its transpose). Stops when Σ|a − a before| is below tolerance, a before being 0 in
/// the first step; the same for h is measured too (h before the first step: 0).
struct fixed_hits_answer {
    std::vector<std::int64_t> authorities, hubs;
    std::uint32_t iterations = 0;
    std::uint64_t authority_change = 0, hub_change = 0;
    bool converged = false;
};
struct fixed_hits_question {
    std::uint64_t tolerance = 0;
    std::uint32_t max_iterations = 0;
    unsigned repeat_bits = 0;                                   ///< g
    std::span<const std::uint64_t> link_weights, back_weights;  ///< p; empty: no weights
};
fixed_hits_answer fixed_hits(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_question& question);
fixed_hits_answer fixed_hits(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_question& question);

}  // namespace quern::link_rank_detail
