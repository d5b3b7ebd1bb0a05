// SPDX-License-Identifier: Apache-2.0
// CPU: the sums over the links into each node of a block.
//
// Rows are short and of all lengths, and one loop per row costs one mispredicted branch per row. So the sums of a few
// hundred rows are differences of one running sum over all their links: integers, so nothing cancels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

// Splits the nodes of a graph into ranges of about equal work. Links and nodes both count, so that neither a hub nor a long
// range of nodes without links keeps one thread busy while the others wait.

inline constexpr std::uint64_t work_of_node = 8;  ///< cost of a node besides its links, in links

/// The bounds of the ranges, from 0 to the number of nodes. `offsets` as in link_graph_view.
inline std::vector<std::uint32_t> link_pieces(const cpu_place& place,
                                              std::span<const std::uint64_t> offsets) {
    constexpr std::uint64_t least = std::uint64_t{1} << 15;
    constexpr std::uint64_t per_thread = 16;
    if (offsets.size() < 2) return {0};
    const auto nodes = static_cast<std::uint32_t>(offsets.size() - 1);
    const auto work_before = [&](std::uint32_t v) { return offsets[v] + work_of_node * v; };
    const std::uint64_t work = work_before(nodes);
    const std::uint64_t max = place.threads() == 1 ? 1 : place.threads() * per_thread;
    const std::uint64_t pieces = std::clamp<std::uint64_t>(work / least, 1, max);
    std::vector<std::uint32_t> bounds = {0};
    for (std::uint64_t p = 1; p <= pieces; ++p) {
        std::uint32_t low = bounds.back(), high = nodes;  // the first node with that much work before it
        const std::uint64_t wanted = work / pieces * p;
        while (p < pieces && low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (work_before(middle) < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (high > bounds.back()) bounds.push_back(high);
    }
    return bounds;
}

inline constexpr std::uint32_t block_nodes = 256;
inline constexpr std::uint64_t run_links = 2048;  ///< running sums: 16 KiB, cached together with their input

/// take(contribution) of the links [begin, end), in their order. Later links and their contributions are prefetched: a core's own
/// prefetcher stops at page ends, and the running sum leaves it few loads in advance.
template <class Contribution, class Take>
void for_each_contribution(std::span<const std::uint32_t> sources, const Contribution* contributions,
                           std::uint64_t begin, std::uint64_t end, const Take& take) {
    constexpr std::uint64_t line = 16, links_ahead = 1024, contributions_ahead = 48;
    const std::uint32_t* const source = sources.data();
    const std::uint64_t last =  // where all that is prefetched exists
        sources.size() < links_ahead + line ? 0 : sources.size() - links_ahead - line;
    std::uint64_t e = begin;
    for (; e + line <= end && e < last; e += line) {
        __builtin_prefetch(source + e + links_ahead);
        for (std::uint64_t i = e; i < e + line; ++i) {
            __builtin_prefetch(contributions + source[i + contributions_ahead]);
            take(contributions[source[i]]);
        }
    }
    for (; e < end; ++e) take(contributions[source[e]]);
}

/// As sum_links without weights, for neighbouring nodes with at most run_links links in total; no branch depends on the
/// links.
template <class Contribution>
void sum_run(const link_graph_view& graph, const Contribution* contributions, std::uint32_t first,
             std::uint32_t past_end, std::int64_t* sums) {
    const std::uint64_t* const offsets = graph.offsets.data();
    const std::uint64_t from = offsets[first];
    std::uint64_t running[run_links + 1];  // modulo 2^64: differences are still right
    std::uint64_t sum = running[0] = 0;
    std::uint64_t* next = running;
    for_each_contribution(graph.sources, contributions, from, offsets[past_end], [&](Contribution sent) {
        sum += static_cast<std::uint64_t>(std::int64_t{sent});
        *++next = sum;
    });
    for (std::uint32_t v = first; v < past_end; ++v)
        sums[v - first] =
            static_cast<std::int64_t>(running[offsets[v + 1] - from] - running[offsets[v] - from]);
}

/// sums[v − first] = Σ sent[u] over links u→v, for the nodes of a block. With `weights` (ordered as the links; 2^63: 1)
/// each term is multiplied by its link's weight, rounded once per node.
template <class Contribution>
void sum_links(const link_graph_view& graph, std::span<const std::uint64_t> weights,
               const Contribution* contributions, std::uint32_t first, std::uint32_t past_end,
               std::int64_t* sums) {
    const std::uint64_t* const offsets = graph.offsets.data();
    const std::uint32_t* const sources = graph.sources.data();
    if (!weights.empty()) {
        for (std::uint32_t v = first; v < past_end; ++v) {
            wide_integer sum = 0;
            for (std::uint64_t e = offsets[v]; e < offsets[v + 1]; ++e)
                sum += static_cast<wide_integer>(contributions[sources[e]]) * weights[e];
            sums[v - first] = rounded_products(sum);
        }
        return;
    }
    for (std::uint32_t v = first; v < past_end;) {
        std::uint32_t end = v;
        while (end < past_end && offsets[end + 1] - offsets[v] <= run_links) ++end;
        if (end > v) {
            sum_run(graph, contributions, v, end, sums + (v - first));
            v = end;
        } else {
            std::int64_t sum = 0;
            for_each_contribution(graph.sources, contributions, offsets[v], offsets[v + 1],
                                  [&](Contribution sent) { sum += sent; });
            sums[v++ - first] = sum;
        }
    }
}

/// work(first, end, sums) for each block of the nodes from `begin` up to `end`.
template <class Contribution, class Work>
void for_each_block(const link_graph_view& graph, std::span<const std::uint64_t> weights,
                    const Contribution* contributions, std::uint32_t begin, std::uint32_t end,
                    const Work& work) {
    std::int64_t sums[block_nodes];
    for (std::uint32_t first = begin; first < end;) {
        const std::uint32_t past_end = first + std::min(end - first, block_nodes);
        sum_links(graph, weights, contributions, first, past_end, sums);
        work(first, past_end, sums);
        first = past_end;
    }
}

}  // namespace quern::link_rank_detail
