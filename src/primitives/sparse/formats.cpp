// SPDX-License-Identifier: Apache-2.0
// Rows to coo, csr and ell, and the checks that every conversion begins with. Pieces of rows go to threads.
#include "primitives/sparse/formats.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "device/cpu/parallel.hpp"
#include "primitives/sparse/formats_impl.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives {
namespace sparse_detail {

void check_sizes(std::uint32_t rows, std::uint32_t columns, std::size_t offsets, std::size_t column,
                 std::size_t value) {
    const auto refuse = [](std::string_view what, std::uint64_t is, std::string_view needed,
                           std::uint64_t n) {
        throw usage_error(std::string("sparse matrix: ")
                              .append(what)
                              .append(" has ")
                              .append(std::to_string(is))
                              .append(" entries, but ")
                              .append(needed)
                              .append(" ")
                              .append(std::to_string(n)));
    };
    if (rows == no_index || columns == no_index)
        throw usage_error("sparse matrix: more than 4294967294 rows or columns");
    if (offsets != std::size_t{rows} + 1 && !(rows == 0 && offsets == 0))
        refuse("offsets", offsets, "needed are", std::uint64_t{rows} + 1);
    if (column != value) refuse("column", column, "value has", value);
}

void check_columns(cpu_place& place, std::span<const std::uint32_t> column, std::uint32_t columns) {
    constexpr std::size_t piece_size = std::size_t{1} << 18;
    first_position wrong;
    for_each_piece(place, (column.size() + piece_size - 1) / piece_size, [&](std::size_t p) {
        place.ctx().check_stop();
        const std::size_t begin = p * piece_size, end = std::min(begin + piece_size, column.size());
        std::uint32_t greatest = 0;
        for (std::size_t i = begin; i < end; ++i) greatest = std::max(greatest, column[i]);
        if (begin == end || greatest < columns) return;
        std::size_t i = begin;
        while (column[i] < columns) ++i;
        wrong.note(i);
    });
    if (wrong.none()) return;
    const std::uint64_t at = wrong.position();
    throw invalid_value("entry " + std::to_string(at) + " of the sparse matrix is in column " +
                            std::to_string(column[at]) + ", but there are " + std::to_string(columns) +
                            " columns",
                        at);
}

std::uint64_t longest_row(cpu_place& place, std::span<const std::uint64_t> offsets) {
    const std::size_t rows = segments_in(offsets.size());
    const std::size_t pieces = pieces_for(place, rows, rows_a_piece);
    std::vector<std::uint64_t> longest(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(rows, pieces, p);
        std::uint64_t max = 0;
        for (std::size_t i = begin; i < end; ++i) max = std::max(max, offsets[i + 1] - offsets[i]);
        longest[p] = max;
    });
    return longest.empty() ? 0 : *std::max_element(longest.begin(), longest.end());
}

}  // namespace sparse_detail

namespace {

/// Copies with all threads.
template <class T>
cpu_array<T> copied(cpu_place& place, std::span<const T> from, std::string_view what_for) {
    cpu_array<T> to(place, from.size(), what_for);
    const std::size_t pieces = pieces_for(place, from.size(), std::size_t{1} << 18);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(from.size(), pieces, p);
        std::copy(from.begin() + static_cast<std::ptrdiff_t>(begin),
                  from.begin() + static_cast<std::ptrdiff_t>(end), to.data() + begin);
    });
    return to;
}

template <class T>
std::uint64_t bytes_in(const T& array) {
    return array.span().size_bytes();
}

}  // namespace

template <floating_value Value>
coo_matrix<cpu_place, Value> to_coo(cpu_place& place, const csr_view<Value>& matrix) {
    sparse_detail::check(place, matrix);
    coo_matrix<cpu_place, Value> result{matrix.rows, matrix.columns, {}, {}, {}};
    result.row = make_array<std::uint32_t>(place, matrix.column.size(), "rows of a sparse matrix");
    const std::size_t pieces = pieces_for(place, matrix.rows, sparse_detail::rows_a_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(matrix.rows, pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            std::fill(result.row.data() + matrix.offsets[i], result.row.data() + matrix.offsets[i + 1],
                      static_cast<std::uint32_t>(i));
    });
    result.column = copied(place, matrix.column, "columns of a sparse matrix");
    result.value = copied(place, matrix.value, "values of a sparse matrix");
    return result;
}

template <floating_value Value>
csr_matrix<cpu_place, Value> to_csr(cpu_place& place, const csr_view<Value>& matrix) {
    sparse_detail::check(place, matrix);
    csr_matrix<cpu_place, Value> result{matrix.rows, matrix.columns, {}, {}, {}};
    const std::uint64_t none[] = {0};
    const std::span<const std::uint64_t> offsets =
        matrix.offsets.empty() ? std::span<const std::uint64_t>(none) : matrix.offsets;
    result.offsets = copied(place, offsets, "offsets of a sparse matrix");
    result.column = copied(place, matrix.column, "columns of a sparse matrix");
    result.value = copied(place, matrix.value, "values of a sparse matrix");
    return result;
}

