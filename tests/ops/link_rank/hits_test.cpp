// SPDX-License-Identifier: Apache-2.0
// HITS: compares the integers of every place with the slow ones, bit for bit, and the public function with the definition.
#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <string>

#include "on_each_place.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/graphs.hpp"
#include "ops/link_rank/hits_parts.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "quern/base/error.hpp"
#include "reference/page_rank_reference.hpp"

namespace quern::hits_test {
namespace {

using namespace link_rank_detail;
using namespace test_graphs;

template <class Tested>
class fixed_hits_test : public on_place<Tested> {
  protected:
    void expect_reference(const link_graph& graph, const hits_options& options, const std::string& what) {
        cpu_place host(context::cpu(1));
        const integer_hits_problem requested(host, graph.view());
        const fixed_hits_params params = requested.params(options);
        const fixed_hits_result expected = reference::fixed_hits(graph.view(), params);
        expect_same(fixed_hits(this->place(), graph.view(), requested.back(), params), expected, what);
        if (graph.nodes == 0) return;
        context ctx = Tested::ctx();
        ctx.gpu_memory_bytes = std::uint64_t{1} << 30;
        for (const std::size_t count : {2, 3}) {
            chosen_device chosen = choose_device(ctx, "this test");
            chosen.more.assign(count - 1, chosen.ordinal);
            place_set places(ctx, chosen);
            const link_graph_view back = requested.back();
            hits_parts<typename Tested::place_type> parts(places, graph.view(), back);
            for (int call = 0; call < 2; ++call)
                expect_same(parts.hits(params, ctx), expected, what + ", several places");
        }
    }
    static void expect_same(const fixed_hits_result& found, const fixed_hits_result& expected,
                            const std::string& what) {
        EXPECT_EQ(found.authorities, expected.authorities) << what;
        EXPECT_EQ(found.hubs, expected.hubs) << what;
        EXPECT_EQ(found.iterations, expected.iterations) << what;
        EXPECT_EQ(found.authority_change, expected.authority_change) << what;
        EXPECT_EQ(found.hub_change, expected.hub_change) << what;
        EXPECT_EQ(found.converged, expected.converged) << what;
    }
};
TYPED_TEST_SUITE(fixed_hits_test, tested_places, tested_place_names);

TYPED_TEST(fixed_hits_test, matches_reference) {
    for (const auto& [name, graph] : nasty_graphs())
        this->expect_reference(graph, {.tolerance = 1e-10, .max_iterations = 40}, name);
    std::mt19937_64 random(1);
    for (const double skew : {1.0, 2.0, 5.0}) {
        this->expect_reference(random_graph(random, 3000, 30'000, skew), {}, "random");
        this->expect_reference(random_graph(random, 500, 5000, skew, 4, true), {.max_iterations = 60},
                               "weighted");
    }
}

TEST(hits, comes_to_the_definition) {
    std::mt19937_64 random(2);
    for (const bool weighted : {false, true}) {
        const link_graph graph = random_graph(random, 1000, 20'000, 2, 4, weighted);
        const hits_scores found = hits(graph.view(), {.tolerance = 1e-12}, context::cpu(2));
        const reference::hits_vectors expected = reference::hits(graph.view(), 200);
        for (std::uint32_t v = 0; v < graph.nodes; ++v) {
            EXPECT_NEAR(found.authorities.ranks[v], static_cast<double>(expected.authorities[v]), 1e-11);
            EXPECT_NEAR(found.hubs.ranks[v], static_cast<double>(expected.hubs[v]), 1e-11);
        }
        EXPECT_TRUE(found.authorities.converged);
        EXPECT_LT(found.authorities.change, 1e-12);
        EXPECT_EQ(found.authorities.order, reference::order_by_rank(found.authorities.ranks));
        EXPECT_EQ(found.hubs.order, reference::order_by_rank(found.hubs.ranks));
        EXPECT_TRUE(std::isnan(found.hubs.error_bound));
        EXPECT_EQ(found.hubs.place, "cpu: requested");
    }
}

TEST(hits, known_values) {  // 0 and 1 point to 2; 1 to 3 as well: [h0, h1] ~ [1, φ], [a2, a3] ~ [φ, 1]
    const link_graph graph = graph_of(4, {{0, 2}, {1, 2}, {1, 3}});
    const hits_scores found = hits(graph.view(), {.tolerance = 1e-15}, context::cpu(1));
    const double golden = (std::sqrt(5) - 1) / 2;
    EXPECT_THAT(found.authorities.ranks,
                ::testing::Pointwise(::testing::DoubleNear(1e-14), {0.0, 0.0, golden, 1 - golden}));
    EXPECT_THAT(found.hubs.ranks,
                ::testing::Pointwise(::testing::DoubleNear(1e-14), {1 - golden, golden, 0.0, 0.0}));
    EXPECT_THAT(found.authorities.order, ::testing::ElementsAre(2, 3, 0, 1));
}

TEST(hits, nothing_to_go_by) {
    const hits_scores none = hits({}, {}, context::cpu(1));
    EXPECT_TRUE(none.authorities.ranks.empty());
    EXPECT_TRUE(none.hubs.converged);
    const hits_scores no_links = hits(graph_of(3, {}).view(), {}, context::cpu(1));
    EXPECT_THAT(no_links.authorities.ranks, ::testing::ElementsAre(0, 0, 0));
    EXPECT_THAT(no_links.hubs.order, ::testing::ElementsAre(0, 1, 2));
    EXPECT_TRUE(no_links.hubs.converged);
    EXPECT_THROW(hits({}, {.tolerance = 0}, context::cpu(1)), usage_error);
    EXPECT_THROW(hits({}, {.max_iterations = 0}, context::cpu(1)), usage_error);
}

TEST(hits, the_same_bits_for_any_threads_and_order_of_links) {
    std::mt19937_64 random(3);
    const link_graph graph = random_graph(random, 20'000, 300'000, 3, 4, true);
    const hits_scores expected = hits(graph.view(), {}, context::cpu(1));
    for (const unsigned threads : {2u, 5u}) {
        const hits_scores found = hits(shuffled(graph, threads).view(), {}, context::cpu(threads));
        EXPECT_EQ(found.authorities.ranks, expected.authorities.ranks);
        EXPECT_EQ(found.hubs.ranks, expected.hubs.ranks);
    }
}

}  // namespace
}  // namespace quern::hits_test
