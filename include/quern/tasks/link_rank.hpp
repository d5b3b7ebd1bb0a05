// SPDX-License-Identifier: Apache-2.0
// Importance of the nodes of a graph file, or of the documents of a store, by their links.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/ops/link_rank.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

enum class rank_method { pagerank, hits };
inline constexpr std::string_view rank_method_names[] = {"pagerank", "hits"};

struct link_rank_options {
    std::filesystem::path graph;  ///< a file ("-": standard input) or a store
    std::string input_format;     ///< "edges", "matrix-market"; empty: detected from the content
    bool weighted = false;        ///< the third field of a line is the link's weight; not for stores
    rank_method method = rank_method::pagerank;
    page_rank_options rank;  ///< for hits: tolerance and max_iterations; the spans are ignored
    std::filesystem::path preference, start;  ///< files of `id` or `id TAB weight`; empty: none
};

/// A node and its rank; with hits its authority and hub score.
struct ranked_node {
    std::string_view id;
    double rank = 0, hub = 0;
};

struct link_rank_result {
    std::uint64_t nodes = 0, links = 0, dangling = 0, self_loops = 0;
    std::uint32_t iterations = 0;
    double change = 0, error_bound = 0;  ///< as in link_ranks; for hits the change of the authorities
    bool converged = false;
    std::uint64_t unknown_starts = 0;  ///< ids of the start file that are not nodes
    run_statistics statistics;         ///< stages, counts, outcome, device
};

/// Calls `sink` for every node by descending rank; ties by id, as numbers if all are integers, else by bytes;
/// for documents of a store by their order. Throws usage_error, invalid_input (file, line, reason; also for an
/// id of the preference that is not a node), io_error, damaged_store, out_of_memory, device_error, interrupted.
link_rank_result rank_links(const link_rank_options& options, const context& ctx,
                            const std::function<void(const ranked_node&)>& sink);

}  // namespace quern
