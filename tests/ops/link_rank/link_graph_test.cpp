// SPDX-License-Identifier: Apache-2.0
// Compares graphs from links with the obvious method: sort triples, then count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "ops/link_rank/links_by_source.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

link_graph plain_link_graph(std::uint32_t nodes, const std::vector<link>& links,
                            const std::vector<double>& weights) {
    std::vector<std::tuple<std::uint32_t, std::uint32_t, double>> rows;
    for (std::size_t i = 0; i < links.size(); ++i)
        rows.emplace_back(links[i].to, links[i].from, weights.empty() ? 1 : weights[i]);
    std::sort(rows.begin(), rows.end());
    link_graph graph;
    graph.nodes = nodes;
    if (nodes == 0) return graph;
    graph.offsets.assign(std::size_t{nodes} + 1, 0);
    graph.out_degrees.assign(nodes, 0);
    for (const auto& [to, from, weight] : rows) {
        ++graph.offsets[to + 1];
        graph.sources.push_back(from);
        if (!weights.empty()) graph.weights.push_back(weight);
        ++graph.out_degrees[from];
    }
    for (std::size_t v = 0; v < nodes; ++v) graph.offsets[v + 1] += graph.offsets[v];
    return graph;
}

void expect_equal(const link_graph& found, const link_graph& expected) {
    EXPECT_EQ(found.nodes, expected.nodes);
    EXPECT_EQ(found.offsets, expected.offsets);
    EXPECT_EQ(found.sources, expected.sources);
    EXPECT_EQ(found.weights, expected.weights);
    EXPECT_EQ(found.out_degrees, expected.out_degrees);
}

TEST(link_graph, keeps_repeats_and_loops_and_nodes_without_links) {
    const std::vector<link> links{{3, 1}, {0, 1}, {3, 1}, {1, 1}, {4, 0}};
    const auto graph = make_link_graph(6, links, {}, context::cpu(2));
    EXPECT_THAT(graph.offsets, ElementsAre(0, 1, 5, 5, 5, 5, 5));
    EXPECT_THAT(graph.sources, ElementsAre(4, 0, 1, 3, 3));
    EXPECT_THAT(graph.out_degrees, ElementsAre(1, 1, 0, 2, 1, 0));
    EXPECT_THAT(graph.weights, IsEmpty());
}

TEST(link_graph, equal_links_have_their_weights_rising) {
    const std::vector<link> links{{0, 1}, {2, 1}, {0, 1}, {0, 1}, {1, 0}};
    const std::vector<double> weights{3, 7, 0.5, 2, 9};
    const auto graph = make_link_graph(3, links, weights, context::cpu(1));
    EXPECT_THAT(graph.sources, ElementsAre(1, 0, 0, 0, 2));
    EXPECT_THAT(graph.weights, ElementsAre(9, 0.5, 2, 3, 7));
}

