// SPDX-License-Identifier: Apache-2.0
// Matrix Market as graphs, matrices and vectors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "io/graph/graph_text.hpp"

namespace quern::io::matrix_market_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const graph_options weighted{.weighted = true};

std::string banner(const std::string& words) {
    return "%%MatrixMarket matrix " + words + "\n";
}
std::string graph_said(const std::string& text, const graph_options& options = {}) {
    return said_by([&] { graph_of(text, options); });
}
std::string matrix_said(const std::string& text) {
    return said_by([&] { matrix_of(text); });
}
std::string vector_said(const std::string& text) {
    return said_by([&] {
        const context ctx = context::cpu(2);
        read_vector(*open_bytes_memory(text, "sample", ctx), ctx);
    });
}
std::vector<double> vector_of(const std::string& text) {
    const context ctx = context::cpu(2);
    return read_vector(*open_bytes_memory(text, "sample", ctx), ctx);
}

/// Rows as "column:value …".
std::vector<std::string> rows_of(const matrix_rows& matrix) {
    std::vector<std::string> rows;
    for (std::uint32_t i = 0; i < matrix.rows; ++i) {
        std::string row;
        for (std::uint64_t e = matrix.offsets[i]; e < matrix.offsets[i + 1]; ++e) {
            char entry[48];
            std::snprintf(entry, sizeof entry, "%s%u:%g", row.empty() ? "" : " ", matrix.column[e],
                          matrix.value[e]);
            row += entry;
        }
        rows.push_back(row);
    }
    return rows;
}

TEST(matrix_market, a_graph_has_all_nodes_and_counts_from_one) {
    const auto graph = graph_of(
        "%%matrixmarket MATRIX Coordinate Real General\n% c\n\n 4 4 3 \n1 3 0.5\n% c\n\n"
        "3 1 -2\n3 3 7\n");
    EXPECT_THAT(names(graph), ElementsAre("1", "2", "3", "4"));
    EXPECT_THAT(shown(graph), ElementsAre("1>3", "3>1", "3>3"));
    EXPECT_EQ(graph.node_of("4"), 3u);
    EXPECT_EQ(graph.node_of("0"), std::nullopt);
    EXPECT_EQ(graph.node_of("5"), std::nullopt);
}

TEST(matrix_market, symmetric_entries_count_both_ways_and_a_diagonal_once) {
    EXPECT_THAT(shown(graph_of(banner("coordinate pattern symmetric") + "3 3 3\n2 1\n3 3\n3 2\n")),
                ElementsAre("2>1", "1>2", "3>3", "3>2", "2>3"));
    EXPECT_THAT(shown(graph_of(banner("coordinate integer symmetric") + "2 2 2\n2 1 5\n1 1 4\n", weighted)),
                ElementsAre("2>1=5", "1>2=5", "1>1=4"));
    EXPECT_THAT(shown(graph_of(banner("coordinate real skew-symmetric") + "2 2 1\n2 1 5\n")),
                ElementsAre("2>1", "1>2"));
}

TEST(matrix_market, graphs_that_are_none) {
    EXPECT_EQ(graph_said(banner("coordinate pattern general") + "% c\n3 4 0\n"),
              "sample:3: 3 rows and 4 columns; the matrix of a graph has as many of each");
    EXPECT_THAT(graph_said(banner("coordinate pattern general") + "4294967294 4294967294 0\n"),
                HasSubstr("sample:2: more than 4294967293 nodes"));
    EXPECT_THAT(graph_said(banner("array real general") + "1 1\n1\n"),
                HasSubstr("sample:1: an array is not a graph"));
    EXPECT_THAT(graph_said(banner("coordinate complex hermitian") + "1 1 0\n"),
                HasSubstr("sample:1: complex"));
    EXPECT_THAT(graph_said(banner("coordinate real hermitian") + "1 1 0\n"),
                HasSubstr("sample:1: hermitian"));
    EXPECT_THAT(graph_said(banner("coordinate pattern general") + "1 1 0\n", weighted),
                HasSubstr("sample:1: weights were requested, but a pattern has none"));
    EXPECT_THAT(graph_said(banner("coordinate real skew-symmetric") + "1 1 0\n", weighted),
                HasSubstr("sample:1: weights were requested"));
    EXPECT_THAT(graph_said(banner("coordinate real general") + "2 2 2\n1 1 1\n1 2 -1\n", weighted),
                HasSubstr("sample:4: the weight '-1' is negative"));
    EXPECT_EQ(graph_of(banner("coordinate pattern general") + "0 0 0\n").nodes(), 0u);
}

