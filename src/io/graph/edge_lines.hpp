// SPDX-License-Identifier: Apache-2.0
// Edge lists: one link a line. docs/graphs.md has the rules.
#pragma once

#include <string_view>

#include "io/lines/link_block.hpp"

namespace quern::io {

/// Parses block.lines with ids of `kind`, whose table the block holds. False: the block has ids of a later kind (named
/// by block.ids), and its results are discarded.
bool parse_edge_lines(link_block& block, id_kind kind, bool weighted);

/// Whether an id is read back unchanged from either end of a line `id TAB id`, whatever the other end is.
bool fits_edge_line(std::string_view id);

}  // namespace quern::io
