// SPDX-License-Identifier: Apache-2.0
// Links in any order → the links into each node, by rising source. A link is one number, target before source, and the
// numbers are sorted: what was first in the input cannot show. Equal links with weights are put in order by weight
// afterwards; they are few and stand together.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern {
namespace {

constexpr std::size_t least_piece = std::size_t{1} << 15;
constexpr std::uint32_t most_nodes = 0xfffffffd;

/// The least of the positions that several threads note.
void note_least(std::atomic<std::uint64_t>& least, std::uint64_t position) {
    std::uint64_t known = least.load(std::memory_order_relaxed);
    while (position < known && !least.compare_exchange_weak(known, position, std::memory_order_relaxed)) {
    }
}

bool is_weight(double weight) {
    return weight > 0 && std::isfinite(weight);
}

void check(cpu_place& place, std::uint32_t nodes, std::span<const link> links,
           std::span<const double> weights) {
    if (nodes > most_nodes) {
        throw usage_error("a graph of " + std::to_string(nodes) + " nodes: at most " +
                          std::to_string(most_nodes) + " can be numbered");
    }
    if (!weights.empty() && weights.size() != links.size()) {
        throw usage_error(std::to_string(weights.size()) + " weights for " + std::to_string(links.size()) +
                          " links");
    }
    std::atomic<std::uint64_t> refused{links.size()};
    const std::size_t pieces = pieces_for(place, links.size(), least_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(links.size(), pieces, p);
        bool wrong = false;  // one test for many, so that the loop is made of vectors
        for (std::size_t i = begin; i < end; ++i) wrong |= std::max(links[i].from, links[i].to) >= nodes;
        for (std::size_t i = begin; i < end && !weights.empty(); ++i) wrong |= !is_weight(weights[i]);
        if (!wrong) return;
        std::size_t i = begin;
        while (std::max(links[i].from, links[i].to) < nodes && (weights.empty() || is_weight(weights[i])))
            ++i;
        note_least(refused, i);
    });
    const std::uint64_t i = refused.load();
    if (i == links.size()) return;
    const std::string which = "link " + std::to_string(i);
    if (std::max(links[i].from, links[i].to) >= nodes) {
        throw usage_error(which + " is " + std::to_string(links[i].from) + " → " +
                          std::to_string(links[i].to) + "; the last node is " +
                          (nodes == 0 ? "none" : std::to_string(nodes - 1)));
    }
    throw usage_error("the weight of " + which + " is not a positive finite number");
}

/// out_degrees[v] = links from v, which are counted where they stand: links of a node often follow each other.
std::vector<std::uint64_t> count_out(cpu_place& place, std::uint32_t nodes, std::span<const link> links) {
    std::vector<std::uint64_t> degrees(nodes);
    const std::size_t pieces = pieces_for(place, links.size(), least_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(links.size(), pieces, p);
        for (std::size_t i = begin; i < end;) {
            const std::uint32_t from = links[i].from;
            const std::size_t first = i;
            while (i < end && links[i].from == from) ++i;
            std::atomic_ref(degrees[from]).fetch_add(i - first, std::memory_order_relaxed);
        }
    });
    return degrees;
}

/// Where each target's links begin among `keys`, which are sorted; their sources as they stand there.
void cut_by_target(cpu_place& place, std::span<const std::uint64_t> keys, unsigned node_bits,
                   link_graph& graph) {
    graph.offsets.resize(std::size_t{graph.nodes} + 1);
    graph.sources.resize(keys.size());
    const std::uint64_t source_mask = (std::uint64_t{1} << node_bits) - 1;
    const std::size_t pieces = pieces_for(place, keys.size(), least_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(keys.size(), pieces, p);
        std::uint64_t last =
            begin == 0 ? 0 : (keys[begin - 1] >> node_bits) + 1;  // offsets below are written
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t target = keys[i] >> node_bits;
            for (; last <= target; ++last) graph.offsets[last] = i;
            graph.sources[i] = static_cast<std::uint32_t>(keys[i] & source_mask);
        }
    });
    const std::uint64_t behind = keys.empty() ? 0 : (keys.back() >> node_bits) + 1;
    std::fill(graph.offsets.begin() + static_cast<std::ptrdiff_t>(behind), graph.offsets.end(), keys.size());
}

/// The sort is stable, so that weights of equal links stand in the order of the input; now by weight.
void order_equal_links(cpu_place& place, std::span<const std::uint64_t> keys, std::span<double> weights) {
    const std::size_t pieces = pieces_for(place, keys.size(), least_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        auto [i, end] = piece_of(keys.size(), pieces, p);
        while (i != 0 && i < end && keys[i] == keys[i - 1]) ++i;  // they belong to the piece before
        while (i < end) {
            std::size_t behind = i + 1;
            while (behind < keys.size() && keys[behind] == keys[i]) ++behind;
            if (behind - i > 1) std::sort(weights.data() + i, weights.data() + behind);
            i = behind;
        }
    });
}

}  // namespace

link_graph make_link_graph(std::uint32_t nodes, std::span<const link> links, std::span<const double> weights,
                           const context& run) {
    cpu_place place(run);
    check(place, nodes, links, weights);
    link_graph graph;
    graph.nodes = nodes;
    if (nodes == 0) return graph;
    const auto node_bits = static_cast<unsigned>(std::bit_width(std::uint64_t{nodes} - 1));
    const cpu_array<std::uint64_t> keys(place, links.size(), "the links of a graph");
    const std::size_t pieces = pieces_for(place, links.size(), least_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(links.size(), pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            keys.data()[i] = std::uint64_t{links[i].to} << node_bits | links[i].from;
    });
    const primitives::sort_options options{.key_bits = std::max(1u, 2 * node_bits)};
    if (weights.empty()) {
        primitives::sort_keys(place, keys.span(), options);
    } else {
        const cpu_array<std::uint64_t> bits(place, links.size(), "the weights of a graph");
        std::memcpy(bits.data(), weights.data(), weights.size_bytes());
        primitives::sort_pairs(place, keys.span(), bits.span(), options);
        graph.weights.resize(weights.size());
        std::memcpy(graph.weights.data(), bits.data(), weights.size_bytes());
        order_equal_links(place, keys.span(), graph.weights);
    }
    cut_by_target(place, keys.span(), node_bits, graph);
    graph.out_degrees = count_out(place, nodes, links);
    return graph;
}

}  // namespace quern
