// SPDX-License-Identifier: Apache-2.0
// Twins of the matrices and graphs that BRCP was measured on (Yang et al. 2019, tables 2 and 4), which may not be
// distributed with this project: the same number of rows, entries, the same shortest and longest row, nearly the same
// variance, a similar distribution of columns. Figures are those of the public collections (SuiteSparse, SNAP, LAW) as far as
// available; the variances of consph, rma10, mouse_gene, fl2010, il2010 and cage13, some maximum degrees and the graphs'
// shares of nodes without links out are estimates. Differences from the paper: its cant and consph count the stored half of
// a symmetric matrix (and cant's mean and deviation are swapped), its human_gene1 and mouse_gene count the diagonal twice.
#pragma once

#include <span>
#include <string_view>

#include "generator/graphs.hpp"
#include "generator/matrices.hpp"

namespace quern::generator {

struct paper_matrix {
    std::string_view name;
    length_statistics rows;
    column_pattern pattern;
    value_kind values;
};
std::span<const paper_matrix> paper_matrices();

struct paper_graph {
    std::string_view name;
    length_statistics in, out;  ///< undirected graphs: `in` of both
    bool undirected = false;
    double local = 0;  ///< as degree_options
};
std::span<const paper_graph> paper_graphs();

/// Throw std::invalid_argument for an unknown name.
matrix make_paper_matrix(std::string_view name, std::uint64_t seed = 1);
graph make_paper_graph(std::string_view name, std::uint64_t seed = 1);

}  // namespace quern::generator
