// SPDX-License-Identifier: Apache-2.0
// The parts of many postings at once, with the vector registers of the current processor. Each lane does the operations of
// scoring.hpp in their order, so that the bits equal those of the scalar functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::search_detail {

/// Every input and output array may be read, and `parts` written, this far past `size`.
inline constexpr std::size_t kernel_padding = 16;

/// parts[i] = max(1, fixed(weight f / (f + (flat + slope length))))
void bm25_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                double weight, double flat, double slope, std::int64_t* parts);
/// parts[i] = max(1, fixed(ln(1 + (ratio f) / max(1, length))))
void jelinek_mercer_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                          double ratio, std::int64_t* parts);
/// parts[i] = max(1, fixed(ln(1 + f / prior)))
void dirichlet_parts(const std::uint32_t* frequencies, std::size_t size, double prior, std::int64_t* parts);
/// parts[i] = max(1, fixed(unit f))
void impact_parts(const std::uint32_t* frequencies, std::size_t size, double unit, std::int64_t* parts);
/// The parts of pl2_scorer and inl2_scorer.
void pl2_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size, double norm,
               double mean, double shift, std::int64_t* parts);
void inl2_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size, double norm,
                double idf, std::int64_t* parts);
/// parts[i] = max(1, fixed(ln(1 + (ratio f) / (mu + rest length))))
void two_stage_parts(const std::uint32_t* frequencies, const std::uint32_t* lengths, std::size_t size,
                     double ratio, double mu, double rest, std::int64_t* parts);
/// parts[i] = fixed(ln(length + mu))
void dirichlet_lengths(const std::uint32_t* lengths, std::size_t size, double mu, std::int64_t* parts);
/// parts[i] = fixed(ln((length + mu) / (mu + rest length)))
void two_stage_lengths(const std::uint32_t* lengths, std::size_t size, double mu, double rest,
                       std::int64_t* parts);

/// parts[i] = fixed(weight ln(max(1, rank) unit))
void prior_parts(const std::uint64_t* ranks, std::size_t size, double unit, double weight,
                 std::int64_t* parts);

/// Writes the positions i < size with sums[i] > limit to `positions`, ascending (capacity at least `size`); returns their
/// number.
std::size_t collect_above(const std::int64_t* sums, std::size_t size, std::int64_t limit,
                          std::uint32_t* positions);

}  // namespace quern::search_detail
