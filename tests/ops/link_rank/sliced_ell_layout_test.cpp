// SPDX-License-Identifier: Apache-2.0
// The arrangement of links on a GPU, and the number that fit its memory, must not change a result.
#include "ops/link_rank/sliced_ell_layout.hpp"

#include "on_each_place.hpp"
#include "ops/link_rank/graphs.hpp"
#include "ops/link_rank/integer_problem.hpp"

namespace quern::sliced_ell_layout_test {
namespace {

using namespace link_rank_detail;
using namespace test_graphs;

/// Every place, so that the same code compiles without CUDA; the test is only meaningful on CUDA.
template <class Tested>
class sliced_ell_layout_test : public on_place<Tested> {
  protected:
    static void expect_same(const fixed_page_rank_result& found, const fixed_page_rank_result& expected,
                            const std::string& what) {
        EXPECT_EQ(found.iterations, expected.iterations) << what;
        EXPECT_EQ(found.change, expected.change) << what;
        EXPECT_EQ(found.converged, expected.converged) << what;
        EXPECT_EQ(found.wide_steps, expected.wide_steps) << what;
        EXPECT_EQ(found.ranks, expected.ranks) << what;
    }
    static fixed_page_rank_result on_cpu(const link_graph& graph, const fixed_page_rank_params& params) {
        cpu_place host(context::cpu());
        return fixed_page_rank(host, graph.view(), params);
    }
    static context with_memory(std::uint64_t bytes) {
        context ctx = context::cuda();
        ctx.gpu_memory_bytes = bytes;
        return ctx;
    }
};

TYPED_TEST_SUITE(sliced_ell_layout_test, tested_places, tested_place_names);

/// Tables of a few nodes, so that small graphs need several; narrow and wide.
TYPED_TEST(sliced_ell_layout_test, every_layout_gives_the_same_ranks) {
    if constexpr (std::is_same_v<TypeParam, on_cuda>) {
        std::mt19937_64 random(1);
        auto graphs = nasty_graphs();
        graphs.emplace("skewed", random_graph(random, 5000, 60'000, 3));
        graphs.emplace("even", random_graph(random, 9000, 20'000, 1, 0));
        cpu_place host(context::cpu(1));
        for (const auto& [name, graph] : graphs) {
            const page_rank_options options{.tolerance = 1e-12, .max_iterations = 60};
            const integer_problem requested(host, graph.view(), options);
            for (const unsigned digits : {30u, 6u}) {
                fixed_page_rank_params params = requested.params();
                params.contribution_digits = digits;
                const fixed_page_rank_result expected = this->on_cpu(graph, params);
                for (const std::uint32_t table : {64u, 1024u, 0u}) {
                    for (const int hot : {-1, 0, 1, 4}) {
                        const fixed_page_rank_result found =
                            fixed_page_rank(this->place(), graph.view(), params, {table, hot});
                        this->expect_same(
                            found, expected,
                            name + ", table " + std::to_string(table) + ", groups " + std::to_string(hot));
                    }
                }
            }
        }
    } else {
        GTEST_SKIP() << "of CUDA only";
    }
}

/// Lengths around whole segments and slices: node v is linked from v nodes.
TYPED_TEST(sliced_ell_layout_test, rows_of_every_length) {
    if constexpr (std::is_same_v<TypeParam, on_cuda>) {
        links all;
        for (std::uint32_t v = 0; v < 300; ++v)
            for (std::uint32_t i = 0; i < v; ++i) all.push_back({(v * 7 + i) % 300, v});
        const link_graph graph = graph_of(300, all);
        cpu_place host(context::cpu(1));
        const integer_problem requested(host, graph.view(), {.tolerance = 1e-10});
        const fixed_page_rank_result expected = this->on_cpu(graph, requested.params());
        for (const std::uint32_t table : {64u, 128u, 320u})
            for (int hot = 0; hot <= 4; ++hot)
                this->expect_same(
                    fixed_page_rank(this->place(), graph.view(), requested.params(), {table, hot}), expected,
                    std::to_string(table) + " " + std::to_string(hot));
    } else {
        GTEST_SKIP() << "of CUDA only";
    }
}

/// Large enough that the graph itself needs several groups.
TYPED_TEST(sliced_ell_layout_test, large_graph) {
    if constexpr (std::is_same_v<TypeParam, on_cuda>) {
        std::mt19937_64 random(2);
        const bool small = tested_with().small_sizes;
        const link_graph graph =
            random_graph(random, small ? 2000 : 200'000, small ? 10'000 : 12'000'000, 1.5);
        cpu_place host(context::cpu());
        const integer_problem requested(host, graph.view(), {.tolerance = 1e-9});
        this->expect_same(fixed_page_rank(this->place(), graph.view(), requested.params()),
                          this->on_cpu(graph, requested.params()), "large");
    } else {
        GTEST_SKIP() << "of CUDA only";
    }
}

/// 800 KB of links, or 2.4 MB with weights; the nodes' arrays take 200 KB.
TYPED_TEST(sliced_ell_layout_test, links_beyond_memory_come_in_tiles) {
    if constexpr (std::is_same_v<TypeParam, on_cuda>) {
        std::mt19937_64 random(3);
        for (const bool weighted : {false, true}) {
            const link_graph graph = random_graph(random, 3000, 200'000, 2, 4, weighted);
            cpu_place host(context::cpu(1));
            const integer_problem requested(host, graph.view(), {.tolerance = 1e-10});
            const fixed_page_rank_result expected = this->on_cpu(graph, requested.params());
            for (const std::uint64_t kilobytes : {300u, 310u, 400u, 700u, 1000u, 2000u, 4000u}) {
                cuda_place tight(this->with_memory(kilobytes << 10), this->place().ordinal());
                this->expect_same(fixed_page_rank(tight, graph.view(), requested.params()), expected,
                                  std::to_string(kilobytes) + " KiB");
                EXPECT_LE(tight.memory().peak(), kilobytes << 10);
            }
            cuda_place too_tight(this->with_memory(100 << 10), this->place().ordinal());
            EXPECT_THROW(fixed_page_rank(too_tight, graph.view(), requested.params()), out_of_memory);
        }
    } else {
        GTEST_SKIP() << "of CUDA only";
    }
}

TYPED_TEST(sliced_ell_layout_test, hits_beyond_memory) {
    if constexpr (std::is_same_v<TypeParam, on_cuda>) {
        std::mt19937_64 random(4);
        const link_graph graph = random_graph(random, 3000, 200'000);
        links turned;
        for (std::uint32_t v = 0; v < graph.nodes; ++v)
            for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
                turned.push_back({v, graph.sources[e]});
        const link_graph back = graph_of(graph.nodes, turned);
        fixed_hits_params params;
        params.tolerance = std::uint64_t{1} << 30;
        params.max_iterations = 100;
        params.repeat_bits = 8;
        const fixed_hits_result expected = fixed_hits(this->place(), graph.view(), back.view(), params);
        EXPECT_GT(expected.iterations, 1u);
        for (const std::uint64_t kilobytes : {400u, 1000u, 3000u}) {
            cuda_place tight(this->with_memory(kilobytes << 10), this->place().ordinal());
            const fixed_hits_result found = fixed_hits(tight, graph.view(), back.view(), params);
            EXPECT_EQ(found.iterations, expected.iterations) << kilobytes;
            EXPECT_EQ(found.authorities, expected.authorities) << kilobytes;
            EXPECT_EQ(found.hubs, expected.hubs) << kilobytes;
            EXPECT_EQ(found.authority_change, expected.authority_change) << kilobytes;
            EXPECT_EQ(found.hub_change, expected.hub_change) << kilobytes;
        }
    } else {
        GTEST_SKIP() << "of CUDA only";
    }
}

}  // namespace
}  // namespace quern::sliced_ell_layout_test
