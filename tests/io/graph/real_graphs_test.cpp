// SPDX-License-Identifier: Apache-2.0
// External graphs and matrices, in the folder `graphs` of QUERN_DATA: sizes as stated by their publishers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "graph_text.hpp"

namespace quern::io::real_graphs_test {
namespace {

struct known_graph {
    const char* file;
    std::uint32_t nodes;
    std::uint64_t links, loops;
    std::uint32_t dangling;  ///< without nodes that have no links
};
const known_graph known_graphs[] = {
    {"cnr-2000.txt.zst", 325'557, 3'216'152, 87'442, 78'056},
    {"wiki-Vote.txt.zst", 7115, 103'689, 0, 1005},
    {"email-Eu-core.txt.zst", 1005, 25'571, 642, 137},
    {"cit-HepPh.txt.zst", 34'546, 421'578, 44, 2388},
    {"cit-HepTh.txt.zst", 27'770, 352'807, 39, 2711},
    {"ego-twitter-undirected.txt.zst", 81'306, 1'342'310, 14, 20'530},
    {"email-Enron.txt.zst", 36'692, 183'831, 0, 20'185},
    {"as-caida20071105.txt.zst", 26'475, 53'381, 0, 10'317},
    {"ca-AstroPh.txt.zst", 17'903, 197'031, 59, 5107},
    {"wb-cs.stanford.txt.zst", 9435, 36'854, 1299, 2382},
    {"wikispeedia-links.tsv.zst", 4589, 119'879, 110, 4},
    {"wing.mtx.zst", 62'032, 2 * 121'544, 0, 0},
    {"fe_4elt2.mtx.zst", 11'143, 2 * 32'818, 0, 0},
    {"4elt.mtx.zst", 15'606, 2 * 45'878, 0, 0},
    {"PGPgiantcompo.mtx.zst", 10'680, 2 * 24'316, 0, 0},
    {"arrow.mtx.zst", 46'500, 139'498, 46'500, 0},
    {"bcsstk13.mtx.zst", 2003, 2 * 42'943 - 2003, 2003, 0},
    {"cryg2500.mtx.zst", 2500, 12'349, 2500, 0},
    {"pushpull.mtx.zst", 4000, 2 * 99'208 - 2111, 2111, 0},
    {"bips98_606.mtx.zst", 7135, 34'738, 6900, 0},
};

struct known_matrix {
    const char* file;
    std::uint32_t rows, columns;
    std::uint64_t entries;
};
const known_matrix known_matrices[] = {
    {"Groebner_id2003_aug.mtx.zst", 4967, 2456, 173'670},
    {"Franz6_id1959_aug.mtx.zst", 10'592, 3016, 48'472},
    {"arrow.mtx.zst", 46'500, 46'500, 139'498},
    {"bcsstk13.mtx.zst", 2003, 2003, 2 * 42'943 - 2003},
    {"cryg2500.mtx.zst", 2500, 2500, 12'349},
    {"pushpull.mtx.zst", 4000, 4000, 2 * 99'208 - 2111},
    {"bips98_606.mtx.zst", 7135, 7135, 34'738},
};

std::filesystem::path data_file(const char* name) {
    const char* const data = std::getenv("QUERN_DATA");
    if (data == nullptr) return {};
    const std::filesystem::path file = std::filesystem::path(data) / "graphs" / name;
    return std::filesystem::exists(file) ? file : std::filesystem::path();
}

TEST(real_graphs, have_the_sizes_that_are_stated) {
    std::size_t read = 0;
    for (const known_graph& known : known_graphs) {
        const std::filesystem::path file = data_file(known.file);
        if (file.empty()) continue;
        SCOPED_TRACE(known.file);
        const auto graph = read_graph(std::span(&file, 1), {}, context::cpu(2));
        std::vector<bool> gives(graph.nodes());
        std::uint64_t loops = 0;
        for (const link each : graph.links()) {
            gives[each.from] = true;
            loops += each.from == each.to;
        }
        EXPECT_EQ(graph.nodes(), known.nodes);
        EXPECT_EQ(graph.links().size(), known.links);
        EXPECT_EQ(loops, known.loops);
        EXPECT_EQ(std::count(gives.begin(), gives.end(), false), known.dangling);
        ++read;
    }
    if (read == 0) GTEST_SKIP() << "QUERN_DATA has no graphs";
}

TEST(real_graphs, matrices_have_the_sizes_that_are_stated) {
    std::size_t read = 0;
    for (const known_matrix& known : known_matrices) {
        const std::filesystem::path file = data_file(known.file);
        if (file.empty()) continue;
        SCOPED_TRACE(known.file);
        const auto matrix = read_matrix(file, context::cpu(2));
        EXPECT_EQ(matrix.rows, known.rows);
        EXPECT_EQ(matrix.columns, known.columns);
        EXPECT_EQ(matrix.column.size(), known.entries);
        EXPECT_EQ(matrix.offsets[matrix.rows], known.entries);
        ++read;
    }
    if (read == 0) GTEST_SKIP() << "QUERN_DATA has no matrices";
}

}  // namespace
}  // namespace quern::io::real_graphs_test
