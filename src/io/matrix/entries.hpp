// SPDX-License-Identifier: Apache-2.0
// The destination of parsed blocks: all links (or matrix entries) of an input, in input order.
#pragma once

#include <cstdint>
#include <optional>

#include "device/large_array.hpp"
#include "io/lines/link_block.hpp"
#include "io/lines/object_pool.hpp"
#include "io/matrix/matrix_market.hpp"

namespace quern::io {

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

}  // namespace quern::io
