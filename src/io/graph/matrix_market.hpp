// SPDX-License-Identifier: Apache-2.0
// Matrix Market files (Boisvert, Pozo & Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996): the
// header, and blocks of the lines behind it.
#pragma once

#include <cstdint>

#include "io/graph/link_block.hpp"
#include "io/graph/text_blocks.hpp"

namespace quern::io {

inline constexpr std::string_view matrix_market_banner = "%%MatrixMarket";

struct matrix_header {
    bool dense = false;    ///< "array": values alone, column by column
    bool pattern = false;  ///< no values
    enum class symmetry_kind { general, symmetric, skew } symmetry = symmetry_kind::general;
    std::uint32_t rows = 0, columns = 0;  ///< each at most 2^32 - 2
    std::uint64_t lines = 0;              ///< of entries or values that follow
    std::uint64_t size_line = 0;          ///< where the sizes stand
};

/// Takes the banner, comments and sizes. Throws invalid_input with the line for what is malformed or not read: complex
/// and hermitian matrices, and those that are larger.
matrix_header read_matrix_header(text_blocks& lines);

/// What becomes of the third field of an entry.
enum class entry_values {
    none,     ///< a pattern has none
    ignored,  ///< must be there
    numbers,  ///< any: stands in weights
    weights,  ///< positive and finite: stands in weights
};
/// Parses block.lines as entries: row → column, from 0. A symmetric entry beside the diagonal makes two.
void parse_entry_lines(link_block& block, const matrix_header& header, entry_values values);

/// Parses block.lines as one number each: block.weights, block.size.
void parse_value_lines(link_block& block);

/// The line, within the block, of its entry number `entry` from 0.
std::uint64_t line_of_entry(const text_block& lines, std::uint64_t entry);

}  // namespace quern::io
