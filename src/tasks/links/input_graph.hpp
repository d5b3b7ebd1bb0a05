// SPDX-License-Identifier: Apache-2.0
// The graph named by the user, from a file or from a store: links and names of the nodes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

/// Nodes are numbered in the order that breaks ties.
struct input_graph {
    link_graph graph;
    std::function<std::string(std::uint32_t)> name_of;
    std::function<std::optional<std::uint32_t>(std::string_view)> node_of;
    std::uint64_t input_bytes = 0;
    std::uint64_t bytes_held = 0;  ///< of memory
};

/// Throws as rank_links does. Records the stages "read" and "graph".
input_graph read_input_graph(const std::filesystem::path& path, std::string_view input_format, bool weighted,
                             const context& ctx, run_statistics& statistics);

/// Node values from a file: lines of `id`, which means 1, or `id TAB number`; finite and not negative; empty lines are
/// skipped. Other nodes have 0. Calls `unknown` for an id that is not a node, with its line. Throws usage_error (no
/// such file), invalid_input: another kind of line, a repeated id, no number above 0.
std::vector<double> read_node_numbers(
    const std::filesystem::path& path, const input_graph& nodes,
    const std::function<void(std::string_view id, std::uint64_t line)>& unknown, const context& ctx);

}  // namespace quern
