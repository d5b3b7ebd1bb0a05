// SPDX-License-Identifier: Apache-2.0
// A line of column names at the top of an edge list.
#pragma once

#include <string_view>

namespace quern::io {

class text_blocks;

/// Whether a line names the two ends of links, as tables do: source,target; from,to; src,dst; start,end; citing,cited;
/// node1,node2, in any case, optionally followed by id, node or name, with further columns that are not numbers.
bool is_edge_heading(std::string_view line);

/// Removes a heading from an edge list, and logs it. A single line is a link, and so is one after a comment.
void take_edge_heading(text_blocks& lines);

}  // namespace quern::io
