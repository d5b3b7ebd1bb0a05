// SPDX-License-Identifier: Apache-2.0
// Sparse matrices of any size for benchmarks and tests: compressed rows, columns ascending and distinct within a row.
// A row depends only on the seed and its own number, and all arithmetic is that of IEEE 754: the same matrix on
// every machine, from any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/degrees.hpp"
#include "generator/graphs.hpp"

namespace quern::generator {

struct matrix {
    std::uint32_t rows = 0, columns = 0;
    std::vector<std::uint64_t> offsets;  ///< rows + 1
    std::vector<std::uint32_t> column;
    std::vector<double> value;
};

/// signs: both signs, of 20 octaves, like stiffness matrices of finite elements. share: each row's sum is about 1,
/// like probabilities. weight: in (0, 1], like correlations. whole: integers of 1 to 2^20, like measured lengths.
enum class value_kind { signs, share, weight, whole };

/// The columns of the entries of a row.
/// band: within half_width of the diagonal, in runs of `run` neighbouring columns (unknowns of one point of a mesh).
/// spread: uniformly over all columns.
/// planar: around the diagonal and around one parallel on each side, like neighbours on a map read line by line.
/// far: at distances of all orders of magnitude, each equally likely.
/// web: more than half as far, the others in columns of which few have many entries (exponent 2.3).
enum class pattern_kind { band, spread, planar, far, web };
struct column_pattern {
    pattern_kind kind = pattern_kind::spread;
    std::uint32_t half_width = 0, run = 1;  ///< of band
};

/// A square matrix with rows of these lengths.
matrix make_matrix(const std::vector<std::uint32_t>& lengths, const column_pattern& pattern,
                   value_kind values, std::uint64_t seed);

/// A mesh of side^2 or side^3 points; each point has `unknowns` rows, coupled with all unknowns of the point itself and
/// of its neighbours: 5 (the four sides) or 9 points in the plane, 7 or 27 in space.
struct mesh_options {
    std::uint32_t side = 100;
    unsigned points = 27;  ///< 5, 9, 7 or 27
    unsigned unknowns = 1;
    std::uint64_t seed = 1;
};
matrix make_mesh(const mesh_options& wanted);

/// Every entry within half_width of the diagonal.
matrix make_banded(std::uint32_t rows, std::uint32_t half_width, std::uint64_t seed);

/// Rows of `each` entries in columns drawn uniformly.
matrix make_uniform_matrix(std::uint32_t rows, std::uint32_t each, std::uint64_t seed);

/// The matrix of PageRank: row t has an entry 1 / (links out of s) for each link s→t; links that occur twice have two
/// entries.
matrix make_transition_matrix(const graph& from);

}  // namespace quern::generator
