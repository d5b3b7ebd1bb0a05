// SPDX-License-Identifier: Apache-2.0
#include "io/graph/read_graph.hpp"

#include <atomic>
#include <string>
#include <vector>

#include "io/graph/edge_lines.hpp"
#include "io/graph/entries.hpp"
#include "io/graph/matrix_market.hpp"
#include "io/graph/numbering.hpp"
#include "io/graph/read_blocks.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Edge lists, one after the other, to one graph.
class edge_reader {
  public:
    edge_reader(bool weighted, const context& run)
        : weighted_(weighted), place_(run), stored_(place_.memory(), true, weighted) {}

    void read(text_blocks& lines) {
        input_ = lines.name();
        read_blocks(
            lines, blocks_,
            {.parse = [&](link_block& block) { parse(block); },
             .place = [&](link_block& block, std::uint64_t lines_before) { place(block, lines_before); },
             .store = [&](link_block& block) { stored_.store(block); }});
    }

    named_graph finish() {
        refuse_heading();
        for (const auto& table : integers_.all()) ids_.integers.push_back(table.get());
        for (const auto& table : words_.all()) ids_.words.push_back(table.get());
        named_graph graph;
        graph.names = number_nodes(place_, stored_.links.span(), ids_, input_);
        stored_.settle();
        graph.link_list = std::move(stored_.links);
        graph.weight_list = std::move(stored_.weights);
        return graph;
    }

  private:
    /// A block is tried as the simplest kind of ids, until it is known that the list has others.
    void parse(link_block& block) {
        const id_kind first = kind_seen_.load(std::memory_order_relaxed);
        bool done = false;
        for (id_kind kind = first; !done; kind = block.ids) {
            const auto integers = kind == id_kind::wide ? integers_.take() : nullptr;
            const auto words = kind == id_kind::word ? words_.take() : nullptr;
            block.integers = integers.get();
            block.words = words.get();
            const std::uint64_t before = table_bytes(block);
            done = parse_edge_lines(block, kind, weighted_);
            place_.memory().take(table_bytes(block) - before, "the ids of a graph's nodes");
        }
        if (block.ids > first) kind_seen_.store(block.ids, std::memory_order_relaxed);
    }

    std::uint64_t table_bytes(const link_block& block) const {
        const std::uint64_t met = block.integers != nullptr ? block.integers->size()
                                  : block.words != nullptr  ? block.words->size()
                                                            : 0;
        if (met > most_nodes) {
            throw invalid_input(input_, 0, "more than " + std::to_string(most_nodes) + " nodes are not read");
        }
        return block.integers != nullptr ? block.integers->bytes_held()
               : block.words != nullptr  ? block.words->bytes_held()
                                         : 0;
    }

    void place(link_block& block, std::uint64_t lines_before) {
        if (block.issue || block.size == 0) return;
        if (stored_.links.empty() && block.first_names_both) {
            heading_ = {lines_before + block.first_line, {}};
            heading_input_ = input_;
        }
        named_links_ += block.named_links;
        stored_.place(block);
        const std::uint64_t end = block.position + block.size;
        auto& all = ids_.stretches;
        if (block.ids == id_kind::narrow && !all.empty() && all.back().kind == id_kind::narrow)
            all.back().end = end;
        else
            all.push_back({block.position, end, block.ids, block.integers, block.words});
        ids_.least = std::min(ids_.least, block.least);
        ids_.largest = std::max(ids_.largest, block.largest);
    }

    /// One line of names above links between integers would make all ids names, and itself a link.
    void refuse_heading() const {
        if (!heading_ || named_links_ != 1 || stored_.links.size() == 1) return;
        throw invalid_input(heading_input_, heading_.line,
                            "names, where every other id is an integer: if this line is a heading, begin it "
                            "with '#'");
    }

    bool weighted_;
    cpu_place place_;
    std::string input_;
    object_pool<link_block> blocks_;
    object_pool<integer_table> integers_;
    object_pool<word_table> words_;
    link_store stored_;
    ids_read ids_;
    std::atomic<id_kind> kind_seen_{id_kind::narrow};
    std::uint64_t named_links_ = 0;
    line_issue heading_;  ///< the first link of all, where neither of its ends is an integer
    std::string heading_input_;
};

named_graph read_matrix_graph(text_blocks& lines, bool weighted, const context& run) {
    const matrix_header header = read_matrix_header(lines);
    const auto refuse = [&](std::uint64_t line, const std::string& reason) {
        throw invalid_input(lines.name(), line, reason);
    };
    if (header.dense) refuse(1, "an array is no graph; the format of a graph is coordinate");
    if (weighted && header.pattern) refuse(1, "weights are asked for, and a pattern has none");
    if (weighted && header.symmetry == matrix_header::symmetry_kind::skew)
        refuse(1, "weights are asked for, and a skew-symmetric matrix has negative ones");
    if (header.rows != header.columns) {
        refuse(header.size_line, std::to_string(header.rows) + " rows and " + std::to_string(header.columns) +
                                     " columns; the matrix of a graph has as many of each");
    }
    if (header.rows > most_nodes)
        refuse(header.size_line, "more than " + std::to_string(most_nodes) + " nodes are not read");

    cpu_place place(run);
    object_pool<link_block> blocks;
    link_store stored(place.memory(), true, weighted);
    const auto values = weighted         ? entry_values::weights
                        : header.pattern ? entry_values::none
                                         : entry_values::ignored;
    read_entries(lines, blocks, header, values, stored);
    stored.settle();
    return {node_names::consecutive(1, header.rows), std::move(stored.links), std::move(stored.weights)};
}

bool is_matrix(text_blocks& lines, graph_format format) {
    return format == graph_format::matrix_market ||
           (format == graph_format::automatic && lines.begins_with(matrix_market_banner));
}

}  // namespace

named_graph read_graph(byte_source& source, const graph_options& options, const context& run) {
    text_blocks lines(source, run);
    if (is_matrix(lines, options.format)) return read_matrix_graph(lines, options.weighted, run);
    edge_reader reader(options.weighted, run);
    reader.read(lines);
    return reader.finish();
}

named_graph read_graph(std::span<const std::filesystem::path> paths, const graph_options& options,
                       const context& run) {
    if (paths.size() == 1) return read_graph(*open_bytes(paths[0], run), options, run);
    edge_reader reader(options.weighted, run);
    for (const auto& path : paths) {
        const auto source = open_bytes(path, run);
        text_blocks lines(*source, run);
        if (is_matrix(lines, options.format)) {
            throw usage_error(
                source->name() +
                ": a Matrix Market file is a graph of its own and cannot be one of several inputs");
        }
        reader.read(lines);
    }
    return reader.finish();
}

}  // namespace quern::io
