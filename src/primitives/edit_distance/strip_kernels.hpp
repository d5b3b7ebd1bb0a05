// SPDX-License-Identifier: Apache-2.0
// The table of an edit distance in strips of rows, as columns of bits, in the vector registers of the processor at
// hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::primitives::edit_distance_detail {

inline constexpr std::size_t word_rows = 64;
inline constexpr std::size_t most_strip_words = 8;
/// Entries before and behind the columns of a strip that its arrays must have; steps are written there.
inline constexpr std::size_t strip_padding = most_strip_words;

/// How many words of 64 rows a strip has on this processor: 1, 2, 4 or 8.
std::size_t strip_words();

/// One strip: 64 · strip_words() rows, and `columns` columns.
struct strip {
    /// Bit r % 64 of equal[c + r / 64]: whether the unit with code c is that of row r. Codes are multiples of
    /// strip_words().
    const std::uint64_t* equal;
    const std::uint32_t* codes;  ///< of the columns; those of the padding are codes, too
    std::size_t columns;
    /// The first rows fall by one each in the column before the first, the others rise by one each.
    std::size_t falling;
    /// The top bit of plus[j] (minus[j]): whether the value rises (falls) by one from column j − 1 to column j, where
    /// column −1 is the one before the first. In: along the row above the strip. Out: along its last row.
    std::uint64_t *plus, *minus;
};
void run_strip(const strip& s);

/// Whole tables of as many short pairs as a strip has words, a pair a lane.
struct side_by_side {
    std::size_t words;  ///< of 64 rows: 1 or 2
    /// Word w of the rows of lane l that hold unit u < 256: equal[(u · words + w) · strip_words() + l]. Out: zeros.
    std::uint64_t* equal;
    const std::uint32_t*
        places;  ///< places[j · strip_words() + l]: of lane l's unit in column j, its word 0 in `equal`
    std::size_t columns;           ///< the most of any lane
    const std::int64_t* lengths;   ///< columns of each lane
    const std::uint64_t* falling;  ///< [w · strip_words() + l]: the rows that fall before the first column
    const std::int64_t* bounds;
    std::int64_t*
        values;  ///< in: of the last rows before the first column; out: distances, or something beyond the bound
};
void run_side_by_side(const side_by_side& s);

/// codes[j] = units[j] · strip_words(), for bytes.
void scale_codes(const std::uint8_t* units, std::size_t count, std::uint32_t* codes);

/// Bit j % 64 of bits[j / 64] = the top bit of words[j]. Further bits of the last word are 0.
void pack_top_bits(const std::uint64_t* words, std::size_t count, std::uint64_t* bits);

}  // namespace quern::primitives::edit_distance_detail
