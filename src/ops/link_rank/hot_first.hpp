// SPDX-License-Identifier: Apache-2.0
// Where nodes keep what they send. In a graph without order, a step's gathers go all over an array that no cache near
// the core holds; but a few nodes have most links. So what these send is kept together, in front: the sources of all
// links are renumbered once, nodes by falling out-degree. Sums are of integers: no result can tell.
//
// It costs about as much as two steps and saves a third of each on graphs without order (Kronecker); where neighbours
// have near numbers (a crawl of the web in the order of addresses) that order is better, and is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

class hot_first {
  public:
    /// Renumbers where that pays within `steps` steps and the place's budget has the memory.
    hot_first(cpu_place& place, const link_graph_view& graph, std::uint32_t steps) {
        const std::uint64_t bytes = (graph.sources.size() + graph.nodes) * sizeof(std::uint32_t);
        if (graph.nodes < least_nodes || steps < least_steps || place.memory().left() / 2 < bytes) return;
        if (graph.sources.size() < 4 * std::uint64_t{graph.nodes} || !without_order(graph)) return;
        slots_ = cpu_array<std::uint32_t>(place, graph.nodes, "what nodes send, hot ones first");
        sources_ = cpu_array<std::uint32_t>(place, graph.sources.size(), "the links, renumbered");
        number(graph);
        const std::size_t pieces = pieces_for(place, sources_.size(), std::size_t{1} << 16);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(sources_.size(), pieces, p);
            for (std::size_t e = begin; e < end; ++e) sources_.data()[e] = slots_.data()[graph.sources[e]];
        });
    }

    /// Whether it did.
    bool renumbered() const { return slots_.size() != 0; }
    /// Where a node's contribution is.
    std::uint32_t slot(std::uint32_t v) const { return renumbered() ? slots_.data()[v] : v; }
    /// The graph, with slots for sources.
    link_graph_view links(const link_graph_view& graph) const {
        link_graph_view changed = graph;
        if (renumbered()) changed.sources = sources_.span();
        return changed;
    }

  private:
    static constexpr std::uint32_t least_nodes = 3u << 17;  ///< 1.5 MiB of contributions: a core's cache
    static constexpr std::uint32_t least_steps = 6;

    /// Whether most links, of a sample, begin further from the link before than a cache line holds.
    static bool without_order(const link_graph_view& graph) {
        constexpr std::uint64_t near = 16, sampled = std::uint64_t{1} << 16;
        const std::uint64_t stride = std::max<std::uint64_t>(1, graph.sources.size() / sampled);
        std::uint64_t far = 0, looked_at = 0;
        for (std::uint64_t e = 1; e < graph.sources.size(); e += stride, ++looked_at) {
            const std::uint32_t a = graph.sources[e - 1], b = graph.sources[e];
            far += std::max(a, b) - std::min(a, b) >= near ? 1 : 0;
        }
        return far > looked_at / 2;
    }

    /// Slots by falling degree, as far as it is small, then by rising number.
    void number(const link_graph_view& graph) {
        constexpr std::uint64_t classes = 1024;
        std::vector<std::uint32_t> next(classes + 1);
        const auto class_of = [](std::uint64_t degree) {
            return classes - 1 - std::min(degree, classes - 1);
        };
        for (const std::uint64_t degree : graph.out_degrees) ++next[class_of(degree) + 1];
        for (std::uint64_t c = 0; c < classes; ++c) next[c + 1] += next[c];
        for (std::uint32_t v = 0; v < graph.nodes; ++v)
            slots_.data()[v] = next[class_of(graph.out_degrees[v])]++;
    }

    cpu_array<std::uint32_t> slots_, sources_;
};

}  // namespace quern::link_rank_detail
