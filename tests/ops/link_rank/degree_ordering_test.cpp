// SPDX-License-Identifier: Apache-2.0
#include "ops/link_rank/degree_ordering.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ops/link_rank/graphs.hpp"

namespace quern::degree_ordering_test {
namespace {

using namespace link_rank_detail;
using namespace test_graphs;

TEST(degree_ordering, keeps_together_what_most_links_gather) {
    std::mt19937_64 random(10);
    const link_graph graph = random_graph(random, 420'000, 2'000'000, 3, 3);
    cpu_place place(context::cpu(2));
    EXPECT_FALSE(degree_ordering(place, graph.view(), 5).renumbered());  // it would not pay
    const degree_ordering order(place, graph.view(), 6);
    ASSERT_TRUE(order.renumbered());
    const link_graph_view changed = order.links(graph.view());
    std::vector<std::uint64_t> degree_at(graph.nodes, ~std::uint64_t{0});
    for (std::uint32_t v = 0; v < graph.nodes; ++v) degree_at[order.slot(v)] = graph.out_degrees[v];
    for (std::uint32_t slot = 1; slot < graph.nodes; ++slot)
        ASSERT_GE(std::min<std::uint64_t>(degree_at[slot - 1], 1023),
                  std::min<std::uint64_t>(degree_at[slot], 1023));
    for (std::size_t e = 0; e < graph.sources.size(); ++e)
        ASSERT_EQ(changed.sources[e], order.slot(graph.sources[e]));
}

TEST(degree_ordering, leaves_small_and_ordered_graphs_and_little_memory_alone) {
    cpu_place place(context::cpu(1));
    std::mt19937_64 random(11);
    EXPECT_FALSE(degree_ordering(place, random_graph(random, 10'000, 100'000).view(), 100).renumbered());
    links near;
    for (std::uint32_t v = 8; v < 400'000; ++v)
        for (std::uint32_t back = 1; back < 7; ++back) near.push_back({v - back, v});
    const link_graph ordered = graph_of(400'000, near);
    const degree_ordering kept(place, ordered.view(), 100);
    EXPECT_FALSE(kept.renumbered());
    EXPECT_EQ(kept.slot(17), 17u);
    EXPECT_EQ(kept.links(ordered.view()).sources.data(), ordered.sources.data());
    context little = context::cpu(1);
    little.memory_bytes = 15'000'000;
    cpu_place small(little);
    EXPECT_FALSE(
        degree_ordering(small, random_graph(random, 420'000, 2'000'000, 3, 3).view(), 100).renumbered());
}

}  // namespace
}  // namespace quern::degree_ordering_test
