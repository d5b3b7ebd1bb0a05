// SPDX-License-Identifier: Apache-2.0
// A graph may come from anywhere, and later code reads and writes at the positions that its numbers give. Degrees are
// checked without counting: a sum of hashes over the sources of all links must equal the sum over the nodes of degree times
// hash, modulo 2^64. This reads the links in order; counting would write at random positions. A wrong graph passes with
// probability 2^-64.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "device/cpu/parallel.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "quern/base/error.hpp"

namespace quern::link_rank_detail {
namespace {

constexpr std::size_t min_piece = std::size_t{1} << 15;

/// A permutation of 64-bit numbers (the finaliser of SplitMix64; Steele et al. 2014).
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// The lowest position that any thread finds, independent of their order.
class min_position {
  public:
    void note(std::uint64_t position) {
        std::uint64_t known = found_.load(std::memory_order_relaxed);
        while (position < known &&
               !found_.compare_exchange_weak(known, position, std::memory_order_relaxed)) {
        }
    }
    void refuse(std::string_view before, std::string_view past_end) const {
        const std::uint64_t found = found_.load(std::memory_order_relaxed);
        if (found == none) return;
        throw usage_error(std::string(before) + std::to_string(found) + std::string(past_end));
    }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    std::atomic<std::uint64_t> found_{none};
};

void require(bool holds, std::string_view what) {
    if (!holds) throw usage_error("invalid graph: " + std::string(what));
}

void check_sizes(const link_graph_view& graph) {
    require(graph.nodes < 0xfffffffe, "too many nodes (at most 2^32 - 3)");
    require(graph.out_degrees.size() == graph.nodes, "the number of degrees is not the number of nodes");
    if (graph.offsets.empty()) {
        require(graph.nodes == 0 && graph.sources.empty(), "no offsets");
    } else {
        require(graph.offsets.size() == std::size_t{graph.nodes} + 1,
                "the number of offsets is not the number of nodes plus 1");
        require(graph.offsets.front() == 0, "the first offset is not 0");
        require(graph.offsets.back() == graph.sources.size(), "the last offset is not the number of links");
    }
    require(graph.weights.empty() || graph.weights.size() == graph.sources.size(),
            "the number of weights is not the number of links");
}

template <class Good>
void check_each(cpu_place& place, std::size_t count, std::string_view before, std::string_view past_end,
                const Good& good) {
    min_position wrong;
    const std::size_t pieces = pieces_for(place, count, min_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(count, pieces, p);
        for (std::size_t i = begin; i < end; ++i) {
            if (good(i)) continue;
            wrong.note(i);
            return;
        }
    });
    wrong.refuse(before, past_end);
}

/// Checks that sources are in range and ascend within a node, and compares the hash sum with the degrees'.
void check_links(cpu_place& place, const link_graph_view& graph) {
    min_position not_rising;
    std::atomic<std::uint64_t> by_links = 0, by_degrees = 0;
    const std::size_t pieces = pieces_for(place, graph.nodes, min_piece / 8, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(graph.nodes, pieces, p);
        std::uint64_t links = 0, degrees = 0;
        for (std::size_t v = begin; v < end; ++v) {
            std::uint32_t last = 0;
            bool rising = true;
            for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                const std::uint32_t source = graph.sources[e];
                rising &= source >= last;
                last = source;
                links += mixed(source);
            }
            if (!rising) not_rising.note(v);
            degrees += graph.out_degrees[v] * mixed(v);
        }
        by_links.fetch_add(links, std::memory_order_relaxed);
        by_degrees.fetch_add(degrees, std::memory_order_relaxed);
    });
    not_rising.refuse("invalid graph: the sources of node ", " do not ascend");
    require(by_links.load() == by_degrees.load(), "the degrees do not match the links");
}

}  // namespace

void check(cpu_place& place, const link_graph_view& graph) {
    check_sizes(graph);
    check_each(place, graph.nodes, "invalid graph: the links of node ", " end before they begin",
               [&](std::size_t v) { return graph.offsets[v] <= graph.offsets[v + 1]; });
    check_each(place, graph.sources.size(), "invalid graph: the source of link ", " is not a node",
               [&](std::size_t e) { return graph.sources[e] < graph.nodes; });
    check_each(place, graph.weights.size(), "invalid graph: the weight of link ",
               " is not a positive finite number",
               [&](std::size_t e) { return graph.weights[e] > 0 && std::isfinite(graph.weights[e]); });
    check_links(place, graph);
}

}  // namespace quern::link_rank_detail
