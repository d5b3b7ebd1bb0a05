// SPDX-License-Identifier: Apache-2.0
// Sparse matrices in the formats of the literature, and y = A·x on each.
//
// Contract class: exact, but for brc and brcp_paper. Every other format, on every place, gives the same bits:
//
//   y[i] is Σ a[i][j]·x[j], the sum of the exact products over the stored entries of row i, rounded once to Value
//   (nearest, ties to even). A sum of exactly zero, and a row without entries, give +0. Where a product is not a
//   number, or both infinities occur, y[i] is the quiet NaN without sign; where one infinity occurs, y[i] is it. A sum
//   beyond the greatest Value rounds to infinity, one among the subnormals to a subnormal, as IEEE 754 rounds.
//
// So the order of the additions cannot show: kernels add as suits them, keep a bound of their error, and where the
// bound leaves more than one Value possible, the row is summed anew without error (exact_sum.hpp). docs/primitives/
// sparse.md has the proof and what it costs.
//
// brc and brcp_paper add as their papers print them: in Value, with atomic additions whose order is free. They are
// there to be compared with.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

/// brcp_paper is brcp's arrays with the kernel as printed.
enum class sparse_format { coo, csr, ell, brc, brcp, brcp_paper };
inline constexpr std::string_view sparse_format_names[] = {"coo", "csr", "ell", "brc", "brcp", "brcp-paper"};

/// In place of a row or a column: padding, which is skipped, never multiplied (0 · ∞ is not a number).
inline constexpr std::uint32_t no_index = 0xffffffff;

/// What formats are built from: entries of row i at offsets[i] … offsets[i + 1], in any order of columns; entries that
/// occur twice add up. Offsets as in primitives/segments.hpp, rows + 1 of them (none: no rows). Rows and columns are
/// fewer than 2³² − 1.
template <floating_value Value>
struct csr_view {
    std::uint32_t rows = 0, columns = 0;
    std::span<const std::uint64_t> offsets;
    std::span<const std::uint32_t> column;
    std::span<const Value> value;
};

/// Entries by rising row, within a row in the order of the csr_view.
template <class Place, floating_value Value>
struct coo_matrix {
    std::uint32_t rows = 0, columns = 0;
    array_on<Place, std::uint32_t> row, column;
    array_on<Place, Value> value;
};

template <class Place, floating_value Value>
struct csr_matrix {
    std::uint32_t rows = 0, columns = 0;
    array_on<Place, std::uint64_t> offsets;  ///< rows + 1
    array_on<Place, std::uint32_t> column;
    array_on<Place, Value> value;
};

/// `width` slabs of `rows` entries: entry k of row i at k · rows + i. Padding: column no_index, value +0.
template <class Place, floating_value Value>
struct ell_matrix {
    std::uint32_t rows = 0, columns = 0, width = 0;
    std::uint64_t entries = 0;  ///< without padding
    array_on<Place, std::uint32_t> column;
    array_on<Place, Value> value;
};

/// Blocked row-column (Ashari et al. 2014): rows by falling length (ties: lower index); a block takes the next 32
/// different rows, up to V = min(T, longest rest) entries of each; what is left of long rows goes to later blocks: when
/// every row has had its block, those that have more than T entries begin anew, and so on. Rows without entries are left
/// out. T = max(1, round(μ + σ)) of the row lengths, σ that of the whole population. Entry k of lane l of block b at block_begin[b] + 32·k + l.
template <class Place, floating_value Value>
struct brc_matrix {
    std::uint32_t rows = 0, columns = 0;
    std::uint64_t entries = 0;
    array_on<Place, std::uint64_t> block_begin;   ///< a block
    array_on<Place, std::uint32_t> nz_per_block;  ///< a block: its V
    array_on<Place, std::uint32_t> row_perm;      ///< 32 a block; no_index: a lane without a row
    array_on<Place, std::uint32_t> column;        ///< padding: no_index
    array_on<Place, Value> value;
};

/// Widths of brcp's blocks, which fall, and what else decides who works on what.
struct brcp_shape {
    std::array<std::uint32_t, 32> wider{};  ///< how many blocks end where the last one wider than 2^i does
    std::uint32_t whole_rows_from = 0;      ///< blocks from here on have no part of a split row
    bool has_empty_rows = false;
};

