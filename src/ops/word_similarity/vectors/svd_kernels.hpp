// SPDX-License-Identifier: Apache-2.0
// The inner loops of the truncated singular value decomposition, with the vector registers of the current processor. Each
// lane is a separate sum and takes its terms in a fixed order, nothing is fused: the width of the registers does not change
// a bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::word_similarity_detail {

/// The length of dense rows is a multiple of this many values: the widest registers in use have as many floats.
inline constexpr std::size_t lane_group = 16;

constexpr std::size_t whole_groups(std::size_t size) {
    return (size + lane_group - 1) / lane_group * lane_group;
}

/// out[i][j] += Σ over k of a(i, k) · b[k][j], summed from zero over ascending k and then added.
template <class T>
struct product {
    std::size_t rows, columns, depth;  ///< columns: whole lane groups
    const T* a;                        ///< a(i, k) = a[i · row_step + k · depth_step]
    std::size_t row_step, depth_step;
    const T* b;
    std::size_t b_stride;
    T* out;  ///< no part of a or b
    std::size_t out_stride;
};
void add_product(const product<float>& p);
void add_product(const product<double>& p);

/// out += Σ over the entries of scale · weight · (row `column` of x), `width` values per row: whole lane groups. Entries
/// are summed in order, entries_at_once at a time from zero, and then these sums in order, so that a long row loses as few
/// bits as a short one. A row added in parts of entries_at_once has the same bits as the whole.
inline constexpr std::size_t entries_at_once = 256;
struct sparse_row {
    const std::uint32_t* columns;
    const float* weights;
    std::size_t entries;
};
void multiply_row(const sparse_row& row, float scale, const float* x, std::size_t width, float* out);

void widen(const float* from, std::size_t size, double* to);  ///< size: whole lane groups

/// Rows `first` and `first + 1` become (c, -s; s, c) times what they were.
struct rotation {
    std::uint32_t first;
    double c, s;
};
inline constexpr std::size_t rotated_width = 64;
/// Applies them in order to rows of `rotated_width` values.
void rotate_rows(double* rows, const rotation* rotations, std::size_t count);

}  // namespace quern::word_similarity_detail
