// SPDX-License-Identifier: Apache-2.0
// Graphs for tests: small ones with one difficult property each, and random ones of every kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::test_graphs {

using links = std::vector<link>;

inline link_graph graph_of(std::uint32_t nodes, const links& all, const std::vector<double>& weights = {}) {
    return make_link_graph(nodes, all, weights, context::cpu(1));
}

/// Graphs by name; none has more than a few thousand nodes.
inline std::map<std::string, link_graph> nasty_graphs() {
    std::map<std::string, link_graph> graphs;
    const auto add = [&](const std::string& name, std::uint32_t nodes, const links& all) {
        graphs.emplace(name, graph_of(nodes, all));
    };
    add("one node", 1, {});
    add("one node that links itself", 1, {{0, 0}});
    add("all dangling", 7, {});
    add("two components", 7, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 3}, {4, 5}});
    add("links twice and to itself", 4,
        {{0, 1}, {0, 1}, {0, 1}, {0, 2}, {1, 1}, {1, 1}, {2, 3}, {3, 0}, {3, 0}});
    links in, out, path, cycle, complete, hub;
    constexpr std::uint32_t n = 3000;
    for (std::uint32_t v = 1; v < n; ++v) {
        in.push_back({v, 0});
        out.push_back({0, v});
        path.push_back({v - 1, v});
    }
    cycle = path;
    cycle.push_back({n - 1, 0});
    for (std::uint32_t u = 0; u < 60; ++u)
        for (std::uint32_t v = 0; v < 60; ++v) complete.push_back({u, v});
    for (std::uint32_t v = 1; v < n; ++v) {  // one node with nearly all links, and a long path back to it
        for (int again = 0; again < 3; ++again) hub.push_back({0, v});
        if (v % 7 != 0) hub.push_back({v, v % 11 == 0 ? 0 : v - 1});
    }
    add("star in", n, in);
    add("star out", n, out);
    add("long path", n, path);
    add("cycle", n, cycle);
    add("complete", 60, complete);
    add("hub", n, hub);
    return graphs;
}

/// Sources and targets skewed by `skew` (1: not), one node in `dangling` without outgoing links (0: none).
inline link_graph random_graph(std::mt19937_64& random, std::uint32_t nodes, std::size_t count,
                               double skew = 2, unsigned dangling = 4, bool weighted = false) {
    const auto some_node = [&] {
        const double x = static_cast<double>(random() >> 11) * 0x1p-53;
        return std::min(nodes - 1, static_cast<std::uint32_t>(std::pow(x, skew) * nodes));
    };
    links all;
    std::vector<double> weights;
    while (all.size() < count) {
        const std::uint32_t from = some_node();
        if (dangling != 0 && (from * 2654435761u >> 16) % dangling == 0) {
            if (random() % 64 == 0) --count;  // where all are dangling, it must end too
            continue;
        }
        all.push_back({from, some_node()});
        if (weighted)
            weights.push_back(
                std::ldexp(static_cast<double>(random() % 1000 + 1), static_cast<int>(random() % 20)));
    }
    return graph_of(nodes, all, weights);
}

/// The same links from a list in any order.
inline link_graph shuffled(const link_graph& graph, std::uint64_t seed) {
    std::vector<std::pair<link, double>> all;
    for (std::uint32_t v = 0; v < graph.nodes; ++v)
        for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
            all.emplace_back(link{graph.sources[e], v}, graph.weights.empty() ? 1.0 : graph.weights[e]);
    std::shuffle(all.begin(), all.end(), std::mt19937_64(seed));
    links only_links;
    std::vector<double> weights;
    for (const auto& [one, weight] : all) {
        only_links.push_back(one);
        if (!graph.weights.empty()) weights.push_back(weight);
    }
    return graph_of(graph.nodes, only_links, weights);
}

}  // namespace quern::test_graphs
