// SPDX-License-Identifier: Apache-2.0
// The graph named by the user, from a file or from a store: links and names of the nodes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/graph/named_graph.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"
#include "quern/tasks/statistics.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

// The links of a store, in the order of their documents.

/// Calls sink(link) for each. Throws damaged_store, and errors of `sink`.
template <class Sink>
void for_each_link(const opened_store& store, const Sink& sink) {
    const auto [ends_section, links_section] = store.links();
    const auto ends = ends_section.template values<std::uint64_t>(0, store.info().documents);
    const auto targets = links_section.template values<std::uint32_t>(0, store.info().links);
    std::uint64_t next = 0;  // the links of document d follow those of d − 1
    for (std::uint32_t from = 0; from < ends.size(); ++from) {
        if (ends[from] < next || ends[from] > targets.size()) ends_section.fail("is out of order");
        for (; next < ends[from]; ++next) {
            if (targets[next] >= ends.size()) links_section.fail("names a missing document");
            sink(link{from, targets[next]});
        }
    }
    if (next != targets.size()) ends_section.fail("is too short");
}

/// Nodes are numbered in the order that breaks ties.
struct input_graph {
    link_graph graph;
    std::function<std::string(std::uint32_t)> name_of;
    std::function<std::optional<std::uint32_t>(std::string_view)> node_of;
    std::uint64_t input_bytes = 0;
    std::uint64_t bytes_held = 0;  ///< of memory
    bool ids_are_integers = false;
};

/// Sets everything that follows from the graph and the names, which `made` owns.
void take_names(const std::shared_ptr<const io::named_graph>& names, input_graph& made);

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