TEST(matrix_market, headers_that_are_none) {
    const auto said = [](const std::string& text) { return matrix_said(text); };
    EXPECT_EQ(said(""), "sample:1: a Matrix Market file begins with %%MatrixMarket");
    EXPECT_THAT(said("%%MatrixMarket matrix coordinate real\n"), HasSubstr("sample:1: the banner is"));
    EXPECT_THAT(said("%%MatrixMarket vector coordinate real general\n"),
                HasSubstr("'vector' is not a matrix"));
    EXPECT_THAT(said(banner("csr real general")), HasSubstr("sample:1: the format 'csr'"));
    EXPECT_THAT(said(banner("coordinate quaternion general")), HasSubstr("sample:1: the field 'quaternion'"));
    EXPECT_THAT(said(banner("coordinate real lower")), HasSubstr("sample:1: the symmetry 'lower'"));
    EXPECT_THAT(said(banner("array pattern general")), HasSubstr("sample:1: an array cannot be a pattern"));
    EXPECT_EQ(said(banner("coordinate real general") + "% c\n"),
              "sample:2: the file ends before the line with the sizes");
    for (const std::string sizes :
         {"2 2", "2 2 2 2", "2 2 x", "2 -2 1", "2 2 1.5", "99999999999999999999 1 1"})
        EXPECT_THAT(said(banner("coordinate real general") + sizes + "\n"),
                    HasSubstr("sample:2: the sizes are"));
    EXPECT_THAT(said(banner("coordinate real general") + "4294967295 1 0\n"),
                HasSubstr("sample:2: more than"));
    EXPECT_THAT(said(banner("coordinate real symmetric") + "2 3 0\n"),
                HasSubstr("sample:2: a symmetric matrix"));
}

TEST(matrix_market, sizes_that_lie) {
    const std::string head = banner("coordinate pattern general") + "2 3 2\n";
    EXPECT_EQ(matrix_said(head + "1 1\n"), "sample:3: the input ends here, after 1 of 2 entries");
    EXPECT_EQ(matrix_said(head + "1 1\n\n2 2\n% c\n\n1 3\n1 2\n"),
              "sample:8: more than the 2 entries that the header states");
    EXPECT_EQ(matrix_said(head + "1 1\n2 2\n1 9\n"),
              "sample:5: more than the 2 entries that the header states");
    EXPECT_THAT(matrix_said(head + "0 1\n2 2\n"),
                HasSubstr("sample:3: row 0; they are numbered from 1 to 2"));
    EXPECT_THAT(matrix_said(head + "1 1\n3 2\n"),
                HasSubstr("sample:4: row 3; they are numbered from 1 to 2"));
    EXPECT_THAT(matrix_said(head + "1 1\n2 4\n"),
                HasSubstr("sample:4: column 4; they are numbered from 1 to 3"));
    EXPECT_THAT(matrix_said(head + "1 0\n2 4\n"), HasSubstr("sample:3: column 0"));
    EXPECT_THAT(matrix_said(head + "1 99999999999999999999999\n"),
                HasSubstr("sample:3: column beyond 64 bits"));
    EXPECT_THAT(matrix_said(banner("coordinate pattern general") + "0 0 1\n1 1\n"),
                HasSubstr("sample:3: row 1"));
    EXPECT_THAT(matrix_said(banner("coordinate real general") + "2 2 18446744073709551615\n1 1 1\n"),
                HasSubstr("sample:3: the input ends here, after 1 of 18446744073709551615 entries"));
}

TEST(matrix_market, malformed_entries) {
    const std::string pattern = banner("coordinate pattern general") + "2 2 1\n";
    for (const std::string line : {"1", "x 1", "1 x", "-1 1", "1,1", "1 1.0", "1.0 1"})
        EXPECT_THAT(matrix_said(pattern + line + "\n"), HasSubstr("sample:3: an entry is `row column`"))
            << line;
    EXPECT_THAT(matrix_said(pattern + "1 1 1\n"), HasSubstr("sample:3: more than `row column`"));
    const std::string real = banner("coordinate real general") + "2 2 1\n";
    EXPECT_THAT(matrix_said(real + "1 1\n"), HasSubstr("sample:3: no value"));
    EXPECT_THAT(graph_said(real + "1 1\n"), HasSubstr("sample:3: no value"));
    EXPECT_THAT(matrix_said(real + "1 1 x\n"), HasSubstr("sample:3: the value 'x' is not a number"));
    EXPECT_THAT(matrix_said(real + "1 1 1e400\n"), HasSubstr("sample:3: the value '1e400' is beyond"));
    EXPECT_THAT(matrix_said(real + "1 1 1 2\n"), HasSubstr("sample:3: more than `row column value`"));
    EXPECT_THAT(matrix_said(banner("coordinate real skew-symmetric") + "2 2 1\n1 1 3\n"),
                HasSubstr("sample:3: an entry on the diagonal"));
}

