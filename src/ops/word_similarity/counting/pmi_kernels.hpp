// SPDX-License-Identifier: Apache-2.0
// The two inner loops over a row: taking the counts, and weighing them. Compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::word_similarity_detail {

struct weight_rule;

/// Counters are grouped in blocks of this many, one cache line of 32-bit counters; blocks in groups.
inline constexpr std::size_t counter_block = 16, blocks_in_group = 64;
/// The overrun of take_counts' outputs.
inline constexpr std::size_t taken_margin = 64;

/// One byte for each block and each group: 1 if something in it may have been counted.
struct row_flags {
    std::uint8_t* of_blocks;
    std::uint8_t* of_groups;
    std::size_t groups;  ///< a multiple of 8
};

/// Takes the non-zero counters from the flagged blocks: writes their numbers, ascending, and counts; returns their number.
/// Counters and flags are 0 afterwards.
std::size_t take_counts(const row_flags& flags, std::uint32_t* counters, std::uint32_t* columns,
                        std::uint32_t* counts);
std::size_t take_counts(const row_flags& flags, std::uint64_t* counters, std::uint32_t* columns,
                        std::uint64_t* counts);

/// pmi.hpp's formula for many counts; `bases` by column. Writes first_context + column and the weight of each kept one;
/// returns their number.
std::size_t pmi_counts(const weight_rule& rule, double scale, const double* bases,
                       std::uint32_t first_context, std::span<const std::uint32_t> columns,
                       const std::uint32_t* counts, std::uint32_t* out_columns, float* out_weights);
std::size_t pmi_counts(const weight_rule& rule, double scale, const double* bases,
                       std::uint32_t first_context, std::span<const std::uint32_t> columns,
                       const std::uint64_t* counts, std::uint32_t* out_columns, float* out_weights);

}  // namespace quern::word_similarity_detail
