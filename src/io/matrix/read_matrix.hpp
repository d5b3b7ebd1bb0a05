// SPDX-License-Identifier: Apache-2.0
// Sparse matrices and vectors from files: Matrix Market, compressed or not. docs/graphs.md has the rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "device/large_array.hpp"
#include "io/byte_source.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Row i holds the entries offsets[i] … offsets[i + 1], in file order; duplicates in the file are duplicates here, and
/// add up. A symmetric matrix has both halves, an array every value including zeros. Move-only.
struct matrix_rows {
    std::uint32_t rows = 0, columns = 0;
    large_array<std::uint64_t> offsets;  ///< rows + 1
    large_array<std::uint32_t> column;
    large_array<double> value;  ///< for a pattern: 1 each
};

/// "-" is standard input. Throws as read_graph does. Memory, from the context's budget: 28 bytes an entry and up to 12
/// more a row and thread.
matrix_rows read_matrix(const std::filesystem::path& path, const context& ctx);
matrix_rows read_matrix(byte_source& source, const context& ctx);

/// One number a line (empty lines and those that begin with # or % are skipped), or a Matrix Market array of one column
/// or row.
std::vector<double> read_vector(const std::filesystem::path& path, const context& ctx);
std::vector<double> read_vector(byte_source& source, const context& ctx);

}  // namespace quern::io
