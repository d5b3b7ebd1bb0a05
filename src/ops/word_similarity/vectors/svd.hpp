// SPDX-License-Identifier: Apache-2.0
// The inner loops of the truncated singular value decomposition, with the vector registers of the current processor. Each
// lane is a separate sum and takes its terms in a fixed order, nothing is fused: the width of the registers does not change
// a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"

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
/// The same for values of floats, whose products are exact: the same bits, faster.
void add_exact_product(const product<double>& p);

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

/// Eigenvalues and eigenvectors of a dense symmetric matrix, with the same bits on every machine: LAPACK's depend on the
/// underlying BLAS.
struct eigen_pairs {
    std::vector<double> values;  ///< all of them, descending
    /// size × stride by rows: column j is the eigenvector of values[j], of length 1. Past the requested ones: zeros.
    spilled_array<double> vectors;
    std::size_t stride = 0;
};

/// For `matrix`, size × size by rows of stride whole_groups(size), symmetric to the last bit, with maximum absolute value
/// at most 1; it is overwritten. Computes vectors for the first `wanted` values. Error of a value: about size · 2^-53 of
/// the greatest. Cost: 4/3 size³ for the tridiagonal form, about 5 size³ for the rotations, both on all threads.
eigen_pairs symmetric_eigen(cpu_place& place, std::size_t size, double* matrix, std::size_t wanted);

// Dense blocks of a few columns with a large sparse matrix: products with it, an orthonormal basis of the space that they
// span, and the dense products around both.

/// Compressed rows; a view.
struct sparse_rows {
    std::size_t rows = 0, columns = 0;
    std::span<const std::uint64_t> offsets;
    std::span<const std::uint32_t> column;
    std::span<const float> weight;
};

/// A transposed matrix: the entries of a row are in the order of the rows they come from.
class turned_rows {
  public:
    turned_rows(cpu_place& place, const sparse_rows& matrix);
    sparse_rows view() const { return {rows_, columns_, offsets_.span(), column_.span(), weight_.span()}; }

  private:
    std::size_t rows_, columns_;
    spilled_array<std::uint64_t> offsets_;
    spilled_array<std::uint32_t> column_;
    spilled_array<float> weight_;
};

/// Rows of `width` floats, in whole lane groups.
struct dense_block {
    std::size_t rows = 0, width = 0;
    spilled_array<float> values;

    dense_block() = default;
    dense_block(cpu_place& place, std::size_t rows_, std::size_t width_)
        : rows(rows_), width(width_), values(place, rows_ * width_, "blocks of vectors") {}
    float* row(std::size_t r) const { return values.data() + r * width; }
};

/// scale · matrix · x.
dense_block multiply(cpu_place& place, const sparse_rows& matrix, float scale, const dense_block& x);

/// For every right block lefts[i]ᵀ · block for the first `lefts` of `lefts`, stacked: (lefts · width) × width by rows. All
/// blocks have the same rows and width. Products are exact, sums in double. Several right blocks at once read and widen
/// the left ones once.
struct right_block {
    const dense_block* block;
    std::size_t lefts;
};
std::vector<std::vector<double>> inner_products(cpu_place& place, std::span<const dense_block> lefts,
                                                std::span<const right_block> rights);
/// The same for one right block and all of `lefts`.
std::vector<double> inner_products(cpu_place& place, std::span<const dense_block> lefts,
                                   const dense_block& right);

/// Makes the columns of `block` orthonormal and orthogonal to those of `basis`, whose blocks are orthonormal. A column in
/// the span of the earlier ones is replaced by a pseudo-random one, drawn from `seed`: the total number of columns must be
/// smaller than that of rows.
void orthonormalise(cpu_place& place, std::span<const dense_block> basis, std::uint64_t seed,
                    dense_block& block);

/// Counter-based pseudo-random values in [−1, 1).
void fill_randomly(cpu_place& place, std::uint64_t seed, dense_block& block);

/// Σ over i of lefts[i] · (its rows of `right`): rows × columns doubles in, floats out, each sum in float as in
/// add_product, block after block. `columns` are the first of `right`, by rows of `stride`; `out` has rows of
/// `columns` floats.
void combine(cpu_place& place, std::span<const dense_block> lefts, const double* right, std::size_t stride,
             std::size_t columns, float* out);

}  // namespace quern::word_similarity_detail
