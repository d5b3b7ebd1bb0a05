// SPDX-License-Identifier: Apache-2.0
// PageRank through its public function: against the definition in long double, for every option, and the promises of its
// header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/link_rank/graphs.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank.hpp"
#include "reference/page_rank_reference.hpp"

namespace quern::page_rank_test {
namespace {

using namespace test_graphs;

const context one_thread = context::cpu(1);

reference::long_reals as_reals(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

/// Ranks within their bound of the truth, which is close to the tolerance; in order; converged.
void expect_true_ranks(const link_graph& graph, page_rank_options options, const std::string& what) {
    options.tolerance = 1e-9;
    const link_ranks found = page_rank(graph.view(), options, one_thread);
    const reference::long_reals expected = reference::page_rank(graph.view(), options);
    const auto error = static_cast<double>(reference::distance(as_reals(found.ranks), expected));
    EXPECT_LE(error, found.error_bound) << what;
    EXPECT_LE(found.error_bound, 1.01 * options.damping / (1 - options.damping) * 1e-9 + 1e-12) << what;
    EXPECT_TRUE(found.converged) << what;
    EXPECT_LT(found.change, 1e-9) << what;
    EXPECT_EQ(found.order, reference::order_by_rank(found.ranks)) << what;
    EXPECT_EQ(found.place, "cpu: requested");
}

const dangling_rule every_rule[] = {dangling_rule::uniform, dangling_rule::preference, dangling_rule::none};

TEST(page_rank, nasty_graphs_are_true) {
    for (const auto& [name, graph] : nasty_graphs())
        for (const dangling_rule rule : every_rule) expect_true_ranks(graph, {.dangling = rule}, name);
}

TEST(page_rank, nothing_comes_of_nothing) {
    const link_ranks found = page_rank({}, {}, one_thread);
    EXPECT_TRUE(found.ranks.empty());
    EXPECT_TRUE(found.order.empty());
    EXPECT_TRUE(found.converged);
    EXPECT_EQ(found.iterations, 0u);
    EXPECT_EQ(found.error_bound, 0);
}

TEST(page_rank, a_cycle_is_even) {
    const auto graphs = nasty_graphs();
    const link_ranks found = page_rank(graphs.at("cycle").view(), {.tolerance = 1e-9}, one_thread);
    EXPECT_EQ(found.iterations, 1u);
    for (const double rank : found.ranks) EXPECT_NEAR(rank, 1.0 / 3000, 1e-12);
}

TEST(page_rank, known_values) {  // α = 1/2: 0 → 1 → 2, 2 has no links
    const link_graph graph = graph_of(3, {{0, 1}, {1, 2}});
    page_rank_options options{.damping = 0.5, .tolerance = 1e-15, .dangling = dangling_rule::none};
    const link_ranks dangling_mass = page_rank(graph.view(), options, one_thread);
    EXPECT_THAT(dangling_mass.ranks,
                ::testing::Pointwise(::testing::DoubleNear(1e-14), {1 / 6.0, 1 / 4.0, 7 / 24.0}));
    EXPECT_THAT(dangling_mass.order, ::testing::ElementsAre(2, 1, 0));
    options.dangling = dangling_rule::uniform;  // as many parts, of a sum of 1
    const link_ranks shared = page_rank(graph.view(), options, one_thread);
    EXPECT_THAT(shared.ranks,
                ::testing::Pointwise(::testing::DoubleNear(1e-14), {4 / 17.0, 6 / 17.0, 7 / 17.0}));
}

// networkx 3.6.1, _pagerank_python, tol=1e-16: by default it gives the lost mass to the preference.
TEST(page_rank, as_networkx_has_it) {
    const links all = {{0, 1}, {0, 2}, {1, 2}, {2, 0}, {2, 3}, {4, 2}, {4, 5}, {5, 5}, {5, 3}, {6, 4}};
    const link_graph graph = graph_of(8, all);
    const std::vector<double> seeds = {1, 0, 0, 0, 3, 0, 0, 0};
    page_rank_options options{.tolerance = 1e-16, .dangling = dangling_rule::preference, .preference = seeds};
    const auto ranks = [&](const link_graph& of) { return page_rank(of.view(), options, one_thread).ranks; };
    EXPECT_THAT(ranks(graph), ::testing::Pointwise(
                                  ::testing::DoubleNear(1e-14),
                                  {0.16694355926111842, 0.0709510126859753, 0.22317789154567033,
                                   0.16279037813745212, 0.21627886606262564, 0.15985829230715817, 0.0, 0.0}));
    options.dangling = dangling_rule::uniform;
    EXPECT_THAT(ranks(graph),
                ::testing::Pointwise(
                    ::testing::DoubleNear(1e-14),
                    {0.15585778819359813, 0.08791305847226485, 0.22749244636144117, 0.18231236965105604,
                     0.15259597220647353, 0.15048136813519486, 0.021673498489985687, 0.021673498489985687}));
    options = {.damping = 0.6, .tolerance = 1e-16};
    EXPECT_THAT(ranks(graph_of(8, all, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})),
                ::testing::Pointwise(
                    ::testing::DoubleNear(1e-14),
                    {0.12364848268765663, 0.09367140133177781, 0.2051504171002881, 0.1836143591290403,
                     0.11030672767079444, 0.14572520249194967, 0.06894170479424652, 0.06894170479424652}));
}

TEST(page_rank, the_sum_is_1_unless_what_is_lost_stays_lost) {
    std::mt19937_64 random(1);
    const link_graph graph = random_graph(random, 5000, 20'000);
    for (const dangling_rule rule : every_rule) {
        const link_ranks found = page_rank(graph.view(), {.tolerance = 1e-12, .dangling = rule}, one_thread);
        const double sum = std::accumulate(found.ranks.begin(), found.ranks.end(), 0.0);
        if (rule == dangling_rule::none) {
            EXPECT_LT(sum, 0.9);
        } else {
            EXPECT_NEAR(sum, 1, found.error_bound);
        }
    }
}

TEST(page_rank, seeds_with_every_rule) {
    std::mt19937_64 random(2);
    const link_graph graph = random_graph(random, 600, 2500);
    const link_graph sinks = graph_of(6, {{0, 1}, {0, 2}, {1, 3}, {4, 5}});  // 3 and 5 end all walks
    for (const link_graph* const of : {&graph, &sinks}) {
        std::vector<double> one(of->nodes), many(of->nodes);
        one[0] = 5;
        for (std::uint32_t v = 0; v < of->nodes; v += 3) many[v] = v + 1;
        std::vector<double> on_sink(of->nodes);
        on_sink[3] = 1;
        for (const dangling_rule rule : every_rule) {
            expect_true_ranks(*of, {.dangling = rule, .preference = one}, "one seed");
            expect_true_ranks(*of, {.dangling = rule, .preference = many}, "many seeds");
            expect_true_ranks(*of, {.dangling = rule, .preference = on_sink}, "a seed that may be a sink");
        }
    }
}

TEST(page_rank, what_no_walk_reaches_has_no_rank) {
    const link_graph graph = graph_of(6, {{0, 1}, {0, 2}, {1, 3}, {4, 5}});
    const std::vector<double> seed = {1, 0, 0, 0, 0, 0};
    const link_ranks found =
        page_rank(graph.view(), {.dangling = dangling_rule::preference, .preference = seed}, one_thread);
    EXPECT_EQ(found.ranks[4], 0);
    EXPECT_EQ(found.ranks[5], 0);
    EXPECT_GT(found.ranks[3], 0);
    EXPECT_THAT(found.order, ::testing::ElementsAre(0, 1, 2, 3, 4, 5));  // 1 and 2 tie, 4 and 5 tie
}

TEST(page_rank, links_that_occur_twice_weigh_twice) {
    const link_graph twice = graph_of(3, {{0, 1}, {0, 1}, {0, 2}, {1, 0}, {2, 0}, {2, 2}});
    const link_graph heavy = graph_of(3, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {2, 2}}, {2, 1, 1, 1, 1});
    expect_true_ranks(twice, {}, "twice");
    const page_rank_options options{.tolerance = 1e-14};
    const link_ranks a = page_rank(twice.view(), options, one_thread);
    const link_ranks b = page_rank(heavy.view(), options, one_thread);
    EXPECT_THAT(a.ranks, ::testing::Pointwise(::testing::DoubleNear(1e-13), b.ranks));
    EXPECT_GT(a.ranks[2], 0.29);  // its link to itself counts
}

TEST(page_rank, weights) {
    std::mt19937_64 random(3);
    for (const dangling_rule rule : every_rule)
        expect_true_ranks(random_graph(random, 400, 3000, 2, 5, true), {.dangling = rule}, "weights");
    // Weights whose sums are beyond doubles, and below them.
    const link_graph extreme = graph_of(4, {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {2, 0}, {2, 3}},
                                        {1.7e308, 1.7e308, 0.85e308, 4.9e-324, 9.8e-324, 1e-310, 3e-310});
    const link_graph moderate =
        graph_of(4, {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 2}, {2, 0}, {2, 3}}, {1.7, 1.7, 0.85, 1, 2, 1, 3});
    const link_ranks a = page_rank(extreme.view(), {.tolerance = 1e-13}, one_thread);
    const link_ranks b = page_rank(moderate.view(), {.tolerance = 1e-13}, one_thread);
    EXPECT_THAT(a.ranks, ::testing::Pointwise(::testing::DoubleNear(1e-12), b.ranks));
}

TEST(page_rank, a_warm_start_needs_few_steps) {
    std::mt19937_64 random(4);
    const link_graph graph = random_graph(random, 3000, 20'000);
    const page_rank_options cold{.tolerance = 1e-10};
    const link_ranks first = page_rank(graph.view(), cold, one_thread);
    page_rank_options warm = cold;
    warm.start = first.ranks;
    warm.tolerance = 1.1e-10;
    const link_ranks again = page_rank(graph.view(), warm, one_thread);
    EXPECT_GT(first.iterations, 10u);
    EXPECT_LE(again.iterations, 2u);
    warm.tolerance = 1e-9;
    warm.start = {};
    expect_true_ranks(graph, warm, "warm");
    std::vector<double> far(graph.nodes);
    far[17] = 3e-200;
    expect_true_ranks(graph, {.start = far}, "from one node");
}

TEST(page_rank, says_that_it_has_not_converged) {
    std::mt19937_64 random(5);
    const link_graph graph = random_graph(random, 2000, 20'000);
    const link_ranks stopped = page_rank(graph.view(), {.tolerance = 1e-12, .max_iterations = 7}, one_thread);
    EXPECT_FALSE(stopped.converged);
    EXPECT_EQ(stopped.iterations, 7u);
    EXPECT_GT(stopped.change, 1e-12);
    const reference::long_reals expected = reference::page_rank(graph.view(), {});
    EXPECT_LE(reference::distance(as_reals(stopped.ranks), expected), stopped.error_bound);
    // Below the grid's precision, it ends, reports that, and is as accurate as the grid.
    const link_ranks beyond =
        page_rank(graph.view(), {.tolerance = 1e-30, .max_iterations = 100'000}, one_thread);
    EXPECT_FALSE(beyond.converged);
    EXPECT_LT(beyond.iterations, 1000u);
    EXPECT_LT(beyond.error_bound, 1e-12);
    EXPECT_LE(reference::distance(as_reals(beyond.ranks), expected), beyond.error_bound);
}

// The textbook's iteration in doubles, from the same start, takes as many steps.
TEST(page_rank, takes_the_steps_of_a_power_iteration) {
    std::mt19937_64 random(6);
    for (const double tolerance : {1e-3, 1e-6, 1e-10}) {
        const link_graph graph = random_graph(random, 4000, 60'000);
        reference::long_reals ranks = reference::distribution({}, graph.nodes);
        const reference::definition defined(graph.view(), {});
        unsigned steps = 0;
        for (long double change = 1; change >= tolerance; ++steps) {
            reference::long_reals next = defined.step(ranks);
            change = reference::distance(next, ranks);
            ranks = std::move(next);
        }
        const link_ranks found = page_rank(graph.view(), {.tolerance = tolerance}, one_thread);
        EXPECT_NEAR(found.iterations, steps, 1);
    }
}

TEST(page_rank, the_same_bits_for_any_threads_and_order_of_links) {
    std::mt19937_64 random(7);
    for (const bool weighted : {false, true}) {
        const link_graph graph = random_graph(random, 30'000, 300'000, 3, 4, weighted);
        const link_ranks expected = page_rank(graph.view(), {}, one_thread);
        for (const unsigned threads : {1u, 2u, 5u}) {
            const link_ranks found = page_rank(shuffled(graph, threads).view(), {}, context::cpu(threads));
            EXPECT_EQ(found.ranks, expected.ranks);
            EXPECT_EQ(found.order, expected.order);
            EXPECT_EQ(found.change, expected.change);
            EXPECT_EQ(found.iterations, expected.iterations);
        }
    }
}

// Any graph, any options: within the reported bound, and in the order of the reported ranks.
RC_GTEST_PROP(page_rank, the_bound_holds, (std::uint64_t seed)) {
    std::mt19937_64 random(seed);
    const auto nodes = static_cast<std::uint32_t>(*rc::gen::inRange(1, 300));
    const auto count = static_cast<std::size_t>(*rc::gen::inRange(0, 3000));
    const bool weighted = *rc::gen::arbitrary<bool>();
    const link_graph graph = random_graph(random, nodes, count, *rc::gen::element(1.0, 2.0, 5.0),
                                          *rc::gen::element(0u, 2u, 5u), weighted);
    std::vector<double> preference(nodes), start(nodes);
    preference[random() % nodes] = start[random() % nodes] = 1;
    for (double& value : preference) value += random() % 3 == 0 ? static_cast<double>(random() % 1000) : 0;
    page_rank_options options{.damping = *rc::gen::element(0.0, 0.3, 0.85, 0.97),
                              .tolerance = *rc::gen::element(0.1, 1e-4, 1e-12),
                              .max_iterations = *rc::gen::element(1u, 2u, 5u, 1000u),
                              .dangling = *rc::gen::element(dangling_rule::uniform, dangling_rule::preference,
                                                            dangling_rule::none)};
    if (*rc::gen::arbitrary<bool>()) options.preference = preference;
    if (*rc::gen::arbitrary<bool>()) options.start = start;
    const link_ranks found = page_rank(graph.view(), options, one_thread);
    page_rank_options exactly = options;
    exactly.start = {};
    const auto error =
        reference::distance(as_reals(found.ranks), reference::page_rank(graph.view(), exactly));
    RC_ASSERT(error <= found.error_bound + 1e-13L);  // the reference has an error too
    RC_ASSERT(found.converged == (found.change < options.tolerance));
    RC_ASSERT(found.order == reference::order_by_rank(found.ranks));
}

template <class Change>
std::string refused(Change change) {
    link_graph graph = graph_of(3, {{0, 1}, {0, 2}, {1, 2}}, {1, 1, 1});
    page_rank_options options;
    const std::vector<double> three = {1, 2, 3};
    options.preference = options.start = three;
    change(graph, options);
    try {
        page_rank(graph.view(), options, one_thread);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "";
}

TEST(page_rank, refuses_options_out_of_range) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                     infinity = std::numeric_limits<double>::infinity();
    const auto with = [](auto change) {
        return refused([&](link_graph&, page_rank_options& o) { change(o); });
    };
    EXPECT_EQ(with([](page_rank_options&) {}), "");
    for (const double damping : {-0.1, 1.0, nan})
        EXPECT_THAT(with([=](page_rank_options& o) { o.damping = damping; }),
                    ::testing::HasSubstr("(expected a number from 0 to below 1)"));
    for (const double tolerance : {0.0, -1.0, nan, infinity})
        EXPECT_THAT(with([=](page_rank_options& o) { o.tolerance = tolerance; }),
                    ::testing::HasSubstr("(expected a number above 0)"));
    EXPECT_EQ(with([](page_rank_options& o) { o.max_iterations = 0; }),
              "max_iterations: invalid value '0' (expected a whole number from 1 to 4294967295)");
    EXPECT_EQ(with([](page_rank_options& o) { o.dangling = static_cast<dangling_rule>(7); }),
              "dangling: invalid value '7' (expected one of uniform, preference, none)");
    const std::vector<double> two = {1, 2}, negative = {1, -1, 2}, not_a_number = {1, 1, nan}, zeros(3),
                              endless = {infinity, 0, 0};
    EXPECT_EQ(with([&](page_rank_options& o) { o.preference = two; }),
              "the preference has 2 values, but there are 3 nodes");
    EXPECT_EQ(with([&](page_rank_options& o) { o.preference = negative; }),
              "the preference of node 1 is not a finite number of at least 0");
    EXPECT_EQ(with([&](page_rank_options& o) { o.start = not_a_number; }),
              "the start of node 2 is not a finite number of at least 0");
    EXPECT_EQ(with([&](page_rank_options& o) { o.start = endless; }),
              "the start of node 0 is not a finite number of at least 0");
    EXPECT_EQ(with([&](page_rank_options& o) { o.preference = zeros; }),
              "the preference is 0 for every node");
}

TEST(page_rank, refuses_what_is_no_graph) {
    const auto with = [](auto change) {
        return refused([&](link_graph& g, page_rank_options&) { change(g); });
    };
    EXPECT_EQ(with([](link_graph& g) { g.offsets.pop_back(); }),
              "invalid graph: the number of offsets is not the number of nodes plus 1");
    EXPECT_EQ(with([](link_graph& g) { g.offsets.clear(); }), "invalid graph: no offsets");
    EXPECT_EQ(with([](link_graph& g) { g.offsets[0] = 1; }), "invalid graph: the first offset is not 0");
    EXPECT_EQ(with([](link_graph& g) { g.offsets[3] = 2; }),
              "invalid graph: the last offset is not the number of links");
    EXPECT_EQ(with([](link_graph& g) { g.offsets[1] = ~std::uint64_t{0}; }),
              "invalid graph: the links of node 1 end before they begin");
    EXPECT_EQ(with([](link_graph& g) { g.sources[2] = 3; }),
              "invalid graph: the source of link 2 is not a node");
    EXPECT_EQ(with([](link_graph& g) { std::swap(g.sources[1], g.sources[2]); }),
              "invalid graph: the sources of node 2 do not ascend");
    EXPECT_EQ(with([](link_graph& g) { g.weights[1] = 0; }),
              "invalid graph: the weight of link 1 is not a positive finite number");
    EXPECT_EQ(with([](link_graph& g) { g.weights.pop_back(); }),
              "invalid graph: the number of weights is not the number of links");
    EXPECT_EQ(with([](link_graph& g) { g.out_degrees.pop_back(); }),
              "invalid graph: the number of degrees is not the number of nodes");
    EXPECT_EQ(with([](link_graph& g) { std::swap(g.out_degrees[0], g.out_degrees[1]); }),
              "invalid graph: the degrees do not match the links");
}

TEST(page_rank, stops_when_requested) {
    std::atomic<int> signal = 2;
    context ctx = one_thread;
    ctx.stop_signal = &signal;
    EXPECT_THROW(page_rank(nasty_graphs().at("hub").view(), {}, ctx), interrupted);
}

}  // namespace
}  // namespace quern::page_rank_test
