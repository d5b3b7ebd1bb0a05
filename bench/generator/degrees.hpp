// SPDX-License-Identifier: Apache-2.0
// Lengths of rows, or degrees of nodes, with given statistics: the number of items, their sum, the minimum and the
// maximum are exact, the variance is approximate (tests/generator). The seed shuffles the lengths over the items.
//
//   bell: a bell truncated at both ends, probability of length k ∝ exp(b k + c k²): the distribution of maximum entropy for
//     this mean and variance. Meshes, planar graphs.
//   tail: probability of at least k ∝ (k + s)^-a, truncated at the maximum (Zipf and Mandelbrot). Webs, networks of genes.
//     If the variance is unknown (0), a is such that one item is expected to reach the maximum length.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::generator {

enum class length_law { bell, tail };

struct length_statistics {
    length_law law = length_law::bell;
    std::uint64_t items = 0;
    std::uint64_t sum = 0;
    std::uint32_t least = 0, max = 0;
    double variance = 0;  ///< 0: not known (tail only)
    double empty = 0;     ///< share of items of length 0, in addition to the law
};

/// Throws std::invalid_argument if no such lengths exist.
std::vector<std::uint32_t> make_lengths(const length_statistics& wanted, std::uint64_t seed);

}  // namespace quern::generator
