// SPDX-License-Identifier: Apache-2.0
// Copies sparse matrices to a GPU. brcp's shape is computed on the way: CUDA's division of the work depends on the widths
// of its blocks, and the host would have to wait to read them from the device.
#include <bit>

#include "primitives/segments.hpp"
#include "primitives/sparse/formats.hpp"

namespace quern::primitives {
namespace {

template <class T>
cuda_array<T> copied(cuda_place& place, const cpu_array<T>& array) {
    return array_from(place, std::span<const T>(array.span()), "a sparse matrix");
}

template <floating_value Value>
brcp_shape shape_of(const brcp_matrix<cpu_place, Value>& matrix) {
    brcp_shape shape;
    const std::size_t blocks = segments_in(matrix.block_ptr.size());
    for (std::size_t b = 0; b < blocks; ++b) {
        const std::uint64_t width = (matrix.block_ptr.data()[b + 1] - matrix.block_ptr.data()[b]) / 32;
        const auto digits = static_cast<unsigned>(std::bit_width(width == 0 ? 0 : width - 1));
        for (unsigned i = 0; i < digits && i < shape.wider.size(); ++i)
            shape.wider[i] = static_cast<std::uint32_t>(b + 1);
    }
    std::size_t filled = 0, repeated = 0;
    for (const std::uint32_t lanes : matrix.row_seg_len.span()) filled += lanes != 0 ? 1 : 0;
    const std::size_t splits = matrix.split_row.size();
    for (std::size_t s = 0; s < splits; ++s)
        repeated += matrix.split_last.data()[s] - matrix.split_first.data()[s];
    shape.has_empty_rows = filled - repeated != matrix.rows;
    shape.whole_rows_from = splits == 0 ? 0 : matrix.split_last.data()[splits - 1] + 1;
    return shape;
}

}  // namespace

template <floating_value Value>
coo_matrix<cuda_place, Value> to_device(cuda_place& place, const coo_matrix<cpu_place, Value>& matrix) {
    return {matrix.rows, matrix.columns, copied(place, matrix.row), copied(place, matrix.column),
            copied(place, matrix.value)};
}
template <floating_value Value>
csr_matrix<cuda_place, Value> to_device(cuda_place& place, const csr_matrix<cpu_place, Value>& matrix) {
    return {matrix.rows, matrix.columns, copied(place, matrix.offsets), copied(place, matrix.column),
            copied(place, matrix.value)};
}
template <floating_value Value>
ell_matrix<cuda_place, Value> to_device(cuda_place& place, const ell_matrix<cpu_place, Value>& matrix) {
    return {matrix.rows,
            matrix.columns,
            matrix.width,
            matrix.entries,
            copied(place, matrix.column),
            copied(place, matrix.value)};
}
template <floating_value Value>
brc_matrix<cuda_place, Value> to_device(cuda_place& place, const brc_matrix<cpu_place, Value>& matrix) {
    return {matrix.rows,
            matrix.columns,
            matrix.entries,
            copied(place, matrix.block_begin),
            copied(place, matrix.nz_per_block),
            copied(place, matrix.row_perm),
            copied(place, matrix.column),
            copied(place, matrix.value)};
}
template <floating_value Value>
brcp_matrix<cuda_place, Value> to_device(cuda_place& place, const brcp_matrix<cpu_place, Value>& matrix) {
    return {matrix.rows,
            matrix.columns,
            matrix.entries,
            copied(place, matrix.block_ptr),
            copied(place, matrix.row_perm),
            copied(place, matrix.row_seg_len),
            copied(place, matrix.column),
            copied(place, matrix.value),
            copied(place, matrix.split_row),
            copied(place, matrix.split_first),
            copied(place, matrix.split_last),
            shape_of(matrix)};
}

#define QUERN_TO_DEVICE(VALUE)                                                                          \
    template coo_matrix<cuda_place, VALUE> to_device(cuda_place&, const coo_matrix<cpu_place, VALUE>&); \
    template csr_matrix<cuda_place, VALUE> to_device(cuda_place&, const csr_matrix<cpu_place, VALUE>&); \
    template ell_matrix<cuda_place, VALUE> to_device(cuda_place&, const ell_matrix<cpu_place, VALUE>&); \
    template brc_matrix<cuda_place, VALUE> to_device(cuda_place&, const brc_matrix<cpu_place, VALUE>&); \
    template brcp_matrix<cuda_place, VALUE> to_device(cuda_place&, const brcp_matrix<cpu_place, VALUE>&);
QUERN_TO_DEVICE(float)
QUERN_TO_DEVICE(double)
#undef QUERN_TO_DEVICE

}  // namespace quern::primitives
