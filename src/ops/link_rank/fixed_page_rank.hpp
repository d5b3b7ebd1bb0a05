// SPDX-License-Identifier: Apache-2.0
// PageRank in integers: the residual iteration (Richardson; Gleich 2015, section 5) on a grid of 2^-62. Every rounding
// error is accounted for. fixed_arithmetic.hpp has the arithmetic of one node.
//
// State of a node v: rank z_v and residual ρ_v, signed 64-bit, in units of 2^-62. With x = z − ρ,
//     ρ = (1 − α)v + α·(Gᵀx + d(x)·v) − x                                                            (invariant)
// holds before and after every step, apart from accounted roundings, for any part of the residual that a step takes: moving
// mass from ρ to x does not change z. So a step may take a rounded part: it sends 32-bit integers along the links, and the
// rest of the rounding stays in ρ for a later step. z = x + ρ equals the power iteration's vector, and α/(1 − α)·Σ|ρ| bounds
// its error.
//
//   Before: z = ρ = (1 − α)v, x = 0.
//   Step k = 1, 2, …:
//   take    Of each node u with out-degree D_u > 0, c_u = trunc(clamp(double(ρ_u) / (double(D_u)·2^s))) is sent, within
//           ±(2^31 − 1) (narrow) or, with s = 0, without a limit (wide); the division is the IEEE one. t_u = c_u·D_u·2^s.
//           A node without outgoing links gives its whole residual: t_u = ρ_u; E = Σ t_u over these. ρ_u −= t_u.
//           R_k = Σ|ρ_u|, the remaining residual.
//           In step 1, c and t are taken from `start` instead of ρ, but still ρ_u −= t_u. Steps 1 and 2 are wide: a start
//           may be nearly right, and neither it nor its error is known well enough to round it.
//   spread  Every node v gets g_v = mul(α, 2^s·Σ c_u over links u→v) + share_v: ρ_v += g_v, z_v += g_v, where
//             mul(α, S) = (S·α64 + 2^63) >> 64, α64 = α·2^64, in 128 bits (rounds half up);
//             share_v: uniform: F += mul(α, E); each = floor(F / n); F −= n·each (kept for the next step); share = each;
//                      preference: mul(v_v·2^64, mul(α, E)); none: 0.
//   measure L_k = Σ|ρ_v|, M_k = max(|ρ_v| >> (digits(D_v) − 1)) over D_v > 0; digits: the number of binary digits.
//
//   The take of step k + 1 can be done in the pass that spreads and measures step k: s_{k+2} = max(0, digits(M_k) − b),
//   k >= 1, b = params.contribution_digits. Where M grows, a c_u can be too large and is clamped: the rest stays in ρ.
// All
//   steps from k + 2 on are wide again if k >= 2, s_{k+1} > 0, R_{k+1} > floor(L_k / 16), and the s_{k+2} measured this way
//   is not above s_{k+1}: clamping was then not the cause of the large rest.
//   Ends after step k if L_k < tolerance (converged), if k = max_iterations, or if L_k >= L_{k−1} >= L_{k−2}: the grid is
//   then too coarse for the tolerance. The ranks are z after the spread of step k; an early next take does not change them.
//
// Weights: p_uv = w/W_u·2^63; t_u = ρ_u (of step 1: start); the sum above is (Σ t_u·p_uv + 2^62) >> 63, in 128 bits,
// rounded once per node. No step counts as wide.
//
// All sums are of integers, exact, in any order: the same bits on every place, for any numbering of the nodes, any number
// of threads and any tiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "device/place.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

struct fixed_page_rank_params {
    std::uint64_t alpha = 0;      ///< α·2^64
    std::uint64_t tolerance = 0;  ///< in units of 2^-62; stop when L is below
    std::uint32_t max_iterations = 0;
    unsigned contribution_digits =
        30;  ///< bits that s aims at, of 31; fewer only in tests, to force wide steps
    dangling_rule dangling = dangling_rule::uniform;
    std::int64_t teleport_each = 0;             ///< (1 − α)/n in units, where preference is empty
    std::span<const std::int64_t> teleport;     ///< (1 − α)v_v in units; empty: teleport_each
    std::span<const std::uint64_t> preference;  ///< v_v·2^64, at most 2^64 − 1; empty: 1/n each
    std::int64_t start_each = 0;                ///< 1/n in units, where start is empty
    std::span<const std::int64_t> start;        ///< in units, each >= 0, sum at most 2^62; empty: start_each
    std::span<const std::uint64_t> link_weights;  ///< p_uv, as graph.sources; empty: no weights
};

