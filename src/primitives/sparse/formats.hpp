// SPDX-License-Identifier: Apache-2.0
// Sparse matrices in the formats of the literature, and y = A·x on each.
//
// Contract class: exact, except brc and brcp_paper. Every other format, on every place, gives the same bits:
//
//   y[i] is Σ a[i][j]·x[j], the sum of the exact products over the stored entries of row i, rounded once to Value
//   (nearest, ties to even). A sum of exactly zero, and a row without entries, give +0. If a product is NaN,
//   or both infinities occur, y[i] is the quiet NaN without sign; if one infinity occurs, y[i] is that infinity. A sum
//   beyond the maximum Value rounds to infinity, one among the subnormals to a subnormal, as IEEE 754 rounds.
//
// So the order of the additions does not matter: kernels add in any order and keep a bound of their error. If the bound
// leaves more than one Value possible, the row is summed again without error (exact_sum.hpp). docs/primitives/sparse.md
// has the proof and the cost.
//
// brc and brcp_paper add as printed in their papers: in Value, with atomic additions in free order. They serve only for
// comparison.
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

/// Replaces a row or a column: padding, which is skipped, never multiplied (0 · ∞ is NaN).
inline constexpr std::uint32_t no_index = 0xffffffff;

/// The input of the formats: entries of row i at offsets[i] … offsets[i + 1], in any order of columns; repeated entries are
/// added. Offsets as in primitives/segments.hpp, rows + 1 of them (none: no rows). Rows and columns are fewer than 2³² − 1.
template <floating_value Value>
struct csr_view {
    std::uint32_t rows = 0, columns = 0;
    std::span<const std::uint64_t> offsets;
    std::span<const std::uint32_t> column;
    std::span<const Value> value;
};

/// Entries by ascending row, within a row in the order of the csr_view.
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

/// Blocked row-column (Ashari et al. 2014).
/// - Rows by descending length (ties: lower index). A block takes the next 32 different rows, up to V = min(T, longest
///   rest) entries of each; the rest of long rows goes to later blocks: when every row has had its block, those with more
///   than T entries start again, and so on.
/// - Rows without entries are skipped.
/// - T = max(1, round(μ + σ)) of the row lengths, σ that of the whole population.
/// - Entry k of lane l of block b is at block_begin[b] + 32·k + l.
template <class Place, floating_value Value>
struct brc_matrix {
    std::uint32_t rows = 0, columns = 0;
    std::uint64_t entries = 0;
    array_on<Place, std::uint64_t> block_begin;   ///< per block
    array_on<Place, std::uint32_t> nz_per_block;  ///< per block: its V
    array_on<Place, std::uint32_t> row_perm;      ///< 32 per block; no_index: a lane without a row
    array_on<Place, std::uint32_t> column;        ///< padding: no_index
    array_on<Place, Value> value;
};

/// Widths of brcp's blocks, which descend, and the other data for the division of the work.
struct brcp_shape {
    std::array<std::uint32_t, 32> wider{};  ///< how many blocks end where the last one wider than 2^i does
    std::uint32_t whole_rows_from = 0;      ///< blocks from here on have no part of a split row
    bool has_empty_rows = false;
};

/// Blocked row-column plus (Yang et al. 2019).
/// - A row's pieces are in neighbouring lanes, row after row.
/// - V is fixed when a block opens, from the row that opens it: ⌈length/64⌉ if that row's whole length > 64·T, else min(T,
///   max(rest of the row, length of the next row)).
/// - Entry k of lane l of block b is at block_ptr[b] + 32·k + l.
/// - Rows without entries are skipped.
/// - `row_seg_len`: the number of lanes of a run of equal rows at its first lane, 0 at the others.
template <class Place, floating_value Value>
struct brcp_matrix {
    std::uint32_t rows = 0, columns = 0;
    std::uint64_t entries = 0;
    array_on<Place, std::uint64_t> block_ptr;  ///< blocks + 1
    array_on<Place, std::uint32_t> row_perm;   ///< 32 per block; no_index: a dummy lane
    array_on<Place, std::uint32_t> row_seg_len;
    array_on<Place, std::uint32_t> column;
    array_on<Place, Value> value;
    /// Rows in more than one block, by ascending position: their row, and their first and last block (part of the format;
    /// derived from row_perm on construction).
    array_on<Place, std::uint32_t> split_row, split_first, split_last;
    brcp_shape shape{};  ///< in host memory; only on CUDA, from to_device
};

/// Formats from rows, on the CPU. Checks `matrix`: usage_error for inconsistent sizes; invalid_value for the first offset
/// that does not ascend (as in segments.hpp) or column out of range. Also throws usage_error if ell's padding would make it
/// more than `max_padding` times as large as its entries; out_of_memory.
template <floating_value Value>
coo_matrix<cpu_place, Value> to_coo(cpu_place& place, const csr_view<Value>& matrix);
template <floating_value Value>
csr_matrix<cpu_place, Value> to_csr(cpu_place& place, const csr_view<Value>& matrix);
template <floating_value Value>
ell_matrix<cpu_place, Value> to_ell(cpu_place& place, const csr_view<Value>& matrix, double max_padding = 10);
template <floating_value Value>
brc_matrix<cpu_place, Value> to_brc(cpu_place& place, const csr_view<Value>& matrix);
template <floating_value Value>
brcp_matrix<cpu_place, Value> to_brcp(cpu_place& place, const csr_view<Value>& matrix);

/// The number of slots that to_brcp would make, including padding: its cost of reading.
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

/// The size of a matrix's arrays in bytes.
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