/// Blocked row-column plus (Yang et al. 2019). A row's pieces stand in neighbouring lanes, row after row; V is fixed
/// when a block opens, from the row that opens it: ⌈length/64⌉ if that row's whole length > 64·T, else min(T, max(rest
/// of the row, length of the next row)). Entry k of lane l of block b at block_ptr[b] + 32·k + l. Rows without entries
/// are left out. `row_seg_len`: the number of lanes of a run of equal rows at its first lane, 0 at the others.
template <class Place, floating_value Value>
struct brcp_matrix {
    std::uint32_t rows = 0, columns = 0;
    std::uint64_t entries = 0;
    array_on<Place, std::uint64_t> block_ptr;  ///< blocks + 1
    array_on<Place, std::uint32_t> row_perm;   ///< 32 a block; no_index: a dummy lane
    array_on<Place, std::uint32_t> row_seg_len;
    array_on<Place, std::uint32_t> column;
    array_on<Place, Value> value;
    /// Rows that lie in more than one block, by rising position: their row, and their first and last block (as the
    /// format's own; derived from row_perm when it is built).
    array_on<Place, std::uint32_t> split_row, split_first, split_last;
    brcp_shape shape{};  ///< in host memory; on CUDA alone, from to_device
};

/// Formats from rows, on the CPU. `matrix` is checked: usage_error for sizes that do not fit each other; invalid_value
/// for offsets that do not rise (as segments.hpp) and for a column out of range, the first. Throws usage_error too where
/// ell's padding would make it more than `most_padding` times as large as its entries; out_of_memory.
template <floating_value Value>
coo_matrix<cpu_place, Value> to_coo(cpu_place& place, const csr_view<Value>& matrix);
template <floating_value Value>
csr_matrix<cpu_place, Value> to_csr(cpu_place& place, const csr_view<Value>& matrix);
template <floating_value Value>
ell_matrix<cpu_place, Value> to_ell(cpu_place& place, const csr_view<Value>& matrix,
                                    double most_padding = 10);
template <floating_value Value>
brc_matrix<cpu_place, Value> to_brc(cpu_place& place, const csr_view<Value>& matrix);
template <floating_value Value>
brcp_matrix<cpu_place, Value> to_brcp(cpu_place& place, const csr_view<Value>& matrix);

/// How many slots to_brcp would make, padding counted: what it costs to read.
template <floating_value Value>
std::uint64_t brcp_slots(cpu_place& place, const csr_view<Value>& matrix);

// ---- Copies, sizes ----

template <floating_value Value>
coo_matrix<cuda_place, Value> to_device(cuda_place& place, const coo_matrix<cpu_place, Value>& matrix);
template <floating_value Value>
csr_matrix<cuda_place, Value> to_device(cuda_place& place, const csr_matrix<cpu_place, Value>& matrix);
template <floating_value Value>
ell_matrix<cuda_place, Value> to_device(cuda_place& place, const ell_matrix<cpu_place, Value>& matrix);
template <floating_value Value>
brc_matrix<cuda_place, Value> to_device(cuda_place& place, const brc_matrix<cpu_place, Value>& matrix);
template <floating_value Value>
brcp_matrix<cuda_place, Value> to_device(cuda_place& place, const brcp_matrix<cpu_place, Value>& matrix);

/// What the arrays of a matrix hold, in bytes.
template <class Place, floating_value Value>
std::uint64_t bytes_of(const coo_matrix<Place, Value>& matrix);
template <class Place, floating_value Value>
std::uint64_t bytes_of(const csr_matrix<Place, Value>& matrix);
template <class Place, floating_value Value>
std::uint64_t bytes_of(const ell_matrix<Place, Value>& matrix);
template <class Place, floating_value Value>
std::uint64_t bytes_of(const brc_matrix<Place, Value>& matrix);
template <class Place, floating_value Value>
std::uint64_t bytes_of(const brcp_matrix<Place, Value>& matrix);

}  // namespace quern::primitives