template <floating_value Value>
ell_matrix<cpu_place, Value> to_ell(cpu_place& place, const csr_view<Value>& matrix, double max_padding) {
    sparse_detail::check(place, matrix);
    const std::uint64_t width = sparse_detail::longest_row(place, matrix.offsets),
                        entries = matrix.column.size();
    const double slots = static_cast<double>(width) * matrix.rows;
    if (width >= no_index || slots > max_padding * static_cast<double>(entries)) {
        std::ostringstream limit;
        limit << max_padding;
        throw usage_error("ell: " + std::to_string(matrix.rows) + " rows as long as the longest, " +
                          std::to_string(width) + ", for " + std::to_string(entries) +
                          " entries (expected at most " + limit.str() +
                          " places for each entry); csr has no padding");
    }
    ell_matrix<cpu_place, Value> result{
        matrix.rows, matrix.columns, static_cast<std::uint32_t>(width), entries, {}, {}};
    const std::size_t rows = matrix.rows, size = rows * width;
    result.column = make_array<std::uint32_t>(place, size, "columns of a sparse matrix");
    result.value = make_array<Value>(place, size, "values of a sparse matrix");
    constexpr std::size_t tile = 256;  // rows whose entries stay cached while slab after slab is written
    const std::size_t tiles = width == 0 ? 0 : (rows + tile - 1) / tile;
    const std::size_t pieces = pieces_for(place, tiles, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto piece = piece_of(tiles, pieces, p);
        for (std::size_t t = piece.begin; t < piece.end; ++t) {
            place.ctx().check_stop();
            const std::size_t begin = t * tile, end = std::min(begin + tile, rows);
            for (std::size_t k = 0; k < width; ++k) {
                for (std::size_t i = begin; i < end; ++i) {
                    const std::uint64_t from = matrix.offsets[i] + k, to = k * rows + i;
                    const bool present = from < matrix.offsets[i + 1];
                    result.column.data()[to] = present ? matrix.column[from] : no_index;
                    result.value.data()[to] = present ? matrix.value[from] : Value(0);
                }
            }
        }
    });
    return result;
}

template <class Place, floating_value Value>
std::uint64_t bytes_of(const coo_matrix<Place, Value>& matrix) {
    return bytes_in(matrix.row) + bytes_in(matrix.column) + bytes_in(matrix.value);
}
template <class Place, floating_value Value>
std::uint64_t bytes_of(const csr_matrix<Place, Value>& matrix) {
    return bytes_in(matrix.offsets) + bytes_in(matrix.column) + bytes_in(matrix.value);
}
template <class Place, floating_value Value>
std::uint64_t bytes_of(const ell_matrix<Place, Value>& matrix) {
    return bytes_in(matrix.column) + bytes_in(matrix.value);
}
template <class Place, floating_value Value>
std::uint64_t bytes_of(const brc_matrix<Place, Value>& matrix) {
    return bytes_in(matrix.block_begin) + bytes_in(matrix.nz_per_block) + bytes_in(matrix.row_perm) +
           bytes_in(matrix.column) + bytes_in(matrix.value);
}
template <class Place, floating_value Value>
std::uint64_t bytes_of(const brcp_matrix<Place, Value>& matrix) {
    return bytes_in(matrix.block_ptr) + bytes_in(matrix.row_perm) + bytes_in(matrix.row_seg_len) +
           bytes_in(matrix.column) + bytes_in(matrix.value) + bytes_in(matrix.split_row) +
           bytes_in(matrix.split_first) + bytes_in(matrix.split_last);
}

#define QUERN_BYTES_OF(PLACE, VALUE)                                         \
    template std::uint64_t bytes_of(const coo_matrix<PLACE, VALUE>& matrix); \
    template std::uint64_t bytes_of(const csr_matrix<PLACE, VALUE>& matrix); \
    template std::uint64_t bytes_of(const ell_matrix<PLACE, VALUE>& matrix); \
    template std::uint64_t bytes_of(const brc_matrix<PLACE, VALUE>& matrix); \
    template std::uint64_t bytes_of(const brcp_matrix<PLACE, VALUE>& matrix);
#define QUERN_FORMATS(VALUE)                                                                               \
    template coo_matrix<cpu_place, VALUE> to_coo(cpu_place& place, const csr_view<VALUE>& matrix);         \
    template csr_matrix<cpu_place, VALUE> to_csr(cpu_place& place, const csr_view<VALUE>& matrix);         \
    template ell_matrix<cpu_place, VALUE> to_ell(cpu_place& place, const csr_view<VALUE>& matrix, double); \
    QUERN_BYTES_OF(cpu_place, VALUE)                                                                       \
    QUERN_BYTES_OF(cuda_place, VALUE)
QUERN_FORMATS(float)
QUERN_FORMATS(double)
#undef QUERN_FORMATS
#undef QUERN_BYTES_OF

}  // namespace quern::primitives
