// SPDX-License-Identifier: Apache-2.0
// A graph that stays on a place: every call has the bits of the function of its name, whatever was called before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "on_each_place.hpp"
#include "ops/link_rank/graphs.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank.hpp"
#include "several_places.hpp"

namespace quern::resident_graph_test {
namespace {

using namespace test_graphs;

template <class Tested>
class resident_graph_test : public on_place<Tested> {};
TYPED_TEST_SUITE(resident_graph_test, tested_places, tested_place_names);

void expect_same(const link_ranks& found, const link_ranks& expected, const std::string& what) {
    EXPECT_EQ(found.ranks, expected.ranks) << what;
    EXPECT_EQ(found.order, expected.order) << what;
    EXPECT_EQ(found.iterations, expected.iterations) << what;
    EXPECT_EQ(found.change, expected.change) << what;
    EXPECT_EQ(found.converged, expected.converged) << what;
    EXPECT_THAT(found.place, ::testing::EndsWith(": requested")) << what;
}

void expect_page_rank(resident_graph& held, const link_graph& graph, const page_rank_options& options,
                      const std::string& what) {
    const link_ranks found = held.page_rank(options),
                     expected = page_rank(graph.view(), options, context::cpu(1));
    expect_same(found, expected, what);
    EXPECT_EQ(found.error_bound, expected.error_bound) << what;
}

void expect_hits(resident_graph& held, const link_graph& graph, const hits_options& options,
                 const std::string& what) {
    const hits_scores found = held.hits(options), expected = hits(graph.view(), options, context::cpu(1));
    expect_same(found.authorities, expected.authorities, what + ", authorities");
    expect_same(found.hubs, expected.hubs, what + ", hubs");
}

/// The chosen device `count` times.
chosen_device several(const context& ctx, std::size_t count) {
    chosen_device chosen = choose_device(ctx, "this test");
    chosen.more = further_places(chosen, count - 1);
    return chosen;
}

/// Every measure twice, in an order in which each meets what every other left.
void expect_every_measure(const link_graph& graph, const context& ctx, const std::string& what,
                          std::size_t places = 1) {
    std::vector<double> seeds(graph.nodes), start(graph.nodes);
    for (std::uint32_t v = 0; v < graph.nodes; v += 3) seeds[v] = v + 1;
    for (std::uint32_t v = 0; v < graph.nodes; ++v) start[v] = v % 7;
    start[0] = 1;
    resident_graph held(graph.view(), ctx, several(ctx, places), 1);
    for (int round = 0; round < 2; ++round) {
        expect_page_rank(held, graph, {}, what + ", plain");
        expect_page_rank(held, graph, {.tolerance = 1e-9, .preference = seeds}, what + ", seeds");
        expect_page_rank(held, graph, {.dangling = dangling_rule::none, .start = start}, what + ", warm");
        expect_hits(held, graph, {.max_iterations = 30}, what);
        expect_page_rank(held, graph, {.tolerance = 1e-12, .preference = seeds, .start = start},
                         what + ", warm seeds");
        for (const rank_storage storage : {rank_storage::csr, rank_storage::coo, rank_storage::brcp})
            expect_page_rank(held, graph, {.storage = storage}, what + ", stored");
        expect_page_rank(held, graph, {.max_iterations = 3}, what + ", three steps");
    }
}

TYPED_TEST(resident_graph_test, every_call_has_the_bits_of_its_function) {
    for (const auto& [name, graph] : nasty_graphs()) expect_every_measure(graph, TypeParam::ctx(), name);
    std::mt19937_64 random(1);
    expect_every_measure(random_graph(random, 3000, 30'000), TypeParam::ctx(), "random");
    expect_every_measure(random_graph(random, 700, 6000, 2, 4, true), TypeParam::ctx(), "weighted");
}

TYPED_TEST(resident_graph_test, every_call_on_several_places_has_the_bits_of_its_function) {
    std::mt19937_64 random(1);
    expect_every_measure(random_graph(random, 3000, 30'000), TypeParam::ctx(), "random", 2);
    expect_every_measure(random_graph(random, 700, 6000, 2, 4, true), TypeParam::ctx(), "weighted", 3);
}

// 52 bytes a node on one GPU, 32 on each of two.
TYPED_TEST(resident_graph_test, two_gpus_hold_a_graph_that_one_does_not) {
    if (std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of GPUs";
    std::mt19937_64 random(5);
    const link_graph graph = random_graph(random, 100'000, 300'000);
    context ctx = TypeParam::ctx();
    ctx.gpu_memory_bytes = 4'400'000;
    {  // what is read in place takes no memory of the GPU
        const char* const variable = "QUERN_CUDA_INTEGRATED";
        const char* const before = std::getenv(variable);
        const std::string kept = before == nullptr ? "" : before;
        setenv(variable, "0", 1);
        EXPECT_THROW((void)page_rank(graph.view(), {}, ctx), out_of_memory);
        before == nullptr ? unsetenv(variable) : setenv(variable, kept.c_str(), 1);
    }
    resident_graph held(graph.view(), ctx, several(ctx, 2));
    for (int call = 0; call < 2; ++call) expect_page_rank(held, graph, {.max_iterations = 20}, "two GPUs");
}

TYPED_TEST(resident_graph_test, a_graph_whose_links_are_arranged_anew) {  // large, and without locality
    std::mt19937_64 random(2);
    const link_graph graph = random_graph(random, 420'000, 2'000'000, 3, 3);
    resident_graph held(graph.view(), TypeParam::ctx());
    expect_page_rank(held, graph, {.max_iterations = 2}, "few steps");
    const std::uint64_t arranged = held.bytes();
    EXPECT_GT(arranged, graph.sources.size() * 2);
    expect_page_rank(held, graph, {}, "again");
    expect_hits(held, graph, {.max_iterations = 5}, "hits");
    EXPECT_GT(held.bytes(), arranged);
}

TYPED_TEST(resident_graph_test, a_graph_without_nodes) {
    resident_graph held({}, TypeParam::ctx());
    EXPECT_TRUE(held.page_rank({}).ranks.empty());
    EXPECT_TRUE(held.page_rank({}).converged);
    EXPECT_TRUE(held.hits({}).hubs.ranks.empty());
}

TYPED_TEST(resident_graph_test, moves_and_rejects_what_the_functions_reject) {
    std::mt19937_64 random(3);
    link_graph graph = random_graph(random, 200, 2000);
    resident_graph first(graph.view(), TypeParam::ctx());
    const link_ranks ranks = first.page_rank({});
    resident_graph second = std::move(first);
    EXPECT_EQ(second.page_rank({}).ranks, ranks.ranks);
    EXPECT_THROW(second.page_rank({.damping = 1}), usage_error);
    EXPECT_THROW(second.hits({.max_iterations = 0}), usage_error);
    const std::vector<double> few(199, 1);
    EXPECT_THAT(
        [&] { (void)second.page_rank({.preference = few}); },
        ::testing::ThrowsMessage<usage_error>("the preference has 199 values, but there are 200 nodes"));
    EXPECT_EQ(second.page_rank({}).ranks, ranks.ranks);
    graph.sources[0] = 200;
    EXPECT_THROW(resident_graph(graph.view(), TypeParam::ctx()), usage_error);
}

/// The smallest budget of the host, to 1/16, in which this does not run out of memory.
template <class Work>
std::uint64_t min_memory(const context& on, const Work& work) {
    for (std::uint64_t bytes = 1 << 20;; bytes += bytes / 16) {
        context ctx = on;
        ctx.memory_bytes = bytes;
        try {
            work(ctx);
            return bytes;
        } catch (const out_of_memory&) {
            EXPECT_LT(bytes, std::uint64_t{1} << 30);
        }
    }
}

TYPED_TEST(resident_graph_test, memory_for_one_measure_at_a_time) {
    std::mt19937_64 random(4);
    const link_graph graph = random_graph(random, 50'000, 500'000, 2, 4, true);
    context ctx = TypeParam::ctx();
    ctx.memory_bytes =
        std::max(min_memory(ctx, [&](const context& some) { (void)page_rank(graph.view(), {}, some); }),
                 min_memory(ctx, [&](const context& some) { (void)hits(graph.view(), {}, some); }));
    resident_graph held(graph.view(), ctx);
    for (int round = 0; round < 2; ++round) {
        expect_page_rank(held, graph, {}, "page rank");
        expect_hits(held, graph, {}, "hits");
    }
    context too_little = TypeParam::ctx();
    too_little.memory_bytes = 1 << 20;
    resident_graph crowded(graph.view(), too_little);
    EXPECT_THROW(crowded.page_rank({}), out_of_memory);
    EXPECT_THROW(crowded.hits({}), out_of_memory);
}

TYPED_TEST(resident_graph_test, stops_when_requested_and_goes_on_afterwards) {
    for (const std::size_t places : {1, 3}) {
        std::atomic<int> signal = 0;
        context ctx = TypeParam::ctx();
        ctx.stop_signal = &signal;
        const link_graph graph = nasty_graphs().at("hub");
        resident_graph held(graph.view(), ctx, several(ctx, places), 1);
        const link_ranks ranks = held.page_rank({});
        signal = 2;
        EXPECT_THROW(held.page_rank({}), interrupted);
        EXPECT_THROW(held.hits({}), interrupted);
        signal = 0;
        EXPECT_EQ(held.page_rank({}).ranks, ranks.ranks);
        expect_hits(held, graph, {}, "hits");
    }
}

}  // namespace
}  // namespace quern::resident_graph_test
