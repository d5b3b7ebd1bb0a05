// SPDX-License-Identifier: Apache-2.0
// The graph a user named, from a file or from a store: links and what the nodes are called.
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

/// Nodes are numbered in the order that ties are to have.
struct linked_nodes {
    link_graph graph;
    std::function<std::string(std::uint32_t)> name_of;
    std::function<std::optional<std::uint32_t>(std::string_view)> node_of;
    std::uint64_t input_bytes = 0;
    std::uint64_t bytes_held = 0;  ///< of memory
};

/// Throws as rank_links does. Stages "read" and "graph" are noted.
linked_nodes read_linked_nodes(const std::filesystem::path& path, std::string_view input_format,
                               bool weighted, const context& run, run_statistics& statistics);

/// Numbers of nodes from a file: lines of `id`, which stands for 1, or `id TAB number`; finite and not negative; empty
/// lines are passed over. Nodes that are not named have 0. `unknown` is called for an id that is no node, with its line.
/// Throws usage_error (no such file), invalid_input: another kind of line, an id that comes twice, no number above 0.
std::vector<double> read_node_numbers(
    const std::filesystem::path& path, const linked_nodes& nodes,
    const std::function<void(std::string_view id, std::uint64_t line)>& unknown, const context& run);

}  // namespace quern
