// SPDX-License-Identifier: Apache-2.0
// Orders contributions by degree. In a graph without locality, the gathers of a step hit an array larger than the caches
// near a core; but a few nodes have most links. Their contributions are stored together at the front: the sources of all
// links are renumbered once, nodes by descending out-degree. The sums are of integers, so the result does not change.
//
// Cost: about two steps. Saving: a third of each step on graphs without locality (Kronecker). Where neighbours have close
// numbers (a web crawl in address order), that order is better and is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

class degree_ordering {
  public:
    /// Renumbers if that pays within `steps` steps and the place's budget has the memory.
    degree_ordering(cpu_place& place, const link_graph_view& graph, std::uint32_t steps) {
        const std::uint64_t bytes = (graph.sources.size() + graph.nodes) * sizeof(std::uint32_t);
        if (graph.nodes < min_nodes || steps < min_steps || place.memory().left() / 2 < bytes) return;
        if (graph.sources.size() < 4 * std::uint64_t{graph.nodes} || !without_order(graph)) return;
        slots_ = cpu_array<std::uint32_t>(place, graph.nodes, "contributions of nodes, by degree");
        sources_ = cpu_array<std::uint32_t>(place, graph.sources.size(), "the links, renumbered");
        number(graph);
        const std::size_t pieces = pieces_for(place, sources_.size(), std::size_t{1} << 16);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(sources_.size(), pieces, p);
            for (std::size_t e = begin; e < end; ++e) sources_.data()[e] = slots_.data()[graph.sources[e]];
        });
    }

    /// Whether the constructor renumbered.
    bool renumbered() const { return slots_.size() != 0; }
    /// The position of a node's contribution.
    std::uint32_t slot(std::uint32_t v) const { return renumbered() ? slots_.data()[v] : v; }
    /// The graph, with slots for sources.
    link_graph_view links(const link_graph_view& graph) const {
        link_graph_view changed = graph;
        if (renumbered()) changed.sources = sources_.span();
        return changed;
    }

  private:
    static constexpr std::uint32_t min_nodes = 3u << 17;  ///< 1.5 MiB of contributions: one core's cache
    static constexpr std::uint32_t min_steps = 6;

    /// Whether most links of a sample start further from the previous link than one cache line.
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

    /// Assigns slots by descending degree (all degrees from 1023 on count as equal), then by ascending number.
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
