// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph matter: PageRank (Page et al. 1999) and HITS (Kleinberg 1999).
//
//     link_graph graph = make_link_graph(nodes, links, {}, run);
//     link_ranks found = page_rank(graph.view(), {}, run);   // found.ranks[v], found.order
//
// Contract class: exact. Ranks are fixed-point integers and their sums integer additions, so that the order of the
// links, threads, tiles and the device cannot show: the same bits everywhere. The storage formats that add floats
// (rank_storage other than automatic) give the same bits everywhere too, but brc and brcp_paper, which are there to be
// compared with. docs/link_rank.md has the arithmetic, the bound of the error and its proof.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/link.hpp"

namespace quern {

// ---- Graphs ----

/// The links into each node: node v is linked from sources[offsets[v]] … sources[offsets[v + 1]], rising; a link that
/// occurs twice stands there twice, a link of a node to itself once. Nodes without links are nodes.
struct link_graph_view {
    std::uint32_t nodes = 0;                 ///< below 2^32 - 2
    std::span<const std::uint64_t> offsets;  ///< nodes + 1, from 0; empty: no nodes
    std::span<const std::uint32_t> sources;
    std::span<const double> weights;  ///< as sources, positive and finite; empty: each link counts 1
    std::span<const std::uint64_t> out_degrees;  ///< links out of each node
};
struct link_graph {
    std::uint32_t nodes = 0;
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> sources;
    std::vector<double> weights;
    std::vector<std::uint64_t> out_degrees;

    link_graph_view view() const { return {nodes, offsets, sources, weights, out_degrees}; }
};

/// Sorts links by target, then source; equal links with weights keep their weights by rising weight, so that the order
/// of `links` cannot show. `weights` is empty or one a link. Throws usage_error for an end of a link of `nodes` or more
/// and for a weight that is not a positive finite number (the number of the link is named), out_of_memory.
link_graph make_link_graph(std::uint32_t nodes, std::span<const link> links, std::span<const double> weights,
                           const context& run);

// ---- Ranks ----

/// The rank on nodes without links out, in each step: to all nodes alike, by the preference, or lost.
enum class dangling_rule { uniform, preference, none };
inline constexpr std::string_view dangling_rule_names[] = {"uniform", "preference", "none"};

/// automatic: fixed-point integers, without values where links have no weights. The others: PageRank in doubles over
/// a matrix in this format, as the papers have it.
enum class rank_storage { automatic, coo, csr, ell, brc, brcp, brcp_paper };
inline constexpr std::string_view rank_storage_names[] = {"auto", "coo",  "csr",       "ell",
                                                          "brc",  "brcp", "brcp-paper"};

struct page_rank_options {
    double damping = 0.85;    ///< α, 0 <= α < 1
    double tolerance = 1e-5;  ///< stop when the ranks' L1 change in a step is below; > 0
    std::uint32_t max_iterations = 1000;
    dangling_rule dangling = dangling_rule::uniform;
    std::span<const double> preference =
        {};  ///< v, one a node, >= 0, finite, not all 0; scaled to sum 1. Empty: 1/n each
    std::span<const double> start = {};  ///< ranks to begin with, as preference. Empty: v
    rank_storage storage = rank_storage::automatic;
};

/// r = α·(Gᵀr + d·v) + (1 − α)·v, G_ij = weight of i→j over all of i's, d the rank on nodes without links out.
struct link_ranks {
    std::vector<double> ranks;         ///< one a node; PageRank's sum is 1 but for dangling_rule::none
    std::vector<std::uint32_t> order;  ///< nodes, rank falling, then node rising
    std::uint32_t iterations = 0;
    double change = 0;  ///< the L1 change of the last step
    double error_bound =
        0;  ///< Σ |rank − true rank| is at most this: α/(1 − α)·change, and the arithmetic's own part
    bool converged = false;  ///< change < tolerance
    std::string place;       ///< where it ran, and why there
};

/// No nodes: empty. Throws usage_error for options out of range and for a view that is not as said, out_of_memory,
/// interrupted, device_error. Cost: a step reads 4 bytes a link and gathers 4 (8 where links have weights).
link_ranks page_rank(const link_graph_view& graph, const page_rank_options& options, const context& run);

struct hits_options {
    double tolerance = 1e-5;  ///< stop when the authorities' L1 change in a step is below
    std::uint32_t max_iterations = 1000;
};
/// a = Aᵀh, h = A·a, each scaled to sum 1, from h = 1/n. With several largest eigenvalues (a graph of parts) the limit
/// is the one reached from there. No links: all 0.
struct hits_scores {
    link_ranks authorities, hubs;  ///< error_bound is not known: not a number
};
hits_scores hits(const link_graph_view& graph, const hits_options& options, const context& run);

}  // namespace quern
