// SPDX-License-Identifier: Apache-2.0
// Compares the integer iteration of every place with the slow one: ranks, steps, changes, bit for bit.
#include "ops/link_rank/fixed_page_rank.hpp"

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "ops/link_rank/graphs.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/rank_parts.hpp"
#include "reference/page_rank_reference.hpp"
#include "several_places.hpp"

namespace quern::fixed_page_rank_test {
namespace {

using namespace link_rank_detail;
using namespace test_graphs;

/// Few steps under --sizes=small: each is several launches.
page_rank_options shortened(page_rank_options options) {
    if (tested_with().small_sizes) options.max_iterations = std::min(options.max_iterations, 4u);
    return options;
}

template <class Tested>
class fixed_page_rank_test : public on_place<Tested> {
  protected:
    void expect_reference(const link_graph& graph, const page_rank_options& options, const std::string& what,
                          unsigned digits = 30) {
        cpu_place host(context::cpu(1));
        const integer_problem requested(host, graph.view(), shortened(options));
        fixed_page_rank_params params = requested.params();
        params.contribution_digits = digits;
        const fixed_page_rank_result found = fixed_page_rank(this->place(), graph.view(), params);
        const fixed_page_rank_result expected = reference::fixed_page_rank(graph.view(), params);
        EXPECT_EQ(found.iterations, expected.iterations) << what;
        EXPECT_EQ(found.change, expected.change) << what;
        EXPECT_EQ(found.converged, expected.converged) << what;
        EXPECT_EQ(found.wide_steps, expected.wide_steps) << what;
        EXPECT_EQ(found.ranks, expected.ranks) << what;
        wide_steps_ += found.wide_steps;
        narrow_steps_ += found.iterations - found.wide_steps;
    }
    std::uint64_t wide_steps_ = 0, narrow_steps_ = 0;
};
TYPED_TEST_SUITE(fixed_page_rank_test, tested_places, tested_place_names);

TYPED_TEST(fixed_page_rank_test, nasty_graphs_match_reference) {
    for (const auto& [name, graph] : nasty_graphs()) {
        for (const double tolerance : {1e-3, 1e-12, 1e-18}) {
            page_rank_options options{.tolerance = tolerance, .max_iterations = 300};
            this->expect_reference(graph, options, name);
        }
    }
}

TYPED_TEST(fixed_page_rank_test, every_option_matches_reference) {
    std::mt19937_64 random(6);
    const link_graph graph = random_graph(random, 2000, 9000);
    const link_graph heavy = random_graph(random, 700, 5000, 3, 5, true);
    for (const link_graph* const of : {&graph, &heavy}) {
        std::vector<double> one_seed(of->nodes), many_seeds(of->nodes), start(of->nodes);
        one_seed[of->nodes / 3] = 1e-300;
        for (std::uint32_t v = 0; v < of->nodes; ++v) {
            many_seeds[v] = v % 3 == 0 ? static_cast<double>(random() % 100) : 0;
            start[v] = static_cast<double>(random() >> 12);
        }
        for (const dangling_rule rule :
             {dangling_rule::uniform, dangling_rule::preference, dangling_rule::none}) {
            for (const auto* const preference :
                 {static_cast<std::vector<double>*>(nullptr), &one_seed, &many_seeds}) {
                for (const double damping : {0.0, 0.0001, 0.5, 0.85, 0.999}) {
                    if (tested_with().small_sizes && damping != 0.0001 && damping != 0.5) continue;
                    page_rank_options options{
                        .damping = damping, .tolerance = 1e-9, .max_iterations = 200, .dangling = rule};
                    if (preference != nullptr) options.preference = *preference;
                    if (damping == 0.5) options.start = start;
                    this->expect_reference(*of, options, "damping " + std::to_string(damping));
                }
            }
        }
    }
    EXPECT_GT(this->narrow_steps_, 0u);
}

// 31 binary digits are too few for graphs of hundreds of millions of links, so fewer are too few for small graphs.
TYPED_TEST(fixed_page_rank_test, wide_steps_match_reference) {
    std::mt19937_64 random(7);
    const link_graph graph = random_graph(random, 3000, 40'000);
    std::vector<double> seed(graph.nodes);
    seed[5] = 1;
    for (const unsigned digits : {0u, 3u, 8u, 14u}) {
        this->expect_reference(graph, {.tolerance = 1e-12}, "uniform", digits);
        this->expect_reference(graph, {.tolerance = 1e-9, .preference = seed}, "seeded", digits);
    }
    EXPECT_GT(this->wide_steps_, 0u);
    EXPECT_GT(this->narrow_steps_, 0u);
    for (const auto& [name, nasty] : nasty_graphs())
        this->expect_reference(nasty, {.tolerance = 1e-12}, name, 5);
}

TYPED_TEST(fixed_page_rank_test, many_sizes_match_reference) {
    std::mt19937_64 random(8);
    for (const std::size_t nodes : test_sizes()) {
        if (nodes == 0 || nodes > 50'000) continue;
        for (const double skew : {1.0, 4.0}) {
            const link_graph graph = random_graph(random, static_cast<std::uint32_t>(nodes), 6 * nodes, skew);
            this->expect_reference(graph, {.tolerance = 1e-10}, std::to_string(nodes) + " nodes");
        }
    }
}

// Vectors of every width, and the scalar ends of blocks.
TEST(fixed_page_rank, every_instruction_set_matches_reference) {
    std::mt19937_64 random(9);
    cpu_place place(context::cpu(1));
    std::vector<double> seeds(1500);
    for (std::size_t v = 0; v < seeds.size(); v += 7) seeds[v] = static_cast<double>(v + 1);
    const link_graph graph = random_graph(random, 1500, 20'000);
    for (const dangling_rule rule : {dangling_rule::uniform, dangling_rule::preference}) {
        page_rank_options options{.tolerance = 1e-14, .dangling = rule};
        if (rule == dangling_rule::preference) options.preference = seeds;
        const integer_problem requested(place, graph.view(), options);
        const fixed_page_rank_result expected = reference::fixed_page_rank(graph.view(), requested.params());
        on_every_target([&] {
            EXPECT_EQ(fixed_page_rank(place, graph.view(), requested.params()).ranks, expected.ranks);
        });
    }
}

// Large enough that the CPU stores the contributions of hot nodes together (degree_ordering.hpp).
TYPED_TEST(fixed_page_rank_test, many_nodes_without_order_match_reference) {
    if (tested_with().small_sizes) GTEST_SKIP() << "large";
    std::mt19937_64 random(10);
    for (const bool weighted : {false, true}) {
        const link_graph graph = random_graph(random, 420'000, 2'000'000, 3, 3, weighted);
        this->expect_reference(graph, {.tolerance = 1e-12, .max_iterations = 8}, "large");
    }
}

/// The same graph on two and three places, twice each, for every layout of slices (GPU) and links in their order.
template <class Tested>
class page_rank_parts_test : public on_place<Tested> {
  protected:
    void expect_reference(const link_graph& graph, const page_rank_options& options, const std::string& what,
                          unsigned digits = 30, const sliced_ell_layout& layout = {},
                          std::uint64_t gpu_memory = std::uint64_t{1} << 30) {
        cpu_place host(context::cpu(1));
        const integer_problem requested(host, graph.view(), shortened(options));
        fixed_page_rank_params params = requested.params();
        params.contribution_digits = digits;
        const fixed_page_rank_result expected = reference::fixed_page_rank(graph.view(), params);
        context ctx = Tested::ctx();
        ctx.gpu_memory_bytes = gpu_memory;
        for (const std::size_t count : {2, 3}) {
            SCOPED_TRACE(what + ", " + std::to_string(count) + " places");
            chosen_device chosen = choose_device(ctx, "this test");
            chosen.more = further_places(chosen, count - 1);
            place_set places(ctx, chosen);
            rank_parts<typename Tested::place_type> parts(places, graph.view());
            for (int call = 0; call < 2; ++call) {
                const fixed_page_rank_result found = parts.page_rank(params, ctx, layout);
                EXPECT_EQ(found.iterations, expected.iterations);
                EXPECT_EQ(found.change, expected.change);
                EXPECT_EQ(found.converged, expected.converged);
                EXPECT_EQ(found.wide_steps, expected.wide_steps);
                EXPECT_EQ(found.ranks, expected.ranks);
            }
        }
    }
};
TYPED_TEST_SUITE(page_rank_parts_test, tested_places, tested_place_names);

TYPED_TEST(page_rank_parts_test, nasty_graphs_match_reference) {
    for (const auto& [name, graph] : nasty_graphs()) {
        if (graph.nodes == 0) continue;
        this->expect_reference(graph, {.tolerance = 1e-12, .max_iterations = 100}, name);
        this->expect_reference(graph, {.tolerance = 1e-12, .max_iterations = 30}, name + ", wide", 5);
    }
}

TYPED_TEST(page_rank_parts_test, every_option_matches_reference) {
    std::mt19937_64 random(11);
    const link_graph graph = random_graph(random, 2000, 9000);
    const link_graph heavy = random_graph(random, 700, 5000, 3, 5, true);
    for (const link_graph* const of : {&graph, &heavy}) {
        std::vector<double> seeds(of->nodes), start(of->nodes);
        for (std::uint32_t v = 0; v < of->nodes; ++v) {
            seeds[v] = v % 3 == 0 ? static_cast<double>(random() % 100) : 0;
            start[v] = static_cast<double>(random() >> 12);
        }
        for (const dangling_rule rule :
             {dangling_rule::uniform, dangling_rule::preference, dangling_rule::none}) {
            page_rank_options options{.tolerance = 1e-9, .max_iterations = 200, .dangling = rule};
            this->expect_reference(*of, options, "plain");
            this->expect_reference(*of, options, "three digits", 3);
            options.preference = seeds;
            this->expect_reference(*of, options, "seeds");
            options.start = start;
            this->expect_reference(*of, options, "seeds, warm");
            options.preference = {};
            this->expect_reference(*of, options, "warm");
        }
    }
}

TYPED_TEST(page_rank_parts_test, every_layout_and_little_memory_match_reference) {
    std::mt19937_64 random(12);
    for (const std::uint32_t nodes : {1u, 2u, 3u, 5u, 63u, 64u, 65u, 257u, 5000u}) {
        const link_graph graph = random_graph(random, nodes, 6 * std::size_t{nodes}, 4);
        if (tested_with().small_sizes && nodes < 64 && nodes != 3) continue;
        for (const sliced_ell_layout& layout : {sliced_ell_layout{64, 0}, sliced_ell_layout{64, 3},
                                                sliced_ell_layout{128, 8}, sliced_ell_layout{}}) {
            this->expect_reference(graph, {.tolerance = 1e-10}, std::to_string(nodes) + " nodes", 30, layout);
        }
    }
    // Slices do not fit; then the links neither, of which a part comes from the host in each step.
    const link_graph graph = random_graph(random, 5000, 200'000, 2);
    for (const std::uint64_t bytes : {std::uint64_t{600'000}, std::uint64_t{400'000}})
        this->expect_reference(graph, {.tolerance = 1e-10}, "little memory", 30, {}, bytes);
}

TYPED_TEST(fixed_page_rank_test, no_nodes) {
    const link_graph graph;
    const fixed_page_rank_result found = fixed_page_rank(this->place(), graph.view(), {});
    EXPECT_TRUE(found.ranks.empty());
}

}  // namespace
}  // namespace quern::fixed_page_rank_test
