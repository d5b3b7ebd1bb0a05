// SPDX-License-Identifier: Apache-2.0
// Graphs from files: edge lists and Matrix Market, compressed or not. docs/graphs.md has the rules and the speed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "io/byte_source.hpp"
#include "io/graph/named_graph.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// automatic: Matrix Market if the input begins with its banner, else an edge list.
enum class graph_format { automatic, edge_list, matrix_market };
inline constexpr std::string_view graph_format_names[] = {"auto", "edges", "mtx"};

struct graph_options {
    graph_format format = graph_format::automatic;
    bool weighted = false;                ///< the third field is the link's weight, which is then required
    std::uint64_t* links_read = nullptr;  ///< receives the number of links, even if reading fails
    /// Receives the size of a Matrix Market graph before its entries are read. It has at least so many links. May throw.
    std::function<void(std::uint64_t links, std::uint64_t nodes)> on_size = {};
};

/// Several edge lists make one graph; a Matrix Market file must be the only input. "-" is standard input. The links are
/// in input order, the nodes by rising id.
///
/// Throws usage_error (no such file, a Matrix Market file among several inputs), invalid_input (file, line, reason; the
/// first wrong line of the input, whatever the number of threads), io_error, out_of_memory, interrupted.
///
/// Memory, from the context's budget: 8 bytes a link (16 weighted), and for numbering the nodes as numbering.hpp says.
named_graph read_graph(std::span<const std::filesystem::path> paths, const graph_options& options,
                       const context& ctx);
named_graph read_graph(byte_source& source, const graph_options& options, const context& ctx);

}  // namespace quern::io