TEST(matrix_market, rows_keep_the_order_of_the_file_and_repeats) {
    const auto matrix =
        matrix_of(banner("coordinate real general") + "3 4 5\n3 1 5\n1 4 1e-3\n1 1 -2\n3 1 4\n3 2 0\n");
    EXPECT_EQ(matrix.rows, 3u);
    EXPECT_EQ(matrix.columns, 4u);
    EXPECT_THAT(rows_of(matrix), ElementsAre("3:0.001 0:-2", "", "0:5 0:4 1:0"));
    EXPECT_EQ(matrix.column.size(), 5u);
    EXPECT_THAT(rows_of(matrix_of(banner("coordinate pattern symmetric") + "2 2 2\n2 1\n2 2\n")),
                ElementsAre("1:1", "0:1 1:1"));
    EXPECT_THAT(rows_of(matrix_of(banner("coordinate integer skew-symmetric") + "2 2 1\n2 1 3\n")),
                ElementsAre("1:-3", "0:3"));
}

TEST(matrix_market, values_that_are_not_finite_are_values) {
    const auto matrix =
        matrix_of(banner("coordinate real general") + "1 3 3\n1 1 inf\n1 2 -Infinity\n1 3 nan\n");
    EXPECT_EQ(matrix.value[0], std::numeric_limits<double>::infinity());
    EXPECT_EQ(matrix.value[1], -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(matrix.value[2]));
}

TEST(matrix_market, arrays) {
    EXPECT_THAT(rows_of(matrix_of(banner("array real general") + "2 3\n1\n2\n3\n0\n5\n6\n")),
                ElementsAre("0:1 1:3 2:5", "0:2 1:0 2:6"));
    EXPECT_THAT(rows_of(matrix_of(banner("array integer symmetric") + "3 3\n1\n2\n3\n4\n5\n6\n")),
                ElementsAre("0:1 1:2 2:3", "0:2 1:4 2:5", "0:3 1:5 2:6"));
    EXPECT_THAT(rows_of(matrix_of(banner("array real skew-symmetric") + "3 3\n1\n2\n3\n")),
                ElementsAre("0:0 1:-1 2:-2", "0:1 1:0 2:-3", "0:2 1:3 2:0"));
    EXPECT_THAT(matrix_said(banner("array real general") + "2 2\n1\n2\n3\n"),
                HasSubstr("sample:5: the input ends here, after 3 of 4 values"));
    EXPECT_THAT(matrix_said(banner("array real general") + "1 1\n1\n2\n"),
                HasSubstr("sample:4: more than the 1"));
    EXPECT_THAT(matrix_said(banner("array real general") + "1 1\n1 2\n"),
                HasSubstr("sample:3: the value '1 2'"));
    EXPECT_THAT(rows_of(matrix_of(banner("array real general") + "0 3\n")), IsEmpty());
}

TEST(matrix_market, vectors) {
    EXPECT_THAT(vector_of("1\n\n# c\n-2.5\r\n% c\n1e3"), ElementsAre(1, -2.5, 1000));
    EXPECT_THAT(vector_of(""), IsEmpty());
    EXPECT_THAT(vector_of(banner("array real general") + "3 1\n1\n2\n3\n"), ElementsAre(1, 2, 3));
    EXPECT_THAT(vector_of(banner("array integer general") + "1 2\n7\n8\n"), ElementsAre(7, 8));
    EXPECT_EQ(vector_said("1\nx\n"), "sample:2: the value 'x' is not a number");
    EXPECT_THAT(vector_said(banner("array real general") + "2 2\n1\n2\n3\n4\n"),
                HasSubstr("sample:2: 2 rows"));
    EXPECT_THAT(vector_said(banner("coordinate real general") + "2 1 0\n"),
                HasSubstr("sample:1: a vector is"));
    EXPECT_THAT(vector_said(banner("array real general") + "2 1\n1\n"), HasSubstr("after 1 of 2 values"));
}

}  // namespace
}  // namespace quern::io::matrix_market_test
