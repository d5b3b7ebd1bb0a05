// SPDX-License-Identifier: Apache-2.0
// The table of an edit distance in strips of rows, as columns of bits, with the vector registers of the current processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::primitives::edit_distance_detail {

inline constexpr std::size_t word_rows = 64;
inline constexpr std::size_t max_block_words = 8;
/// The padding entries that a strip's arrays must have before and after its columns; steps are written there.
inline constexpr std::size_t block_padding = max_block_words;

/// The number of words of 64 rows in a strip on this processor: 1, 2, 4 or 8.
std::size_t block_words();

/// One strip: 64 · block_words() rows, and `columns` columns.
struct bit_block {
    /// Bit r % 64 of equal[c + r / 64]: whether the unit with code c is that of row r. Codes are multiples of
    /// block_words().
    const std::uint64_t* equal;
    const std::uint32_t* codes;  ///< of the columns; padding must hold valid codes too
    std::size_t columns;
    /// In the column before the first, the first rows fall by one each, the others rise by one each.
    std::size_t falling;
    /// The top bit of plus[j] (minus[j]): whether the value rises (falls) by one from column j − 1 to column j; column −1
    /// is the one before the first. In: along the row above the strip. Out: along its last row.
    std::uint64_t *plus, *minus;
};
void run_bit_block(const bit_block& s);

/// Whole tables of as many short pairs as a strip has words, one pair per lane.
struct simd_batch {
    std::size_t words;  ///< of 64 rows: 1 or 2
    /// Word w of the rows of lane l with unit u < 256: equal[(u · words + w) · block_words() + l]. Out: zeros.
    std::uint64_t* equal;
    const std::uint32_t*
        columns_of_units;  ///< places[j · block_words() + l]: of lane l's unit in column j, its word 0 in `equal`
    std::size_t columns;           ///< maximum of any lane
    const std::int64_t* lengths;   ///< columns of each lane
    const std::uint64_t* falling;  ///< [w · block_words() + l]: the rows that fall before the first column
    const std::int64_t* bounds;
    std::int64_t*
        values;  ///< in: of the last rows before the first column; out: distances, or beyond the bound
};
void run_simd_batch(const simd_batch& s);

/// codes[j] = units[j] · block_words(), for bytes.
void scale_codes(const std::uint8_t* units, std::size_t count, std::uint32_t* codes);

/// Bit j % 64 of bits[j / 64] = the top bit of words[j]. Further bits of the last word are 0.
void pack_top_bits(const std::uint64_t* words, std::size_t count, std::uint64_t* bits);

}  // namespace quern::primitives::edit_distance_detail
