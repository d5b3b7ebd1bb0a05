// SPDX-License-Identifier: Apache-2.0
// The generators of graphs and matrices: statistics within the limits that their headers state, and the same from any
// number of threads. Fingerprints hold the bytes, so that graphs of different machines and versions are the same.
#include <gmock/gmock.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/hash.hpp"
#include "generator/graphs.hpp"
#include "generator/matrices.hpp"
#include "generator/paper_matrices.hpp"
#include "generator/permutation.hpp"

namespace quern::generator::generators_test {

void PrintTo(const paper_matrix& twin, std::ostream* out) {
    *out << twin.name;
}
void PrintTo(const paper_graph& twin, std::ostream* out) {
    *out << twin.name;
}

namespace {

struct summary {
    std::uint64_t sum = 0;
    std::uint32_t least = 0, max = 0;
    double mean = 0, variance = 0, empty = 0;
};
summary summarised(const std::vector<std::uint32_t>& lengths) {
    summary found;
    const auto [least, max] = std::ranges::minmax(lengths);
    double squares = 0, empty = 0;
    for (const std::uint32_t length : lengths) {
        found.sum += length;
        squares += static_cast<double>(length) * length;
        empty += length == 0 ? 1 : 0;
    }
    const auto items = static_cast<double>(lengths.size());
    found.least = least;
    found.max = max;
    found.mean = static_cast<double>(found.sum) / items;
    found.variance = squares / items - found.mean * found.mean;
    found.empty = empty / items;
    return found;
}

struct degrees {
    std::vector<std::uint32_t> in, out;
};
degrees degrees_of(const graph& made) {
    degrees found{std::vector<std::uint32_t>(made.nodes), std::vector<std::uint32_t>(made.nodes)};
    for (const link& each : made.links) {
        ++found.in.at(each.to);
        ++found.out.at(each.from);
    }
    return found;
}

/// What `make` makes with one thread and with four.
template <class Make>
auto with_threads(std::size_t threads, const Make& make) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    return make();
}

bool same(const matrix& a, const matrix& b) {
    return a.offsets == b.offsets && a.column == b.column && a.value == b.value;
}

void expect_rising_distinct_columns(const matrix& made) {
    ASSERT_EQ(made.offsets.size(), made.rows + std::size_t{1});
    ASSERT_EQ(made.offsets.back(), made.column.size());
    for (std::uint32_t row = 0; row < made.rows; ++row) {
        for (std::uint64_t k = made.offsets[row]; k < made.offsets[row + 1]; ++k) {
            ASSERT_LT(made.column[k], made.columns) << "row " << row;
            if (k > made.offsets[row]) {
                ASSERT_LT(made.column[k - 1], made.column[k]) << "row " << row;
            }
        }
    }
}

TEST(permutation, maps_one_to_one) {
    for (const std::uint64_t size : {1, 2, 3, 31, 32, 33, 255, 257, 4097}) {
        const permutation shuffle(size, 7);
        std::vector<bool> met(size);
        for (std::uint64_t i = 0; i < size; ++i) {
            ASSERT_LT(shuffle(i), size);
            ASSERT_FALSE(met[shuffle(i)]);
            met[shuffle(i)] = true;
        }
    }
}

TEST(permutation, moves_items_and_depends_on_the_seed) {
    const permutation one(4097, 1), other(4097, 2);
    int fixed = 0, equal = 0;
    for (std::uint64_t i = 0; i < 4097; ++i) {
        fixed += one(i) == i ? 1 : 0;
        equal += one(i) == other(i) ? 1 : 0;
    }
    EXPECT_LT(fixed, 10);
    EXPECT_LT(equal, 10);
}

class twin_of_matrix : public ::testing::TestWithParam<paper_matrix> {};
TEST_P(twin_of_matrix, has_its_row_statistics) {
    const length_statistics& wanted = GetParam().rows;
    const summary found = summarised(make_lengths(wanted, 1));
    EXPECT_EQ(found.sum, wanted.sum);
    EXPECT_EQ(found.least, wanted.least);
    EXPECT_EQ(found.max, wanted.max);
    EXPECT_NEAR(found.variance, wanted.variance, 0.04 * wanted.variance);
}
INSTANTIATE_TEST_SUITE_P(paper, twin_of_matrix,
                         ::testing::ValuesIn(paper_matrices().begin(), paper_matrices().end()));

class twin_of_graph : public ::testing::TestWithParam<paper_graph> {};
TEST_P(twin_of_graph, has_its_degrees) {
    const paper_graph& wanted = GetParam();
    for (const length_statistics& side : {wanted.in, wanted.undirected ? wanted.in : wanted.out}) {
        const summary found = summarised(make_lengths(side, 1));
        EXPECT_EQ(found.sum, side.sum);
        EXPECT_EQ(found.max, side.max);
        EXPECT_NEAR(found.empty, side.empty, 1e-5);
        if (side.variance > 0) {
            EXPECT_NEAR(found.variance, side.variance, 0.04 * side.variance);
        }
    }
}
INSTANTIATE_TEST_SUITE_P(paper, twin_of_graph,
                         ::testing::ValuesIn(paper_graphs().begin(), paper_graphs().end()));

TEST(twins, keep_rows_and_columns_in_order) {
    for (const char* name : {"rma10", "webbase-1M", "il2010", "cage13"})
        expect_rising_distinct_columns(make_paper_matrix(name));
    EXPECT_THROW(make_paper_matrix("cant2"), std::invalid_argument);
    EXPECT_THROW(make_paper_graph("cant"), std::invalid_argument);
}

TEST(twins, graphs_have_exactly_these_degrees) {
    const graph made = make_paper_graph("higgs-twitter");
    const degrees found = degrees_of(made);
    EXPECT_EQ(made.links.size(), 14'855'842U);
    EXPECT_EQ(std::ranges::max(found.in), 51'386U);
    EXPECT_EQ(std::ranges::max(found.out), 1'259U);
}

TEST(lengths, refuse_what_cannot_be) {
    EXPECT_THROW(make_lengths({length_law::bell, 10, 100, 1, 5, 1}, 1), std::invalid_argument);
    EXPECT_THROW(make_lengths({length_law::bell, 10, 9, 1, 5, 1}, 1), std::invalid_argument);
    EXPECT_THROW(make_lengths({length_law::tail, 10, 20, 5, 5, 1}, 1), std::invalid_argument);
}

TEST(matrices, full_rows_take_every_column) {
    for (const pattern_kind kind : {pattern_kind::band, pattern_kind::spread, pattern_kind::planar,
                                    pattern_kind::far, pattern_kind::web}) {
        const matrix made =
            make_matrix(std::vector<std::uint32_t>(33, 33), {kind, 2, 3}, value_kind::signs, 1);
        expect_rising_distinct_columns(made);
        EXPECT_EQ(made.column[32], 32U);
    }
    EXPECT_THROW(make_matrix({3, 3}, {}, value_kind::signs, 1), std::invalid_argument);
}

TEST(matrices, bands_stay_near_the_diagonal) {
    const matrix made =
        make_matrix(std::vector<std::uint32_t>(1000, 20), {pattern_kind::band, 30, 3}, value_kind::signs, 1);
    expect_rising_distinct_columns(made);
    for (std::uint32_t row = 0; row < made.rows; ++row)
        for (std::uint64_t k = made.offsets[row]; k < made.offsets[row + 1]; ++k)
            ASSERT_LE(std::max(row, made.column[k]) - std::min(row, made.column[k]), 33U);
}

TEST(matrices, mesh_couples_all_unknowns_of_neighbours) {
    const matrix made = make_mesh({.side = 5, .points = 27, .unknowns = 3});
    expect_rising_distinct_columns(made);
    EXPECT_EQ(made.rows, 375U);
    const std::uint32_t middle = 62 * 3;
    EXPECT_EQ(made.offsets[middle + 1] - made.offsets[middle], 81U);
    EXPECT_EQ(made.offsets[1], 24U);  // the corner: 8 points
    EXPECT_EQ(make_mesh({.side = 4, .points = 5}).column.size(), 16U + 4 * 12);
    EXPECT_EQ(make_mesh({.side = 4, .points = 7}).column.size(), 64U + 6 * 48);
    EXPECT_EQ(make_mesh({.side = 4, .points = 9}).column.size(), 100U);
    EXPECT_THROW(make_mesh({.side = 4, .points = 6}), std::invalid_argument);
}

TEST(matrices, transitions_sum_to_one_out_of_each_node) {
    const graph made = make_web({.nodes = 2000});
    const matrix transitions = make_transition_matrix(made);
    const degrees found = degrees_of(made);
    std::vector<double> sums(made.nodes);
    for (std::size_t k = 0; k < transitions.column.size(); ++k)
        sums[transitions.column[k]] += transitions.value[k];
    for (std::uint32_t node = 0; node < made.nodes; ++node)
        ASSERT_NEAR(sums[node], found.out[node] > 0 ? 1 : 0, 1e-12);
}

TEST(kronecker, quarters_have_their_chances) {
    const graph made = make_kronecker({.scale = 10, .links = 1'000'000, .permuted = false});
    double quarters[4] = {};
    for (const link& each : made.links) quarters[(each.from >> 9) * 2 + (each.to >> 9)] += 1e-6;
    EXPECT_NEAR(quarters[0], 0.57, 0.003);
    EXPECT_NEAR(quarters[1], 0.19, 0.003);
    EXPECT_NEAR(quarters[2], 0.19, 0.003);
    EXPECT_NEAR(quarters[3], 0.05, 0.003);
    double last = 0;  // the lowest bits choose alike
    for (const link& each : made.links) last += (each.from & 1) + (each.to & 1) == 2 ? 1e-6 : 0;
    EXPECT_NEAR(last, 0.05, 0.003);
}

TEST(kronecker, numbering_keeps_the_degrees) {
    const degrees plain = degrees_of(make_kronecker({.scale = 10, .links = 20'000, .permuted = false}));
    degrees numbered = degrees_of(make_kronecker({.scale = 10, .links = 20'000}));
    EXPECT_NE(plain.in, numbered.in);
    std::vector<std::uint32_t> sorted = plain.in;
    std::ranges::sort(sorted);
    std::ranges::sort(numbered.in);
    EXPECT_EQ(sorted, numbered.in);
}

TEST(web, looks_like_cnr_2000) {
    const graph made = make_web({});
    degrees found = degrees_of(made);
    EXPECT_NEAR(static_cast<double>(made.links.size()), 3.2e6, 0.3e6);
    EXPECT_NEAR(summarised(found.out).empty, 0.24, 0.005);
    std::ranges::sort(found.in, std::greater{});
    EXPECT_NEAR(found.in[0], 18'235, 9'000);  // cnr-2000's
    EXPECT_NEAR(found.in[1'000], 206, 60);
    EXPECT_NEAR(found.in[10'000], 34, 12);
    EXPECT_TRUE(std::ranges::is_sorted(made.links, [](const link& a, const link& b) {
        return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    }));
}

TEST(simple_graphs, have_neither_repeats_nor_loops) {
    const graph all = make_kronecker({.scale = 8, .links = 10'000}), made = simple(all);
    std::set<std::pair<std::uint32_t, std::uint32_t>> wanted;
    for (const link& each : all.links)
        if (each.from != each.to) wanted.emplace(each.from, each.to);
    ASSERT_EQ(made.links.size(), wanted.size());
    std::size_t i = 0;
    for (const auto& [from, to] : wanted) ASSERT_EQ(made.links[i++], (link{from, to}));
}

/// Of the graphs' bytes and a matrix's: held, so that other machines and later versions make the same.
TEST(generators, make_what_they_made_before) {
    const auto fingerprint = [](const auto& values) {
        return hash64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]});
    };
    EXPECT_EQ(fingerprint(make_kronecker({.scale = 12, .links = 60'000}).links), 2075498591211169977U);
    EXPECT_EQ(fingerprint(make_web({.nodes = 20'000}).links), 15374899997442899924U);
    EXPECT_EQ(fingerprint(make_paper_matrix("webbase-1M").column), 9344435552276454749U);
    EXPECT_EQ(fingerprint(make_paper_matrix("cage13").value), 13171773431428943668U);
    const matrix made = make_paper_matrix("rma10");
    EXPECT_EQ(fingerprint(made.column), 5686264700149271808U);
    EXPECT_EQ(fingerprint(made.value), 15767882957054954408U);
}

TEST(generators, do_not_see_threads) {
    const auto graphs = [] {
        graph all = make_kronecker({.scale = 12, .links = 60'000});
        for (const graph& more :
             {make_web({.nodes = 20'000}), make_uniform_graph(1000, 50'000, 1),
              make_graph_of_degrees({.in = {length_law::tail, 9'000, 70'000, 1, 900, 0, 0.1},
              .out = {length_law::tail, 9'000, 70'000, 1, 500, 0, 0.2},
              .local = 0.7}),
              make_undirected_graph({length_law::tail, 9'000, 70'000, 1, 900}, 1)})
            all.links.insert(all.links.end(), more.links.begin(), more.links.end());
        return all.links;
    };
    EXPECT_EQ(with_threads(1, graphs), with_threads(4, graphs));
    const auto rows = [] { return make_paper_matrix("rma10"); };
    EXPECT_TRUE(same(with_threads(1, rows), with_threads(4, rows)));
    EXPECT_FALSE(same(rows(), make_paper_matrix("rma10", 2)));
}

}  // namespace
}  // namespace quern::generator::generators_test