TEST(link_graph, no_nodes_and_no_links) {
    EXPECT_EQ(make_link_graph(0, {}, {}, context::cpu(2)).offsets.size(), 0u);
    const auto lonely = make_link_graph(3, {}, {}, context::cpu(2));
    EXPECT_THAT(lonely.offsets, ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(lonely.out_degrees, ElementsAre(0, 0, 0));
    const std::vector<link> one{{0, 0}};
    EXPECT_THAT(make_link_graph(1, one, {}, context::cpu(2)).sources, ElementsAre(0));
}

template <class Make>
std::string refusal(Make make) {
    try {
        make();
    } catch (const usage_error& refused) {
        return refused.what();
    }
    return "accepted";
}

TEST(link_graph, refuses_ends_and_weights_and_names_the_first) {
    std::vector<link> links(100'000, link{1, 2});
    std::vector<double> weights(links.size(), 1.5);
    const auto make = [&](std::uint32_t nodes, bool weighted) {
        return refusal([&] {
            make_link_graph(nodes, links,
                            weighted ? std::span<const double>(weights) : std::span<const double>(),
                            context::cpu(3));
        });
    };
    links[70'001] = {3, 0};
    links[99'999] = {0, 4};
    EXPECT_THAT(make(3, false), HasSubstr("link 70001 is 3 → 0; the last node is 2"));
    EXPECT_THAT(make(4, false), HasSubstr("link 99999 is 0 → 4; the last node is 3"));
    EXPECT_EQ(make(5, false), "accepted");
    EXPECT_THAT(make(0xfffffffe, false), HasSubstr("at most 4294967293"));
    for (const double wrong : {0.0, -0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        weights[50'000] = wrong;
        EXPECT_THAT(make(5, true), HasSubstr("the weight of link 50000 is not a positive finite number"));
    }
    weights.pop_back();
    EXPECT_THAT(make(5, true), HasSubstr("99999 weights for 100000 links"));
}

TEST(link_graph, budget_is_honoured) {
    context ctx = context::cpu(2);
    ctx.memory_bytes = 1 << 20;
    const std::vector<link> links(1 << 20);
    EXPECT_THROW(make_link_graph(1, links, {}, ctx), out_of_memory);
}

/// Links whose ends are skewed: some nodes have very many, most have none.
std::vector<link> skewed_links(std::uint32_t nodes, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto node = [&] {
        const double u = std::ldexp(static_cast<double>(random() >> 11), -53);
        return static_cast<std::uint32_t>(u * u * u * nodes);
    };
    std::vector<link> links(count);
    for (auto& each : links) each = {node(), node()};
    return links;
}

TEST(link_graph, large_graphs_of_all_shapes_match_the_plain_way) {
    for (const std::uint32_t nodes : {1u, 2u, 300u, 3000u}) {
        for (const unsigned threads : {1u, 4u}) {
            const auto links = skewed_links(nodes, 300'000, nodes);
            std::vector<double> weights(links.size());
            std::mt19937_64 random(7);
            for (double& weight : weights) weight = static_cast<double>(1 + random() % 5);
            expect_equal(make_link_graph(nodes, links, {}, context::cpu(threads)),
                         plain_link_graph(nodes, links, {}));
            expect_equal(make_link_graph(nodes, links, weights, context::cpu(threads)),
                         plain_link_graph(nodes, links, weights));
        }
    }
}

/// The same links by source, in the order they come in.
struct sorted_links {
    std::vector<std::uint64_t> ends;
    std::vector<std::uint32_t> targets;
};
sorted_links sorted_by_source(std::uint32_t nodes, const std::vector<link>& links) {
    std::vector<std::vector<std::uint32_t>> of_node(nodes);
    for (const link& each : links) of_node[each.from].push_back(each.to);
    sorted_links sorted;
    for (const auto& targets : of_node) {
        sorted.targets.insert(sorted.targets.end(), targets.begin(), targets.end());
        sorted.ends.push_back(sorted.targets.size());
    }
    return sorted;
}

TEST(link_graph, of_sorted_links_is_that_of_the_list) {
    EXPECT_EQ(link_rank_detail::graph_of_sorted_links({}, {}, context::cpu(2)).nodes, 0u);
    for (const std::uint32_t nodes : {1u, 2u, 300u, 70'000u}) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{300'000}}) {
            const auto links = skewed_links(nodes, count, nodes);
            const sorted_links sorted = sorted_by_source(nodes, links);
            for (const unsigned threads : {1u, 3u, 8u}) {
                expect_equal(link_rank_detail::graph_of_sorted_links(sorted.ends, sorted.targets,
                                                                     context::cpu(threads)),
                             plain_link_graph(nodes, links, {}));
            }
        }
    }
}

TEST(link_graph, of_sorted_links_takes_the_memory_of_the_graph) {
    const auto links = skewed_links(1000, 1 << 20, 5);
    const sorted_links sorted = sorted_by_source(1000, links);
    context ctx = context::cpu(2);
    ctx.memory_bytes = (std::uint64_t{4} << 20) + (64 << 10);
    expect_equal(link_rank_detail::graph_of_sorted_links(sorted.ends, sorted.targets, ctx),
                 plain_link_graph(1000, links, {}));
    EXPECT_THROW(make_link_graph(1000, links, {}, ctx), out_of_memory);
    ctx.memory_bytes = std::uint64_t{4} << 20;
    EXPECT_THROW(link_rank_detail::graph_of_sorted_links(sorted.ends, sorted.targets, ctx), out_of_memory);
    const std::atomic<int> signal{2};
    ctx = context::cpu(1);
    ctx.stop_signal = &signal;
    EXPECT_THROW(link_rank_detail::graph_of_sorted_links(sorted.ends, sorted.targets, ctx), interrupted);
}

TEST(link_graph, ids_beyond_16_million) {
    const std::uint32_t nodes = 20'000'000;
    std::vector<link> links = skewed_links(nodes, 200'000, 3);
    links.push_back({nodes - 1, nodes - 1});
    const auto graph = make_link_graph(nodes, links, {}, context::cpu(4));
    std::sort(links.begin(), links.end(),
              [](link a, link b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
    ASSERT_EQ(graph.sources.size(), links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
        ASSERT_EQ(graph.sources[i], links[i].from);
        ASSERT_LE(graph.offsets[links[i].to], i);
        ASSERT_GT(graph.offsets[links[i].to + 1], i);
    }
    EXPECT_TRUE(std::is_sorted(graph.offsets.begin(), graph.offsets.end()));
    EXPECT_EQ(graph.offsets.back(), links.size());
}

RC_GTEST_PROP(link_graph, the_order_of_links_cannot_show, ()) {
    const auto nodes = *rc::gen::inRange<std::uint32_t>(1, 40);
    const auto end = rc::gen::inRange<std::uint32_t>(0, nodes);
    auto rows = *rc::gen::container<std::vector<std::tuple<std::uint32_t, std::uint32_t, int>>>(
        rc::gen::tuple(end, end, rc::gen::inRange(1, 4)));
    const auto make = [&] {
        std::vector<link> links;
        std::vector<double> weights;
        for (const auto& [from, to, weight] : rows) {
            links.push_back({from, to});
            weights.push_back(weight);
        }
        auto plain = make_link_graph(nodes, links, {}, context::cpu(2));
        auto weighted = make_link_graph(nodes, links, weights, context::cpu(2));
        RC_ASSERT(plain.sources == weighted.sources);
        RC_ASSERT(plain.offsets == weighted.offsets);
        RC_ASSERT(plain.out_degrees == weighted.out_degrees);
        RC_ASSERT(weighted.weights ==
                  (links.empty() ? weights : plain_link_graph(nodes, links, weights).weights));
        return weighted;
    };
    const auto first = make();
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    std::shuffle(rows.begin(), rows.end(), random);
    const auto second = make();
    RC_ASSERT(first.sources == second.sources && first.offsets == second.offsets &&
              first.weights == second.weights && first.out_degrees == second.out_degrees);
}

}  // namespace
}  // namespace quern::link_graph_test
