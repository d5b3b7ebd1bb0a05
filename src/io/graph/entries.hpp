// SPDX-License-Identifier: Apache-2.0
// Where parsed blocks go: all links (or entries of a matrix) of an input, in its order.
#pragma once

#include <cstdint>
#include <optional>

#include "io/graph/large_array.hpp"
#include "io/graph/link_block.hpp"
#include "io/graph/matrix_market.hpp"
#include "io/graph/object_pool.hpp"

namespace quern::io {

struct link_store {
    large_array<link> links;
    large_array<double> weights;  ///< as links, or none

    link_store(memory_budget& budget, bool with_links, bool with_weights);
    /// Gives the block its place: in order.
    void place(link_block& block);
    /// Copies it there: at any time afterwards, by any thread.
    void store(const link_block& block) const;
    /// What is held is the caller's from here on.
    void settle() noexcept;
};

/// Reads what follows the header: row → column, and values, both ways where the matrix is symmetric. Throws invalid_input
/// also where there are more or fewer lines than the header says.
void read_entries(text_blocks& lines, object_pool<link_block>& pool, const matrix_header& header,
                  entry_values values, link_store& into);

/// The same for lines of one number each: `expected` of them, or as many as there are.
void read_values(text_blocks& lines, object_pool<link_block>& pool, std::optional<std::uint64_t> expected,
                 link_store& into);

}  // namespace quern::io
