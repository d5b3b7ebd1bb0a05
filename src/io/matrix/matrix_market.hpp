// SPDX-License-Identifier: Apache-2.0
// Matrix Market files (Boisvert, Pozo & Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996): the
// header, and blocks of the lines after it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "io/lines/link_block.hpp"
#include "io/lines/numbers.hpp"
#include "io/lines/text_blocks.hpp"

namespace quern::io {

// The numbers of links and entries, and their validation.

/// parse_double for a text followed by 16 readable bytes: a fast path for short decimals.
parsed_number take_number(const char* begin, const char* end);

inline bool is_weight(double value) {
    return value > 0 && value <= std::numeric_limits<double>::max();
}

/// Empty: no problem.
std::string problem_of_value(std::string_view field, const parsed_number& number);
/// Weights of links are positive and finite.
std::string problem_of_weight(std::string_view field, const parsed_number& number);

inline constexpr std::string_view matrix_market_banner = "%%MatrixMarket";

struct matrix_header {
    bool dense = false;    ///< "array": only values, column by column
    bool pattern = false;  ///< no values
    enum class symmetry_kind { general, symmetric, skew } symmetry = symmetry_kind::general;
    std::uint32_t rows = 0, columns = 0;  ///< each at most 2^32 - 2
    std::uint64_t lines = 0;              ///< number of entries or values that follow
    std::uint64_t size_line = 0;          ///< the line with the sizes
};

/// Reads the banner, comments and sizes. Throws invalid_input with the line for malformed and unsupported headers:
/// complex and hermitian matrices, and larger ones.
matrix_header read_matrix_header(text_blocks& lines);

/// The use of an entry's third field.
enum class entry_values {
    none,     ///< a pattern has no third field
    ignored,  ///< must exist
    numbers,  ///< any number: stored in weights
    weights,  ///< positive and finite: stored in weights
};
/// Parses block.lines as entries: row → column, from 0. A symmetric off-diagonal entry makes two.
void parse_entry_lines(link_block& block, const matrix_header& header, entry_values values);

/// Parses block.lines as one number each: block.weights, block.size.
void parse_value_lines(link_block& block);

/// The line, within the block, of entry number `entry` (from 0).
std::uint64_t line_of_entry(const text_block& lines, std::uint64_t entry);

}  // namespace quern::io
