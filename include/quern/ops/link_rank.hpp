// SPDX-License-Identifier: Apache-2.0
// Importance of the nodes of a graph: PageRank (Page et al. 1999) and HITS (Kleinberg 1999).
//
//     link_graph graph = make_link_graph(nodes, links, {}, run);
//     link_ranks found = page_rank(graph.view(), {}, run);   // found.ranks[v], found.order
//
// Contract class: exact. Ranks are fixed-point integers and their sums integer additions, so the order of
// links, threads and tiles and the device do not matter: the same bits everywhere. The storage formats that add
// floats (rank_storage other than automatic) also give the same bits everywhere, except brc and brcp_paper,
// which exist for comparison. docs/link_rank.md has the arithmetic and the proven error bound.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/choose_device.hpp"
#include "quern/base/context.hpp"
#include "quern/base/link.hpp"
#include "quern/base/value_precision.hpp"

namespace quern {

// ---- Graphs ----

/// The incoming links of each node: node v is linked from sources[offsets[v]] … sources[offsets[v + 1]], in
/// ascending order. A link that occurs twice is listed twice, a self-link once. Nodes without links count as
/// nodes.
struct link_graph_view {
    std::uint32_t nodes = 0;                 ///< below 2^32 - 2
    std::span<const std::uint64_t> offsets;  ///< nodes + 1, from 0; empty: no nodes
    std::span<const std::uint32_t> sources;
    std::span<const double> weights;  ///< parallel to sources, positive and finite; empty: weight 1
    std::span<const std::uint64_t> out_degrees;  ///< number of outgoing links of each node
};
struct link_graph {
    std::uint32_t nodes = 0;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> sources;
    std::vector<double> weights;
    std::vector<std::uint64_t> out_degrees;

    link_graph_view view() const { return {nodes, offsets, sources, weights, out_degrees}; }
};

/// Sorts links by target, then source, then weight, so that the order of `links` does not matter. `weights` is
/// empty or has one per link. Throws usage_error with the number of the link for an endpoint of `nodes` or more
/// and for a weight that is not positive and finite, out_of_memory.
link_graph make_link_graph(std::uint32_t nodes, std::span<const link> links, std::span<const double> weights,
                           const context& ctx);

// ---- Ranks ----

/// Distribution of the rank of nodes without outgoing links, in each step: uniformly, by the preference, or
/// none (lost).
enum class dangling_rule { uniform, preference, none };
inline constexpr std::string_view dangling_rule_names[] = {"uniform", "preference", "none"};

/// automatic: fixed-point integers, without values if links have no weights. The others: PageRank in floating point over a
/// matrix in this format, as in the papers.
enum class rank_storage { automatic, coo, csr, ell, brc, brcp, brcp_paper };
inline constexpr std::string_view rank_storage_names[] = {"auto", "coo",  "csr",       "ell",
                                                          "brc",  "brcp", "brcp-paper"};

struct page_rank_options {
    double damping = 0.85;    ///< α, 0 <= α < 1
    double tolerance = 1e-5;  ///< stop when the L1 change of a step is below; > 0
    std::uint32_t max_iterations = 1000;
    dangling_rule dangling = dangling_rule::uniform;
    /// v, one per node, >= 0, finite, not all 0; scaled to sum 1. Empty: 1/n each.
    std::span<const double> preference = {};
    std::span<const double> start = {};  ///< initial ranks, like preference. Empty: v
    rank_storage storage = rank_storage::automatic;
    /// Of the matrix, the ranks and all sums over a storage format. f32, the type of the paper on BRCP (Yang et al. 2019), has
    /// some 7 digits of a rank, and close ranks change places.
    value_precision precision = value_precision::f64;
};

/// r = α·(Gᵀr + d·v) + (1 − α)·v, G_ij = weight of i→j divided by all weights of i, d the rank of nodes without
/// outgoing links.
struct link_ranks {
    /// One per node; for PageRank the sum is 1 except with dangling_rule::none.
    std::vector<double> ranks;
    std::vector<std::uint32_t> order;  ///< nodes by descending rank, then ascending node
    std::uint32_t iterations = 0;
    double change = 0;  ///< the L1 change of the last step
    /// Upper bound of Σ |rank − true rank|: α/(1 − α)·change plus the error of the arithmetic.
    double error_bound = 0;
    bool converged = false;  ///< change < tolerance
    std::string place;       ///< the device, with the reason
};

/// Empty for a graph without nodes. Throws usage_error for options out of range, for f32 with automatic storage and
/// for an invalid view; out_of_memory, interrupted, device_error. Cost: a step reads 4 bytes per link and gathers 4
/// (8 if links have weights).
link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& ctx);

struct hits_options {
    double tolerance = 1e-5;  ///< stop when the L1 change of the authorities in a step is below
    std::uint32_t max_iterations = 1000;
};
/// a = Aᵀh, h = A·a, each scaled to sum 1, from h = 1/n. With several largest eigenvalues (a disconnected
/// graph) the result is the limit from this start. Without links: all 0.
struct hits_scores {
    link_ranks authorities, hubs;  ///< error_bound is unknown: NaN
};
hits_scores hits(const link_graph_view& graph, const hits_options& options, const context& ctx);

// ---- A graph that stays ----

/// A graph that is checked once and whose links stay on the chosen device, arranged for the measures at the first call of
/// each:
///
///     resident_graph links(graph.view(), run);
///     for (const auto& seeds : topics) ranks = links.page_rank({.preference = seeds});
///
/// Move-only; one call at a time. Results have the bits of page_rank and hits.
class resident_graph {
  public:
    /// The memory of the view outlives this object, which reads it: on the CPU in every step, on a GPU to arrange links,
    /// and in every step those that do not fit. Throws as the functions do.
    /// Several GPUs each have the links of a part of the nodes; PageRank over stored matrices uses the first.
    resident_graph(const link_graph_view& graph, const context& ctx);
    /// On devices that are already chosen: the first ones, as many as have links for `work` each, a node counted as four
    /// links; all, if context::gpu_memory_bytes is too small for one.
    resident_graph(const link_graph_view& graph, const context& ctx, const chosen_device& chosen,
                   std::uint64_t work = work_a_device);
    /// Below, a step takes an H200 less than 0.15 ms, and an exchange costs too much of it.
    static constexpr std::uint64_t work_a_device = std::uint64_t{1} << 26;
    ~resident_graph();
    resident_graph(resident_graph&&) noexcept;
    resident_graph& operator=(resident_graph&&) noexcept;

    /// As the functions of these names, without the check of the graph. A call arranges what no call before it had: weights
    /// as fractions, reversed links (hits), links in the order of their use, the matrix of a storage format (the last one).
    /// Where memory runs out, it frees what others arranged, and arranges it anew when needed.
    link_ranks page_rank(const page_rank_options& options);
    hits_scores hits(const hits_options& options);

    std::uint64_t bytes() const;  ///< that calls have left on host and device, besides the caller's graph
    const std::string& place() const;  ///< the device, with the reason

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
