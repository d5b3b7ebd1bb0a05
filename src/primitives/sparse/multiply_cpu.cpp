// SPDX-License-Identifier: Apache-2.0
// y = A·x on the CPU: every row summed without error.
#include <algorithm>

#include "device/cpu/parallel.hpp"
#include "primitives/sparse/exact_sum.hpp"
#include "primitives/sparse/multiply.hpp"
#include "primitives/sparse/vectors.hpp"

namespace quern::primitives {
namespace {

constexpr std::size_t lanes = 32;

}  // namespace

template <floating_value Value>
void multiply(cpu_place& place, const csr_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    sparse_detail::check_vectors<Value>(matrix, x, y);
    const std::size_t pieces = pieces_for(place, y.size(), 256, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(y.size(), pieces, p);
        for (std::size_t i = begin; i < end; ++i) {
            exact_sum<Value> sum;
            for (std::uint64_t e = matrix.offsets.data()[i]; e < matrix.offsets.data()[i + 1]; ++e)
                sum.add_product(matrix.value.data()[e], x[matrix.column.data()[e]]);
            y[i] = sum.rounded();
        }
    });
}

template <floating_value Value>
void multiply(cpu_place& place, const coo_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    sparse_detail::check_vectors<Value>(matrix, x, y);
    const std::span<const std::uint32_t> row = matrix.row.span();
    const std::size_t pieces = pieces_for(place, y.size(), 256, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(y.size(), pieces, p);
        auto e = static_cast<std::size_t>(std::lower_bound(row.begin(), row.end(), begin) - row.begin());
        for (std::size_t i = begin; i < end; ++i) {
            exact_sum<Value> sum;
            for (; e < row.size() && row[e] == i; ++e)
                sum.add_product(matrix.value.data()[e], x[matrix.column.data()[e]]);
            y[i] = sum.rounded();
        }
    });
}

template <floating_value Value>
void multiply(cpu_place& place, const ell_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    sparse_detail::check_vectors<Value>(matrix, x, y);
    const std::size_t rows = matrix.rows, pieces = pieces_for(place, y.size(), 256, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(y.size(), pieces, p);
        for (std::size_t i = begin; i < end; ++i) {
            exact_sum<Value> sum;
            for (std::size_t k = 0; k < matrix.width; ++k) {
                const std::uint32_t column = matrix.column.data()[k * rows + i];
                if (column != no_index) sum.add_product(matrix.value.data()[k * rows + i], x[column]);
            }
            y[i] = sum.rounded();
        }
    });
}

template <floating_value Value>
void multiply(cpu_place& place, const brcp_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    sparse_detail::check_vectors<Value>(matrix, x, y);
    sparse_detail::fill_zero(place, y);
    const std::span<const std::uint32_t> perm = matrix.row_perm.span();
    const auto begins_row = [&](std::size_t at) { return at == 0 || perm[at] != perm[at - 1]; };
    const std::size_t pieces = pieces_for(place, perm.size(), 256, 64);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        auto [at, end] = piece_of(perm.size(), pieces, p);
        while (at < end && !begins_row(at)) ++at;
        while (at < end && perm[at] != no_index) {
            const std::uint32_t row = perm[at];
            exact_sum<Value> sum;
            for (; at < perm.size() && perm[at] == row; ++at) {
                const std::size_t b = at / lanes;
                for (std::uint64_t e = matrix.block_ptr.data()[b] + at % lanes;
                     e < matrix.block_ptr.data()[b + 1]; e += lanes) {
                    const std::uint32_t column = matrix.column.data()[e];
                    if (column != no_index) sum.add_product(matrix.value.data()[e], x[column]);
                }
            }
            y[row] = sum.rounded();
        }
    });
}

#define QUERN_MULTIPLY(VALUE)                                                                        \
    template void multiply(cpu_place&, const coo_matrix<cpu_place, VALUE>&, std::span<const VALUE>,  \
                           std::span<VALUE>);                                                        \
    template void multiply(cpu_place&, const csr_matrix<cpu_place, VALUE>&, std::span<const VALUE>,  \
                           std::span<VALUE>);                                                        \
    template void multiply(cpu_place&, const ell_matrix<cpu_place, VALUE>&, std::span<const VALUE>,  \
                           std::span<VALUE>);                                                        \
    template void multiply(cpu_place&, const brcp_matrix<cpu_place, VALUE>&, std::span<const VALUE>, \
                           std::span<VALUE>);
QUERN_MULTIPLY(float)
QUERN_MULTIPLY(double)
#undef QUERN_MULTIPLY

}  // namespace quern::primitives
