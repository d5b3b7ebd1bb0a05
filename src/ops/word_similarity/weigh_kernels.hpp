// SPDX-License-Identifier: Apache-2.0
// The two inner loops over a row: taking what was counted, and weighing it. Compiled for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::word_similarity_detail {

struct weight_rule;

/// Counters stand in blocks of this many, one cache line of 32-bit counters; blocks in groups.
inline constexpr std::size_t counter_block = 16, blocks_in_group = 64;
/// What take_counts may write behind the last.
inline constexpr std::size_t taken_margin = 64;

/// A byte for each block and each group, 1 where something in it may have been counted.
struct row_flags {
    std::uint8_t* of_blocks;
    std::uint8_t* of_groups;
    std::size_t groups;  ///< a multiple of 8
};

/// Takes the counters that are not 0 out of the blocks that are flagged: writes their numbers, rising, and counts,
/// and returns how many they are; counters and flags are 0 then.
std::size_t take_counts(const row_flags& flags, std::uint32_t* counters, std::uint32_t* columns,
                        std::uint32_t* counts);
std::size_t take_counts(const row_flags& flags, std::uint64_t* counters, std::uint32_t* columns,
                        std::uint64_t* counts);

/// weigh.hpp's formula for many counts; `bases` by column. Writes first_context + column and the weight of each that
/// is kept, and returns their number.
std::size_t weigh_counts(const weight_rule& rule, double scale, const double* bases,
                         std::uint32_t first_context, std::span<const std::uint32_t> columns,
                         const std::uint32_t* counts, std::uint32_t* out_columns, float* out_weights);
std::size_t weigh_counts(const weight_rule& rule, double scale, const double* bases,
                         std::uint32_t first_context, std::span<const std::uint32_t> columns,
                         const std::uint64_t* counts, std::uint32_t* out_columns, float* out_weights);

}  // namespace quern::word_similarity_detail
