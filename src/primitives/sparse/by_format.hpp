// SPDX-License-Identifier: Apache-2.0
// A format chosen at run time: the matrix in it, in memory of its place, and its product. Format is any enumeration with
// the names of sparse_format; any other name ("automatic") means csr.
#pragma once

#include <type_traits>
#include <utility>

#include "primitives/sparse/multiply.hpp"

namespace quern::primitives {

/// Returns use(matrix) of the rows in this format, made on the CPU.
template <class Format, floating_value Value, class Use>
decltype(auto) with_format(cpu_place& host, Format format, const csr_view<Value>& rows, Use&& use) {
    switch (format) {
        case Format::coo:
            return use(to_coo(host, rows));
        case Format::ell:
            return use(to_ell(host, rows));
        case Format::brc:
            return use(to_brc(host, rows));
        case Format::brcp:
        case Format::brcp_paper:
            return use(to_brcp(host, rows));
        default:
            return use(to_csr(host, rows));
    }
}

/// The matrix in memory of the place: itself on the CPU, a copy on a GPU.
template <class Matrix>
Matrix to_place(cpu_place& /*place*/, Matrix matrix) {
    return matrix;
}
template <class Matrix>
auto to_place(cuda_place& place, const Matrix& matrix) {
    return to_device(place, matrix);
}

/// y = A·x; for brcp_paper as printed.
template <class Place, class Format, template <class, class> class Matrix, floating_value Value>
void multiply_in(Place& place, Format format, const Matrix<Place, Value>& matrix,
                 std::type_identity_t<span_on<Place, const Value>> x,
                 std::type_identity_t<span_on<Place, Value>> y) {
    if constexpr (std::is_same_v<Matrix<Place, Value>, brcp_matrix<Place, Value>>) {
        if (format == Format::brcp_paper) return multiply_as_printed<Value>(place, matrix, x, y);
    }
    multiply<Value>(place, matrix, x, y);
}

}  // namespace quern::primitives
