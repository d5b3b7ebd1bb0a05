// SPDX-License-Identifier: Apache-2.0
// Graphs of any size for benchmarks and tests. A link depends only on the seed and its own number, and all
// arithmetic is that of IEEE 754: the same graph on every machine, from any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/degrees.hpp"
#include "quern/base/link.hpp"

namespace quern::generator {

struct graph {
    std::uint32_t nodes = 0;
    std::vector<link> links;
};

/// Graph500's Kronecker graph (Leskovec et al. 2010), also known as R-MAT (Chakrabarti et al. 2004): each link chooses
/// one of the four quarters of the matrix `scale` times. Links occur twice, and from a node to itself, by chance.
struct kronecker_options {
    unsigned scale = 20;  ///< 2^scale nodes, at most 31
    std::uint64_t links = std::uint64_t{16} << 20;
    double a = 0.57, b = 0.19, c = 0.19;  ///< probabilities of the quarters; the last has the rest
    bool permuted = true;                 ///< nodes are numbered at random, as Graph500 requires
    std::uint64_t seed = 1;
};
graph make_kronecker(const kronecker_options& wanted);

/// A web by the copying model (Kumar et al. 2000): a page copies links of a page shortly before it in
/// the order of addresses, or links elsewhere, mostly nearby. The share of pages without links and the tail of the
/// in-degrees are those of cnr-2000 (exponent about 2.1). Each page but the first is linked from an earlier one, through
/// which a crawl would have found it. Links are distinct, by ascending source, then target.
struct web_options {
    std::uint32_t nodes = 325'557;
    double mean_links = 11.5;  ///< of a page with links, approximately
    double dangling = 0.24;    ///< share of pages without links
    double copied = 0.92;      ///< probability that a link is copied
    std::uint64_t seed = 1;
};
graph make_web(const web_options& wanted);

/// Every link between two nodes drawn uniformly.
graph make_uniform_graph(std::uint32_t nodes, std::uint64_t links, std::uint64_t seed);

/// A graph with given degrees (configuration model): ends of links out are joined to ends of links in by a shuffle.
/// Links occur twice, and from a node to itself, by chance.
struct degree_options {
    length_statistics in, out;  ///< equal items and sums
    double local =
        0;  ///< share of links from nearby, as in a crawl, among those to nodes of few links (below 64)
    std::uint64_t seed = 1;
};
graph make_graph_of_degrees(const degree_options& wanted);

/// The same with links in both directions, of nodes with these degrees; links in no order.
graph make_undirected_graph(const length_statistics& degrees, std::uint64_t seed);

/// Without repeated links and links from a node to itself; by ascending source, then target.
graph simple(graph from);

}  // namespace quern::generator
