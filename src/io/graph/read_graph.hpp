// SPDX-License-Identifier: Apache-2.0
// Graphs from files: edge lists and Matrix Market, compressed or not. docs/graphs.md has the rules and the speed.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "io/byte_source.hpp"
#include "io/graph/named_graph.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// automatic: Matrix Market where the input begins with its banner, else an edge list.
enum class graph_format { automatic, edge_list, matrix_market };
inline constexpr std::string_view graph_format_names[] = {"auto", "edges", "mtx"};

struct graph_options {
    graph_format format = graph_format::automatic;
    bool weighted = false;  ///< the third field is the link's weight, which must be there
};

/// Several edge lists are one graph; a Matrix Market file is one alone. "-" is standard input. The links come in the
/// order of the input, the nodes by rising id.
///
/// Throws usage_error (no such file, a Matrix Market file among several inputs), invalid_input (file, line, reason; the
/// first line of the input that is wrong, whatever the number of threads), io_error, out_of_memory, interrupted.
/// Memory, of the run's budget: 8 bytes a link (16 weighted), and for numbering the nodes what numbering.hpp says.
named_graph read_graph(std::span<const std::filesystem::path> paths, const graph_options& options,
                       const context& run);
named_graph read_graph(byte_source& source, const graph_options& options, const context& run);

}  // namespace quern::io
