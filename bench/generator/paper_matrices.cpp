// SPDX-License-Identifier: Apache-2.0
#include "generator/paper_matrices.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace quern::generator {
namespace {

using enum length_law;

constexpr column_pattern band(std::uint32_t half_width, std::uint32_t run) {
    return {pattern_kind::band, half_width, run};
}

// Rows, entries, shortest and longest row, variance. Variances of consph, rma10, the mouse's genes and fl2010, il2010
// and cage13 are the squares of the deviations that the paper prints as integers (consph's and rma10's to the
// digits published elsewhere).
constexpr paper_matrix matrices[] = {
    {"cant", {bell, 62'451, 4'007'383, 1, 78, 198}, band(275, 3), value_kind::signs},
    {"consph", {bell, 83'334, 6'010'480, 1, 81, 365}, band(4'000, 3), value_kind::signs},
    {"rma10", {bell, 46'835, 2'374'001, 4, 145, 772}, band(1'000, 5), value_kind::signs},
    {"webbase-1M", {tail, 1'000'005, 3'105'536, 1, 4'700, 642}, {pattern_kind::web}, value_kind::share},
    {"human_gene1", {tail, 22'283, 24'669'643, 1, 7'939, 1.99e6}, {pattern_kind::spread}, value_kind::weight},
    {"mouse_gene", {tail, 45'101, 28'967'291, 1, 8'032, 7.34e5}, {pattern_kind::spread}, value_kind::weight},
    {"fl2010", {bell, 484'481, 2'346'294, 1, 177, 9}, {pattern_kind::planar}, value_kind::whole},
    {"il2010", {bell, 451'554, 2'164'464, 1, 90, 4}, {pattern_kind::planar}, value_kind::whole},
    {"cage13", {bell, 445'315, 7'479'343, 3, 39, 25}, {pattern_kind::far}, value_kind::share},
    {"cage14", {bell, 1'505'785, 27'130'349, 5, 41, 28.8}, {pattern_kind::far}, value_kind::share},
};

// Nodes, links, maximum degrees. The shares of nodes without links in or out are assumptions: about a tenth to a quarter
// of a crawl, a third of a social network.
constexpr paper_graph graphs[] = {
    {"eu-2005",
     {tail, 862'664, 19'235'140, 1, 68'922, 0, 0.05},
     {tail, 862'664, 19'235'140, 1, 6'985, 0, 0.08},
     false,
     0.9},
    {"in-2004",
     {tail, 1'382'908, 16'917'053, 1, 21'866, 0, 0.05},
     {tail, 1'382'908, 16'917'053, 1, 7'753, 1'386, 0.20},
     false,
     0.9},
    {"as-skitter", {tail, 1'696'415, 22'190'596, 1, 35'455, 0}, {}, true},
    {"higgs-twitter",
     {tail, 456'626, 14'855'842, 1, 51'386, 0, 0.1},
     {tail, 456'626, 14'855'842, 1, 1'259, 0, 0.2}},
    {"sx-stackoverflow",
     {tail, 2'601'977, 36'233'450, 1, 44'065, 0, 0.1},
     {tail, 2'601'977, 36'233'450, 1, 38'148, 0, 0.3}},
    {"wiki-topcats",
     {tail, 1'791'489, 28'511'807, 1, 238'342, 0},
     {tail, 1'791'489, 28'511'807, 1, 3'907, 0}},
};

template <class Twin>
const Twin& named(std::span<const Twin> twins, std::string_view name) {
    const auto found = std::ranges::find(twins, name, &Twin::name);
    if (found == twins.end()) throw std::invalid_argument("no twin is called " + std::string(name));
    return *found;
}

}  // namespace

std::span<const paper_matrix> paper_matrices() {
    return matrices;
}
std::span<const paper_graph> paper_graphs() {
    return graphs;
}

matrix make_paper_matrix(std::string_view name, std::uint64_t seed) {
    const paper_matrix& twin = named(paper_matrices(), name);
    return make_matrix(make_lengths(twin.rows, seed), twin.pattern, twin.values, seed);
}

graph make_paper_graph(std::string_view name, std::uint64_t seed) {
    const paper_graph& twin = named(paper_graphs(), name);
    if (twin.undirected) return make_undirected_graph(twin.in, seed);
    return make_graph_of_degrees({twin.in, twin.out, twin.local, seed});
}

}  // namespace quern::generator
