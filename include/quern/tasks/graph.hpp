// SPDX-License-Identifier: Apache-2.0
// A graph to rank many times: from a file, from a store, or from arrays of ids.
//
//     node_graph graph = open_graph("web.txt.zst", {}, false, run);
//     link_ranks found = page_rank(graph.links(), {}, run);
//     graph.id_of(found.order[0]);
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern {

/// Links between numbered nodes, and the nodes' ids. Nodes are numbered in the order that breaks ties: by rising id, as
/// numbers if all ids are integers, else by bytes; the documents of a store by their order. Copies share everything.
class node_graph {
  public:
    struct state;
    explicit node_graph(std::shared_ptr<const state> made);

    link_graph_view links() const;
    std::uint32_t nodes() const { return links().nodes; }
    /// The id as in the input; for Matrix Market the number from 1.
    std::string id_of(std::uint32_t node) const;
    /// Nothing if no node has this id. One thread at a time.
    std::optional<std::uint32_t> node_of(std::string_view id) const;
    /// Whether all ids are integers below 2^64.
    bool ids_are_integers() const;
    std::uint64_t bytes_held() const;  ///< of memory

  private:
    std::shared_ptr<const state> state_;
};

/// Reads a file in a format of docs/graphs.md, or the links between the documents of a store. `input_format`: "edges",
/// "matrix-market"; empty: detected. Throws as rank_links does.
node_graph open_graph(const std::filesystem::path& path, std::string_view input_format, bool weighted,
                      const context& ctx);

/// Link i goes from `from[i]` to `to[i]`; the nodes are the ids that occur. `weights`: empty or one per link, positive and
/// finite. Names are ids as in a file: integers if all are written as a program writes one. Throws usage_error with the
/// number of the link for a weight or a size that is wrong, out_of_memory, interrupted. Memory: 8 bytes a link besides
/// what make_link_graph takes; for names and integers beyond 32 bits also their table.
node_graph graph_of_ids(std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                        std::span<const double> weights, const context& ctx);
node_graph graph_of_ids(std::span<const std::uint64_t> from, std::span<const std::uint64_t> to,
                        std::span<const double> weights, const context& ctx);
node_graph graph_of_ids(std::span<const std::string_view> from, std::span<const std::string_view> to,
                        std::span<const double> weights, const context& ctx);

}  // namespace quern
