// SPDX-License-Identifier: Apache-2.0
// Sparse matrices and vectors from files: Matrix Market, compressed or not. docs/graphs.md has the rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/byte_source.hpp"
#include "io/graph/large_array.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Row i holds the entries offsets[i] … offsets[i + 1], in the order of the file; what the file holds twice stands here
/// twice, and adds up. Of a symmetric matrix both halves. Of an array every value, zeros too. Move-only.
struct matrix_rows {
    std::uint32_t rows = 0, columns = 0;
    large_array<std::uint64_t> offsets;  ///< rows + 1
    large_array<std::uint32_t> column;
    large_array<double> value;  ///< of a pattern: 1 each
};

/// "-" is standard input. Throws as read_graph does. Memory, of the run's budget: 28 bytes an entry and up to 12 more a
/// row and thread.
matrix_rows read_matrix(const std::filesystem::path& path, const context& run);
matrix_rows read_matrix(byte_source& source, const context& run);

/// One number a line (empty lines and those that begin with # or % apart), or a Matrix Market array of one column or
/// row.
std::vector<double> read_vector(const std::filesystem::path& path, const context& run);
std::vector<double> read_vector(byte_source& source, const context& run);

}  // namespace quern::io
