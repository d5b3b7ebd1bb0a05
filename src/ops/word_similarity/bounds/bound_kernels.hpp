// SPDX-License-Identifier: Apache-2.0
// What looks at the sums of a row against a tile, in the vector registers of the processor at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::word_similarity_detail {

/// Arrays of these kernels are read, and `sums` written, up to the next multiple of this beyond `size`; sums are 0,
/// denominators above 0 there.
inline constexpr std::size_t kernel_group = 64;

/// Adds `value` and a column's values to the sums of those that have it: values[i] is 0 or a value below 2^15 with this
/// bit set. Both arrays go up to the next multiple of kernel_group beyond `size`.
inline constexpr std::uint16_t dense_mark = 0x8000;
void add_dense_sums(std::uint32_t* sums, const std::uint16_t* values, std::size_t size, std::uint16_t value);
/// Adds `value` times a column's values; values[i] has 16 bits.
void add_dense_products(std::uint32_t* sums, const std::uint16_t* values, std::size_t size,
                        std::uint16_t value);

/// A row as it meets a tile: its denominator, and the score that a neighbour of it has at least.
struct row_bound {
    float denominator, least;
};

/// Finds the i, rising, with sums[i] > 0 and sums[i] / (row.denominator + denominators[i]) at least
/// min(row.least, least[i]), and some that miss it by less than bound_margin; writes them and upper bounds of the
/// quotients, returns how many. Sets the sums to 0.
std::size_t collect_reaching(std::uint32_t* sums, const float* denominators, const float* least,
                             std::size_t size, row_bound row, std::uint32_t* positions, float* bounds);

/// Cuts the quotients sums[i] / (denominator + denominators[i]) into `groups` or some more groups and writes the
/// greatest of each, about; returns how many. 0 where there are too few.
std::size_t group_maxima(const std::uint32_t* sums, const float* denominators, std::size_t size,
                         float denominator, std::size_t groups, float* maxima);

}  // namespace quern::word_similarity_detail
