// SPDX-License-Identifier: Apache-2.0
// Edge lists: one link a line. docs/graphs.md has the rules.
#pragma once

#include <string_view>

#include "io/graph/link_block.hpp"

namespace quern::io {

/// Parses block.lines with ids of `kind`, whose table the block holds. False: the block has ids that are of a later
/// kind (block.ids says which), and nothing of it counts.
bool parse_edge_lines(link_block& block, id_kind kind, bool weighted);

/// Whether an id comes back as it is from either end of a line `id TAB id`, whatever the other end is.
bool fits_edge_line(std::string_view id);

}  // namespace quern::io
