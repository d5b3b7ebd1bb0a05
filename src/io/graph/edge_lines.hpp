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

/// A line of column names at the top of an edge list.
class text_blocks;

/// Whether a line names the two ends of links, as tables do: source,target; from,to; src,dst; start,end; citing,cited;
/// node1,node2, in any case, optionally followed by id, node or name, with further columns that are not numbers.
bool is_edge_heading(std::string_view line);

/// Removes a heading from an edge list, and logs it. A single line is a link, and so is one after a comment.
void take_edge_heading(text_blocks& lines);

}  // namespace quern::io
