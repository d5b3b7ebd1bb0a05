// SPDX-License-Identifier: Apache-2.0
// Sparse matrices and vectors from files: Matrix Market, compressed or not. docs/graphs.md has the rules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "device/large_array.hpp"
#include "io/byte_source.hpp"
#include "io/lines/link_block.hpp"
#include "io/matrix/matrix_market.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// The destination of parsed blocks: all links (or matrix entries) of an input, in input order.
struct link_store {
    large_array<link> links;
    large_array<double> weights;  ///< as many as links, or none

    link_store(memory_budget& budget, bool with_links, bool with_weights);
    /// Assigns the block its position: in order.
    void position_block(link_block& block);
    /// Copies it there: at any time afterwards, by any thread.
    void store(const link_block& block) const;
    /// Ownership of the memory passes to the caller.
    void settle() noexcept;
};

/// Reads what follows the header: row → column, and values, both ways if the matrix is symmetric. Throws invalid_input
/// also for more or fewer lines than the header states.
void read_entries(text_blocks& lines, object_pool<link_block>& pool, const matrix_header& header,
                  entry_values values, link_store& into);

/// The same for lines of one number each: `expected` of them, or as many as there are.
void read_values(text_blocks& lines, object_pool<link_block>& pool, std::optional<std::uint64_t> expected,
                 link_store& into);

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
