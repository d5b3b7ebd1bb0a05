// SPDX-License-Identifier: Apache-2.0
// A counting sort by target. Sources are visited in descending order and written from the end of each target's range, so
// that they ascend there. A unit of work is a range of targets: it reads every link and writes only its own, so that no two
// units share data and no memory besides the graph is needed.
#include "ops/link_rank/links_by_source.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "device/cpu/huge_pages.hpp"
#include "device/cpu/parallel.hpp"

namespace quern::link_rank_detail {
namespace {

constexpr std::size_t min_piece = std::size_t{1} << 15;
constexpr std::size_t at_once = std::size_t{1} << 20;  ///< links between two checks for interruption

template <class T>
void resize_fresh(std::vector<T>& values, std::size_t size) {
    values.reserve(size);
    wish_for_huge_pages(values.data(), size * sizeof(T));
    values.resize(size);
}

}  // namespace

link_graph graph_of_sorted_links(std::span<const std::uint64_t> ends, std::span<const std::uint32_t> targets,
                                 const context& ctx) {
    const std::size_t nodes = ends.size();
    link_graph graph;
    graph.nodes = static_cast<std::uint32_t>(nodes);
    if (nodes == 0) return graph;
    cpu_place place(ctx);
    place.memory().take((2 * nodes + 1) * sizeof(std::uint64_t) + targets.size_bytes(),
                        "the links of a graph");  // the caller's after the return
    resize_fresh(graph.offsets, nodes + 1);
    resize_fresh(graph.out_degrees, nodes);
    resize_fresh(graph.sources, targets.size());
    for (std::size_t v = 0; v < nodes; ++v) graph.out_degrees[v] = ends[v] - (v == 0 ? 0 : ends[v - 1]);
    std::uint64_t* const places = graph.offsets.data();

    const std::size_t pieces = pieces_for(place, targets.size(), min_piece, 1);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [first, last] = piece_of(nodes, pieces, p);
        for (std::size_t begin = 0; begin < targets.size(); begin += at_once) {
            place.ctx().check_stop();
            for (const std::uint32_t to : targets.subspan(begin, std::min(at_once, targets.size() - begin))) {
                if (to - first < last - first) ++places[to];
            }
        }
    });
    std::uint64_t sum = 0;
    for (std::size_t v = 0; v < nodes; ++v) places[v] = sum += places[v];
    places[nodes] = sum;

    std::vector<std::size_t> bounds{0};  // of targets: ranges with about equal numbers of links
    for (std::size_t p = 1; p < pieces; ++p) {
        const auto at = std::lower_bound(places, places + nodes, piece_of(targets.size(), pieces, p).begin);
        bounds.push_back(static_cast<std::size_t>(at - places));
    }
    bounds.push_back(nodes);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const std::size_t first = bounds[p], count = bounds[p + 1] - first;
        if (count == 0) return;
        std::size_t next_look = targets.size();
        for (std::size_t from = nodes; from-- > 0;) {
            const std::uint64_t begin = from == 0 ? 0 : ends[from - 1];
            for (std::uint64_t i = ends[from]; i-- > begin;) {
                if (targets[i] - first < count)
                    graph.sources[--places[targets[i]]] = static_cast<std::uint32_t>(from);
            }
            if (begin + at_once < next_look) {
                place.ctx().check_stop();
                next_look = begin;
            }
        }
    });
    return graph;
}

}  // namespace quern::link_rank_detail
