// SPDX-License-Identifier: Apache-2.0
// The weight of a triple, in one canonical form for every place: IEEE double operations in the order below, none
// contracted, and the logarithm of base/canonical_math.hpp. Both formulas are one:
//
//     log( (count · den - num) · scale(w, r) / base(r, w') ),      discount = num / den
//
//     conditional: scale = |*,r,*| / (|w,r,*| · den)               base = |*,r,w'|
//     independent: scale = |*,*,*| / (|w,*,*| · den) · (|*,*,*| / |*,r,*|)   base = |*,*,w'|
//
// count · den - num is exact below 2^53, so a discount of 0.95 leaves exactly a twentieth of a count of 1. The rest of
// the formula rounds at most five times. So a weight of 0 in real numbers may become about ±2^-51; such noise never
// becomes an entry, because a logarithm of 2^-48 or less counts as 0. The minimum kept weight is thus far above the
// minimum float: none rounds to 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/canonical_math.hpp"
#include "device/array.hpp"
#include "ops/word_similarity/counting/context_counter.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// The constants of the formula for all triples.
struct weight_rule {
    double discount_numerator, discount_denominator;
    double least;  ///< weights above this are kept
};

inline constexpr double rounding_of_zero = 0x1p-48;

/// For a count of at least 1 and marginals that contain it, so that the logarithm's argument is a normal number.
constexpr double weight_of(const weight_rule& rule, double count, double scale, double base) {
    const double rest = count * rule.discount_denominator - rule.discount_numerator;
    return canonical_log_normal(rest * scale / base);
}

/// The tables of the formula, and its application on the CPU. Made on the host for every place.
class pmi_formula {
  public:
    /// Throws usage_error for options out of range.
    pmi_formula(cpu_place& host, const counting_shape& shape, const marginals& sums,
                const pmi_options& options);
    /// No formula: the weight of every count is the count itself, as the bits of 32-bit unsigned integers (counts_of).
    explicit pmi_formula(const counting_shape& shape)
        : words_(shape.words), relations_(shape.relations), is_counts_(true) {}

    const weight_rule& rule() const { return rule_; }
    /// scale(w, r) at w · relations + r; undefined where there is no triple.
    std::span<const double> scales() const { return scales_.span(); }
    /// base(r, w') at r · base_stride() + w'.
    std::span<const double> bases() const { return bases_.span(); }
    std::size_t base_stride() const { return base_stride_; }

    /// Weighs counts of word `word` in relation `relation`; writes columns and weights of the kept ones, in order, and
    /// returns their number. `columns` are words; the written ones are contexts. The outputs must hold all. Throws
    /// usage_error for a count of 2^32 or more that is to be kept itself.
    template <class Count>
    std::size_t pmi(std::uint32_t word, std::uint32_t relation, std::span<const std::uint32_t> columns,
                    const Count* counts, std::uint32_t* out_columns, float* out_weights) const;

  private:
    weight_rule rule_{};
    std::uint32_t words_, relations_;
    std::size_t base_stride_ = 0;
    bool is_counts_ = false;
    cpu_array<double> scales_, bases_;
};

/// The counts that a formula of counts wrote in place of weights.
std::vector<std::uint32_t> counts_of(std::span<const float> weights);

/// The two inner loops over a row: taking the counts, and weighing them. Compiled for each instruction set.
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

/// The formula for many counts; `bases` by column. Writes first_context + column and the weight of each kept one;
/// returns their number.
std::size_t pmi_counts(const weight_rule& rule, double scale, const double* bases,
                       std::uint32_t first_context, std::span<const std::uint32_t> columns,
                       const std::uint32_t* counts, std::uint32_t* out_columns, float* out_weights);
std::size_t pmi_counts(const weight_rule& rule, double scale, const double* bases,
                       std::uint32_t first_context, std::span<const std::uint32_t> columns,
                       const std::uint64_t* counts, std::uint32_t* out_columns, float* out_weights);

}  // namespace quern::word_similarity_detail
