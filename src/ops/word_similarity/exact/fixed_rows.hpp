// SPDX-License-Identifier: Apache-2.0
// Weights in fixed point, so that sums are exact in any order and scores have the same bits on every place.
//
// A weight w becomes the integer fix(w) = max(1, round(w · 2^bits)). `bits` is the largest, at most 44, that keeps the
// greatest row's sum below 2^62: it depends only on the matrix. lin's score is (double)num / (double)den of two such
// sums. Weights above 2^-20 are within 1e-6 relative whenever bits ≥ 40.
//
// cosine multiplies floats in double (exact: 24 × 24 bits) and rounds each product to an integer of `product_bits`,
// at most 60, chosen in the same way by the greatest sum of squares; num = Σ fix2(a b), score = num / (sqrt(Σ fix2(a a)) ·
// sqrt(Σ fix2(b b))), in this order, by IEEE double operations.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// Words [first, first + count).
struct word_range {
    std::uint32_t first, count;
};

/// The matrix restricted to the kept columns, in compressed rows. Columns are renumbered 0 … column_count-1 in their old
/// order, without those that have no entry.
struct fixed_rows {
    std::uint32_t words = 0, column_count = 0;
    std::span<const std::uint64_t> offsets;
    std::span<const std::uint32_t> columns;
    std::span<const float> weights;
    int bits = 0, product_bits = 0;
    std::vector<std::uint64_t> sums;     // of a row's fixed weights
    std::vector<std::uint64_t> squares;  // of a row's fixed squares
};

/// Such rows, and the data they view if it is not the caller's matrix itself. Its place must outlive it.
struct owned_rows {
    fixed_rows rows;
    cpu_array<std::uint64_t> offsets;
    spilled_array<std::uint32_t> columns;
    spilled_array<float> weights;
};

/// Checks the matrix and keeps the `columns` most frequent contexts. Throws usage_error if the matrix is invalid: with the
/// same message on every place; of several faults, those of the first row.
owned_rows restrict_columns(cpu_place& place, const context_matrix_view& matrix, std::uint32_t columns);

/// Chooses the bits and sums up the rows.
void fix_sums(cpu_place& place, fixed_rows& rows);

/// The nearest integer to x · 2^bits, ties to even, at least 1: for a weight or a product of weights, x > 0.
inline std::uint64_t to_fixed(double x, int bits) {
    const auto rounded = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(x, bits)));
    return rounded == 0 ? 1 : rounded;
}

/// The nearest integer, ties to even, at least 1: of a number times a power of two, which is as exact as ldexp.
constexpr std::uint64_t nearest_integer(double scaled) {
    const double rounded = scaled < 0x1p52 ? (scaled + 0x1p52) - 0x1p52 : scaled;
    return rounded < 1 ? 1 : static_cast<std::uint64_t>(rounded);
}

/// to_fixed() for many numbers.
class fixed_scale {
  public:
    explicit fixed_scale(int bits) : scale_(std::ldexp(1.0, bits)) {}
    std::uint64_t operator()(double x) const { return nearest_integer(x * scale_); }

  private:
    double scale_;
};

inline double lin_score(std::uint64_t shared, std::uint64_t sum_a, std::uint64_t sum_b) {
    return static_cast<double>(shared) / static_cast<double>(sum_a + sum_b);
}
inline double cosine_score(std::uint64_t dot, std::uint64_t squares_a, std::uint64_t squares_b) {
    return static_cast<double>(dot) /
           (std::sqrt(static_cast<double>(squares_a)) * std::sqrt(static_cast<double>(squares_b)));
}

}  // namespace quern::word_similarity_detail
