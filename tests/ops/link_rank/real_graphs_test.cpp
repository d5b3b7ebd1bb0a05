// SPDX-License-Identifier: Apache-2.0
// Real graphs, from the folder "graphs" of QUERN_DATA: the order of the best is the true one, for any order of the links
// and any number of threads. Only "FROM TO" lines are read here; the program's reader belongs to io.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/link_rank/graphs.hpp"
#include "reference/page_rank_reference.hpp"

namespace quern::real_graphs_test {
namespace {

using namespace test_graphs;

/// Nodes are the words that occur, numbered by first appearance.
link_graph read_links(const std::filesystem::path& path) {
    const std::string command = "zstd -dcq '" + path.string() + "'";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::map<std::string, std::uint32_t> numbers;
    links all;
    char line[4096];
    while (pipe != nullptr && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
        if (line[0] == '#' || line[0] == '%') continue;
        std::vector<std::string> words(1);
        for (const char* at = line; *at != 0; ++at) {
            if (std::isspace(static_cast<unsigned char>(*at)) == 0) {
                words.back() += *at;
            } else if (!words.back().empty()) {
                words.emplace_back();
            }
        }
        if (words.size() < 2 || words[1].empty()) continue;
        const auto number = [&](const std::string& word) {
            return numbers.emplace(word, static_cast<std::uint32_t>(numbers.size())).first->second;
        };
        const std::uint32_t from = number(words[0]);
        all.push_back({from, number(words[1])});
    }
    return graph_of(static_cast<std::uint32_t>(numbers.size()), all);
}

TEST(real_graphs, order_of_the_best_is_true) {
    const char* const data = std::getenv("QUERN_DATA");
    const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "graphs";
    if (data == nullptr || !std::filesystem::exists(folder))
        GTEST_SKIP() << "set QUERN_DATA to a folder of real data";
    std::size_t seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".txt.zst") && !name.ends_with(".tsv.zst")) continue;
        const link_graph graph = read_links(entry.path());
        ASSERT_GT(graph.nodes, 100u) << name;
        ++seen;
        const link_ranks found = page_rank(graph.view(), {.tolerance = 1e-12}, context::cpu(2));
        EXPECT_TRUE(found.converged) << name;
        const reference::long_reals expected = reference::page_rank(graph.view(), {}, 1e-16L);
        long double error = 0;
        for (std::uint32_t v = 0; v < graph.nodes; ++v) error += std::fabs(found.ranks[v] - expected[v]);
        EXPECT_LE(error, found.error_bound) << name;

        // Places whose true ranks are closer than the reference's precision may have any order there.
        std::size_t wrong = 0, too_close = 0;
        const std::vector<std::uint32_t> order = reference::order_by_rank(expected);
        for (std::size_t rank = 0; rank < std::min<std::size_t>(10'000, order.size()); ++rank) {
            const std::uint32_t mine = found.order[rank], its = order[rank];
            if (mine == its) continue;
            (std::fabs(expected[mine] - expected[its]) < 1e-15L * expected[its] + 1e-17L ? too_close
                                                                                         : wrong) += 1;
        }
        EXPECT_EQ(wrong, 0u) << name;
        RecordProperty(name, std::to_string(too_close) + " ties");
        std::printf(
            "%-28s %7u nodes %8zu links %3u steps  L1 error %.2Lg (bound %.2g)  places in the first 10000: "
            "%zu wrong, %zu tied\n",
            name.c_str(), graph.nodes, graph.sources.size(), found.iterations, error, found.error_bound,
            wrong, too_close);
        const link_ranks again = page_rank(shuffled(graph, 1).view(), {.tolerance = 1e-12}, context::cpu(1));
        EXPECT_EQ(again.ranks, found.ranks) << name;
        EXPECT_EQ(again.order, found.order) << name;
    }
    EXPECT_GT(seen, 5u);
}

}  // namespace
}  // namespace quern::real_graphs_test
