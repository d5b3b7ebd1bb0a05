// SPDX-License-Identifier: Apache-2.0
// PageRank in integers: the residual iteration (Richardson; Gleich 2015, section 5) on a grid of 2^-62, in which
// nothing is lost but what is counted.
//
// State: ranks x and residuals ρ, signed 64-bit, in units of 2^-62. Apart from roundings that are counted,
//     ρ = (1 − α)v + α·(Gᵀx + d(x)·v) − x                                                            (invariant)
// holds before and after every step, whatever part of the residual a step takes. So a step may take a rounded part:
// what it sends along links is a 32-bit integer, and what rounding leaves stays in ρ for the next step.
//
//   Step: of each node u with out-degree D_u > 0, c_u = trunc(clamp(double(ρ_u >> s) / double(D_u))) is sent, within
//   ±(2^31 − 1) (narrow) or, with s = 0, ±(2^62 − 1) (wide); >> rounds down; the division is the IEEE one. t_u = c_u·D_u·2^s is
//   taken: x_u += t_u, ρ_u −= t_u. A node without links out gives all it has: t_u = ρ_u, and E += t_u.
//   Then every node v gets ρ_v += mul(α, 2^s·Σ c_u over links u→v) + share_v, where
//     mul(α, S) = (S·α64 + 2^63) >> 64, α64 = α·2^64 rounded to nearest, in 128 bits (rounds half up);
//     share_v: uniform: F += mul(α, E); each = floor(F / n); F −= n·each (kept for the next step); share = each;
//              preference: mul(v_v·2^64, mul(α, E)), v_v·2^64 as 64 bits, at most 2^64 − 1; none: 0.
//   Measured over all v: L = Σ|ρ_v| and M = max(|ρ_v| >> floor(log2 D_v)) over D_v > 0. Next step: s = max(0, bits(M) − 30)
//   where bits(M) is the number of M's binary digits — for the step that follows the one that measured it, so that one
//   pass can do both (a c_u that is too large is clamped: the rest stays). After the part is taken,
//   R = Σ|ρ_v| of what stayed. Narrow until R > L/16 once (and s > 0); wide from the next step on.
//   First step: what is sent is taken from `start` in place of ρ (x = 0, ρ = (1 − α)v before), s from M over `start`.
//   Stop after the step in which L < tolerance (in units); x includes what that step took. Iterations: the number of
//   times links were gone through.
//
// Weights: p_uv = w/W_u·2^63 (w: link weight, W_u = Σ of u's out-weights in the order of rising target, in double; the
// IEEE quotient times 2^63, rounded to nearest); t_u = ρ_u; a link adds (t_u·p_uv + 2^62) >> 63. s = 0 always.
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
    dangling_rule dangling = dangling_rule::uniform;
    std::int64_t teleport_each = 0;             ///< (1 − α)/n in units, where preference is empty
    std::span<const std::int64_t> teleport;     ///< (1 − α)v_v in units; empty: teleport_each
    std::span<const std::uint64_t> preference;  ///< v_v·2^64; empty: 1/n each
    std::int64_t start_each = 0;                ///< 1/n in units, where start is empty
    std::span<const std::int64_t> start;        ///< in units, each >= 0, sum at most 2^62; empty: start_each
    std::span<const std::uint64_t> link_weights;  ///< p_uv, as graph.sources; empty: no weights
};

struct fixed_answer {
    std::vector<std::int64_t> ranks;  ///< x, in units of 2^-62
    std::uint32_t iterations = 0;
    std::uint64_t change = 0;  ///< L of the last step, in units
    std::uint64_t taken = 0,
                  left = 0;  ///< Σ|t_u| and R of what the last step took and left: the error's bound
    bool converged = false;
    std::uint32_t wide_steps = 0;  ///< steps with 64-bit contributions
};

/// `graph` is in host memory and has been checked. CUDA: where its links do not fit the device's budget they are
/// streamed in tiles of nodes; what a node owns (x, ρ, c, D, offsets) must fit (out_of_memory).
fixed_answer fixed_page_rank(cpu_place& place, const link_graph_view& graph, const fixed_question& question);
fixed_answer fixed_page_rank(cuda_place& place, const link_graph_view& graph, const fixed_question& question);

/// HITS on the same grid. h and a are non-negative, in units of 2^-62, sum at most 2^62. One step: a_v = Σ (h_u >> g)
/// over links u→v, then scaled: floor(a_v·2^62 / Σa) in 128 bits; h_u = Σ (a_v >> g) over links u→v, scaled alike.
/// g: binary digits of the most often repeated link, less one. Weights: a link adds ((h_u >> g)·p + 2^62) >> 63, with
/// p = weight over the greatest weight, times 2^63. `graph` by target, `back` by source (its transpose).
/// Stops when Σ|a − a before| is below tolerance, a before being 0 in the first step; the same for h is measured too.
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