struct fixed_page_rank_result {
    std::vector<std::int64_t> ranks;  ///< z, in units of 2^-62
    std::uint32_t iterations = 0;     ///< steps: number of passes over the links
    std::uint64_t change = 0;         ///< L of the last step, in units
    bool converged = false;
    std::uint32_t wide_steps = 0;
};

/// `graph` is in host memory and has been checked. CUDA: links that do not fit the device's budget are streamed in tiles of
/// nodes; the arrays per node (x, ρ, c, D, offsets) must fit (out_of_memory).
fixed_page_rank_result fixed_page_rank(cpu_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params);
fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params);

struct cpu_rank_links;   // fixed_page_rank_cpu.cpp
struct cuda_rank_links;  // rank_state.cuh
/// The links of a graph as the iteration on a place reads them. Null until the first call makes them.
template <class Place>
using kept_rank_links =
    std::shared_ptr<std::conditional_t<std::is_same_v<Place, cpu_place>, cpu_rank_links, cuda_rank_links>>;

/// The same for many calls with one graph and its link weights, both of which outlive `kept`. `steps`: how many of them
/// the links are arranged for, over all calls.
fixed_page_rank_result fixed_page_rank(cpu_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params, kept_rank_links<cpu_place>& kept,
                                       std::uint32_t steps);
fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params,
                                       kept_rank_links<cuda_place>& kept, std::uint32_t steps);

/// HITS on the same grid. h and a are non-negative, in units of 2^-62, with sum at most 2^62; initially h = floor(2^62 /
/// n).
/// - One step: a_v = Σ (h_u >> g) over links u→v, scaled to sum 2^62 (scale_of, scaled); h_u = Σ (a_v >> g) over links u→v,
///   scaled in the same way. g: the binary digits of the highest multiplicity of a link, less one.
/// - Weights: the sum is (Σ (h_u >> g)·p + 2^62) >> 63 in 128 bits, with p = weight over the maximum weight, times 2^63.
/// - If all sums are 0, all scores stay 0.
/// - `graph` is by target, `back` by source (its transpose).
/// - Stops when Σ|a − previous a| is below the tolerance; the previous a is 0 in the first step. The change of h is
///   measured too (h before the first step: 0).
struct fixed_hits_result {
    std::vector<std::int64_t> authorities, hubs;
    std::uint32_t iterations = 0;
    std::uint64_t authority_change = 0, hub_change = 0;
    bool converged = false;
};
struct fixed_hits_params {
    std::uint64_t tolerance = 0;
    std::uint32_t max_iterations = 0;
    unsigned repeat_bits = 0;                                   ///< g
    std::span<const std::uint64_t> link_weights, back_weights;  ///< p; empty: no weights
};
fixed_hits_result fixed_hits(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params);
fixed_hits_result fixed_hits(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params);

struct cpu_hits_links {};  ///< nothing: links are read in place
struct cuda_hits_links;    // fixed_hits_cuda.cu
/// As kept_rank_links.
template <class Place>
using kept_hits_links =
    std::shared_ptr<std::conditional_t<std::is_same_v<Place, cpu_place>, cpu_hits_links, cuda_hits_links>>;

/// The same for many calls with one graph and its link weights, all of which outlive `kept`.
fixed_hits_result fixed_hits(cpu_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params, kept_hits_links<cpu_place>& kept);
fixed_hits_result fixed_hits(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params, kept_hits_links<cuda_place>& kept);

/// Progress of an iteration: the steps done, and the expected total if the change keeps falling at the current rate.
class step_report {
  public:
    step_report(const context& ctx, double tolerance, std::uint32_t max_iterations)
        : ctx_(ctx), tolerance_(tolerance), max_(max_iterations) {}

    /// Call after step `done`. `change` is in the unit of the tolerance, `shown` in the unit for users.
    void step(std::uint32_t done, double change, double shown) {
        const double fall = before_ > 0 ? change / before_ : 0;
        before_ = change;
        if (!ctx_.on_progress) return;
        std::uint64_t expected = 0;  // unknown
        if (fall > 0 && fall < 1 && change > 0) {
            const double left = std::ceil(std::log(tolerance_ / change) / std::log(fall));
            expected = done + static_cast<std::uint64_t>(std::clamp(left, 0.0, double{0xffffffff}));
            expected = std::max<std::uint64_t>(done, std::min<std::uint64_t>(expected, max_));
        }
        char unit[48];
        std::snprintf(unit, sizeof unit, "iterations, change %.3g", shown);
        ctx_.report({"rank", done, expected, unit});
    }

  private:
    const context& ctx_;
    double tolerance_, before_ = 0;
    std::uint32_t max_;
};

}  // namespace quern::link_rank_detail
