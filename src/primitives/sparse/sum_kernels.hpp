// SPDX-License-Identifier: Apache-2.0
// Sums of products with the vector registers of the current processor, with an error bound. A row whose bound leaves one
// possible Value is settled; the others are left to the caller, as `open`. The bits of a settled row are those of the exact
// sum, rounded once, for any width of vectors: docs/primitives/sparse.md has the proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::primitives::sparse_detail {

/// Entries in memory: up to `readable` of them may be read. Columns below 2^31 where Value is float.
template <class Value>
struct entries {
    const std::uint32_t* column;
    const Value* value;
    std::size_t readable;
    const Value* x;
};

/// y[i] of rows with the entries offsets[i] … offsets[i + 1]. Positions of open rows go to `open`, which must hold `rows`;
/// returns their number.
std::size_t sum_rows(const entries<float>& from, const std::uint64_t* offsets, std::size_t rows, float* y,
                     std::uint32_t* open);
std::size_t sum_rows(const entries<double>& from, const std::uint64_t* offsets, std::size_t rows, double* y,
                     std::uint32_t* open);

/// For coo: appends the positions in [begin, end) where row[i] differs from row[i − 1] to `found`; begin > 0, and at most
/// max_scanned of them. Returns their number.
inline constexpr std::size_t max_scanned = 1024;
std::size_t find_row_begins(const std::uint32_t* row, std::size_t begin, std::size_t end,
                            std::uint64_t* found);

/// As sum_rows, for up to max_tile_rows rows of ell from row `first` of `rows`; padding is skipped.
inline constexpr std::size_t max_tile_rows = 512;
std::size_t sum_tile(const entries<float>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t width, float* y, std::uint32_t* open);
std::size_t sum_tile(const entries<double>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t width, double* y, std::uint32_t* open);

/// The same for blocks [begin, end) of brcp; no row is both in one of them and in another. y is by row. Appends the lanes
/// where open rows begin, relative to the first block of the matrix, to `open`.
struct lane_blocks {
    const std::uint64_t* begin;  ///< the start of each block's slots, and the last one's end
    const std::uint32_t* row;
    const std::uint32_t* run;  ///< row_seg_len
};
void sum_blocks(const entries<float>& from, const lane_blocks& blocks, std::size_t begin, std::size_t end,
                float* y, std::vector<std::uint64_t>& open);
void sum_blocks(const entries<double>& from, const lane_blocks& blocks, std::size_t begin, std::size_t end,
                double* y, std::vector<std::uint64_t>& open);

/// Part of a row's sum, for rows that are summed in parts, in any order.
struct row_part {
    double s = 0, t = 0, c = 0;
    double terms = 0;

    void add(const row_part& part);
};
row_part sum_range(const entries<float>& from, std::size_t begin, std::size_t end);
row_part sum_range(const entries<double>& from, std::size_t begin, std::size_t end);
/// Whether the row is settled, and then y.
bool settle_row(const row_part& row, float& y);
bool settle_row(const row_part& row, double& y);

/// Whether every product of the entries [begin, end) has a zero factor: sums of doubles leave such rows open, because
/// products that are too small look the same. Not for non-finite entries.
bool adds_nothing(const entries<double>& from, std::size_t begin, std::size_t end);

/// What the slots [begin, end) of a block add to each of its 32 lanes; both are multiples of 32 from the block's begin.
void sum_block_part(const entries<float>& from, std::size_t begin, std::size_t end, row_part* lanes);
void sum_block_part(const entries<double>& from, std::size_t begin, std::size_t end, row_part* lanes);

/// A sum of products as the sum of two doubles in each of eight lanes, without error as long as `exact`.
struct pair_sums {
    double high[8] = {}, low[8] = {};
    bool exact = true;
};
void add_to_pairs(const float* a, const float* x, std::size_t count, pair_sums& sums);
void add_to_pairs(const double* a, const double* x, std::size_t count, pair_sums& sums);

}  // namespace quern::primitives::sparse_detail
