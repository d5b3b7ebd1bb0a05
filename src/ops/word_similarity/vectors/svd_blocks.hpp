// SPDX-License-Identifier: Apache-2.0
// Dense blocks of a few columns with a large sparse matrix: products with it, an orthonormal basis of the space that they
// span, and the dense products around both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"

namespace quern::word_similarity_detail {

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

/// lefts[i]ᵀ · right for all i, stacked: (Σ widths) × right.width by rows. Products are exact, sums in double.
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
/// svd_kernels.hpp, block after block. `columns` are the first of `right`, by rows of `stride`; `out` has rows of
/// `columns` floats.
void combine(cpu_place& place, std::span<const dense_block> lefts, const double* right, std::size_t stride,
             std::size_t columns, float* out);

}  // namespace quern::word_similarity_detail
