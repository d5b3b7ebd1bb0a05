// SPDX-License-Identifier: Apache-2.0
// PageRank in floating point over stored matrices: true within its bound, and the same bits in every format that promises them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "on_each_place.hpp"
#include "ops/link_rank/graphs.hpp"
#include "quern/base/error.hpp"
#include "reference/page_rank_reference.hpp"

namespace quern::storage_test {
namespace {

using namespace test_graphs;

template <class Tested>
class page_rank_storage_test : public on_place<Tested> {};
TYPED_TEST_SUITE(page_rank_storage_test, tested_places, tested_place_names);

TYPED_TEST(page_rank_storage_test, every_format_is_true_and_most_are_the_same) {
    std::mt19937_64 random(1);
    const link_graph plain = random_graph(random, 3000, 20'000, 1),
                     heavy = random_graph(random, 700, 6000, 1, 4, true);
    for (const link_graph* const graph : {&plain, &heavy}) {
        std::vector<double> seeds(graph->nodes);
        for (std::uint32_t v = 0; v < graph->nodes; v += 5) seeds[v] = v + 1;
        for (const dangling_rule rule :
             {dangling_rule::uniform, dangling_rule::preference, dangling_rule::none}) {
            if (tested_with().small_sizes && (rule != dangling_rule::preference || graph == &plain)) continue;
            page_rank_options options{.tolerance = 1e-11, .dangling = rule};
            if (rule != dangling_rule::uniform) options.preference = seeds;
            const reference::long_reals expected = reference::page_rank(graph->view(), options);
            options.storage = rank_storage::csr;
            const link_ranks csr = page_rank(graph->view(), options, context::cpu(1));
            for (const rank_storage storage :
                 {rank_storage::automatic, rank_storage::coo, rank_storage::csr, rank_storage::ell,
                  rank_storage::brc, rank_storage::brcp, rank_storage::brcp_paper}) {
                const auto name = std::string(rank_storage_names[static_cast<std::size_t>(storage)]);
                options.storage = storage;
                const link_ranks found = page_rank(graph->view(), options, TypeParam::ctx());
                long double error = 0;
                for (std::uint32_t v = 0; v < graph->nodes; ++v)
                    error += std::fabs(found.ranks[v] - expected[v]);
                EXPECT_TRUE(found.converged) << name;
                EXPECT_LE(error, found.error_bound) << name;
                EXPECT_LT(found.error_bound, 1e-10) << name;
                EXPECT_EQ(found.order, reference::order_by_rank(found.ranks)) << name;
                if (storage == rank_storage::automatic || storage == rank_storage::brc ||
                    storage == rank_storage::brcp_paper)
                    continue;
                EXPECT_EQ(found.ranks, csr.ranks) << name;
                EXPECT_EQ(found.iterations, csr.iterations) << name;
                EXPECT_EQ(found.change, csr.change) << name;
            }
        }
    }
}

TYPED_TEST(page_rank_storage_test, nasty_graphs) {
    for (const auto& [name, graph] : nasty_graphs()) {
        page_rank_options options{.tolerance = tested_with().small_sizes ? 1e-2 : 1e-9,
                                  .storage = rank_storage::brcp};
        const reference::long_reals expected = reference::page_rank(graph.view(), options);
        const link_ranks found = page_rank(graph.view(), options, TypeParam::ctx());
        long double error = 0;
        for (std::uint32_t v = 0; v < graph.nodes; ++v) error += std::fabs(found.ranks[v] - expected[v]);
        EXPECT_LE(error, found.error_bound) << name;
        EXPECT_TRUE(found.converged) << name;
        options.start = found.ranks;
        EXPECT_LE(page_rank(graph.view(), options, TypeParam::ctx()).iterations, 1u) << name;
    }
}

TYPED_TEST(page_rank_storage_test, floats_are_true_to_their_precision_and_the_same_in_every_exact_format) {
    std::mt19937_64 random(2);
    const link_graph plain = random_graph(random, 3000, 20'000, 1),
                     heavy = random_graph(random, 700, 6000, 1, 4, true);
    for (const link_graph* const graph : {&plain, &heavy}) {
        page_rank_options options{.tolerance = 1e-5, .precision = value_precision::f32};
        const reference::long_reals expected = reference::page_rank(graph->view(), {.tolerance = 1e-12});
        options.storage = rank_storage::csr;
        const link_ranks csr = page_rank(graph->view(), options, context::cpu(1));
        for (const rank_storage storage : {rank_storage::coo, rank_storage::csr, rank_storage::ell,
                                           rank_storage::brc, rank_storage::brcp, rank_storage::brcp_paper}) {
            const auto name = std::string(rank_storage_names[static_cast<std::size_t>(storage)]);
            options.storage = storage;
            const link_ranks found = page_rank(graph->view(), options, TypeParam::ctx());
            long double error = 0;
            for (std::uint32_t v = 0; v < graph->nodes; ++v) {
                error += std::fabs(found.ranks[v] - expected[v]);
                EXPECT_EQ(static_cast<double>(static_cast<float>(found.ranks[v])), found.ranks[v]) << name;
            }
            EXPECT_TRUE(found.converged) << name;
            EXPECT_LE(error, found.error_bound) << name;
            EXPECT_LT(found.error_bound, 1e-2) << name;
            EXPECT_EQ(found.order, reference::order_by_rank(found.ranks)) << name;
            if (storage == rank_storage::brc || storage == rank_storage::brcp_paper) continue;
            EXPECT_EQ(found.ranks, csr.ranks) << name;
            EXPECT_EQ(found.change, csr.change) << name;
        }
    }
}

TYPED_TEST(page_rank_storage_test, a_graph_that_stays_has_the_bits_of_either_precision) {
    std::mt19937_64 random(3);
    const link_graph graph = random_graph(random, 500, 4000, 1);
    resident_graph held(graph.view(), TypeParam::ctx());
    for (const value_precision precision :
         {value_precision::f32, value_precision::f64, value_precision::f32}) {
        const page_rank_options options{.storage = rank_storage::brcp, .precision = precision};
        EXPECT_EQ(held.page_rank(options).ranks, page_rank(graph.view(), options, context::cpu(1)).ranks);
    }
}

TEST(page_rank_storage, floats_need_a_format) {
    std::mt19937_64 random(4);
    const link_graph graph = random_graph(random, 50, 100, 1);
    EXPECT_THROW(page_rank(graph.view(), {.precision = value_precision::f32}, context::cpu(1)), usage_error);
}

TEST(page_rank_storage, ell_refuses_what_is_mostly_padding) {
    const link_graph star = nasty_graphs().at("star in");
    EXPECT_THROW(page_rank(star.view(), {.storage = rank_storage::ell}, context::cpu(1)), usage_error);
}

TEST(page_rank_storage, says_that_it_has_not_converged) {
    std::mt19937_64 random(2);
    const link_graph graph = random_graph(random, 300, 2000);
    const link_ranks found =
        page_rank(graph.view(), {.tolerance = 1e-12, .max_iterations = 3, .storage = rank_storage::csr},
                  context::cpu(1));
    EXPECT_FALSE(found.converged);
    EXPECT_EQ(found.iterations, 3u);
}

}  // namespace
}  // namespace quern::storage_test
