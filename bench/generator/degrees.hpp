// SPDX-License-Identifier: Apache-2.0
// Lengths of rows, or degrees of nodes, with given statistics: the number of items, their sum, the least and the
// greatest are met exactly, the variance nearly (tests/generator). Which item has which length is shuffled by the seed.
//
//   bell: a bell cut off at both ends, chance of length k ∝ exp(b k + c k²): of all distributions with this mean and
//     variance the one that assumes least (maximum entropy). Meshes, planar graphs.
//   tail: chance of at least k ∝ (k + s)^-a, cut off at the greatest (Zipf and Mandelbrot). Webs, networks of genes.
//     Where no variance is known (0), a is such that one item is expected to reach the greatest length.
#pragma once

#include <cstdint>
#include <vector>

namespace quern::generator {

enum class length_law { bell, tail };

struct length_statistics {
    length_law law = length_law::bell;
    std::uint64_t items = 0;
    std::uint64_t sum = 0;
    std::uint32_t least = 0, most = 0;
    double variance = 0;  ///< 0: not known (tail only)
    double empty = 0;     ///< share of items of length 0, beside the law
};

/// Throws std::invalid_argument where no such lengths exist.
std::vector<std::uint32_t> make_lengths(const length_statistics& wanted, std::uint64_t seed);

}  // namespace quern::generator
