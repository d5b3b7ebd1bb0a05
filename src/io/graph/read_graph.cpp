// SPDX-License-Identifier: Apache-2.0
#include "io/graph/read_graph.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "io/graph/edge_lines.hpp"
#include "io/graph/numbering.hpp"
#include "io/lines/read_blocks.hpp"
#include "io/matrix/matrix_market.hpp"
#include "io/matrix/read_matrix.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Reads edge lists, one after the other, into one graph.
class edge_reader {
  public:
    edge_reader(const graph_options& options, const context& ctx)
        : weighted_(options.weighted),
          links_read_(options.links_read),
          place_(ctx),
          stored_(place_.memory(), true, options.weighted) {}

    void read(text_blocks& lines) {
        input_ = lines.name();
        take_edge_heading(lines);
        read_blocks(
            lines, blocks_,
            {.parse = [&](link_block& block) { parse(block); },
             .position_block = [&](link_block& block,
                                   std::uint64_t lines_before) { position_block(block, lines_before); },
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
    /// A block is tried as the simplest kind of ids, until the list is known to have others.
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
        const std::uint64_t distinct_ids = block.integers != nullptr ? block.integers->size()
                                           : block.words != nullptr  ? block.words->size()
                                                                     : 0;
        if (distinct_ids > max_nodes) {
            throw invalid_input(input_, 0,
                                "more than " + std::to_string(max_nodes) + " nodes are not supported");
        }
        return block.integers != nullptr ? block.integers->bytes_held()
               : block.words != nullptr  ? block.words->bytes_held()
                                         : 0;
    }

    void position_block(link_block& block, std::uint64_t lines_before) {
        if (block.issue || block.size == 0) return;
        if (stored_.links.empty() && block.first_names_both) {
            heading_ = {lines_before + block.first_line, {}};
            heading_input_ = input_;
        }
        named_links_ += block.named_links;
        stored_.position_block(block);
        if (links_read_ != nullptr) *links_read_ = stored_.links.size();
        const std::uint64_t end = block.position + block.size;
        auto& all = ids_.ranges;
        if (block.ids == id_kind::narrow && !all.empty() && all.back().kind == id_kind::narrow)
            all.back().end = end;
        else
            all.push_back({block.position, end, block.ids, block.integers, block.words});
        ids_.least = std::min(ids_.least, block.least);
        ids_.largest = std::max(ids_.largest, block.largest);
    }

    /// A line of column names above links between integers would turn all ids into names, and itself into a link.
    void refuse_heading() const {
        if (!heading_ || named_links_ != 1 || stored_.links.size() == 1) return;
        throw invalid_input(heading_input_, heading_.line,
                            "names, where every other id is an integer: if this line is a heading, begin it "
                            "with '#'");
    }

    bool weighted_;
    std::uint64_t* links_read_;
    cpu_place place_;
    std::string input_;
    object_pool<link_block> blocks_;
    object_pool<integer_table> integers_;
    object_pool<word_table> words_;
    link_store stored_;
    ids_read ids_;
    std::atomic<id_kind> kind_seen_{id_kind::narrow};
    std::uint64_t named_links_ = 0;
    line_issue heading_;  ///< the first link of all, if neither of its ends is an integer
    std::string heading_input_;
};

named_graph read_matrix_graph(text_blocks& lines, const graph_options& options, const context& ctx) {
    const bool weighted = options.weighted;
    const matrix_header header = read_matrix_header(lines);
    const auto refuse = [&](std::uint64_t line, const std::string& reason) {
        throw invalid_input(lines.name(), line, reason);
    };
    if (header.dense) refuse(1, "an array is not a graph (expected the format coordinate)");
    if (weighted && header.pattern) refuse(1, "weights were requested, but a pattern has none");
    if (weighted && header.symmetry == matrix_header::symmetry_kind::skew)
        refuse(1, "weights were requested, but a skew-symmetric matrix has negative ones");
    if (header.rows != header.columns) {
        refuse(header.size_line, std::to_string(header.rows) + " rows and " + std::to_string(header.columns) +
                                     " columns; the matrix of a graph has as many of each");
    }
    if (header.rows > max_nodes)
        refuse(header.size_line, "more than " + std::to_string(max_nodes) + " nodes are not supported");

    if (options.on_size) {
        const bool is_general = header.symmetry == matrix_header::symmetry_kind::general;
        const std::uint64_t mirrored = header.lines - std::min<std::uint64_t>(header.lines, header.rows);
        options.on_size(header.lines + (is_general ? 0 : mirrored), header.rows);
    }

    cpu_place place(ctx);
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

/// Common binary graph formats would be read as lines with control characters.
void refuse_binary(text_blocks& lines) {
    struct form {
        std::string_view magic, words;
    };
    using std::string_view_literals::operator""sv;
    constexpr form forms[] = {
        {"\x93NUMPY"sv,
         "a NumPy array; a graph is lines of source and target, as numpy.savetxt(FILE, A, fmt='%d') writes "
         "an array "
         "of two columns, or Matrix Market (scipy.io.mmwrite)"sv},
        {"PK\3\4"sv,
         "a zip archive, such as .npz; a graph is an edge list or Matrix Market (scipy.io.mmwrite)"sv},
        {"PAR1\x15"sv, "a Parquet file; a graph is an edge list or Matrix Market"sv},
        {"\x89HDF"sv, "an HDF5 file; a graph is an edge list or Matrix Market"sv},
        {"SQLite format 3\0"sv, "an SQLite database; a graph is an edge list or Matrix Market"sv}};
    for (const form& of : forms)
        if (lines.begins_with(of.magic)) throw invalid_input(lines.name(), 0, of.words);
}

}  // namespace

named_graph read_graph(byte_source& source, const graph_options& options, const context& ctx) {
    text_blocks lines(source, ctx);
    if (is_matrix(lines, options.format)) return read_matrix_graph(lines, options, ctx);
    refuse_binary(lines);
    edge_reader reader(options, ctx);
    reader.read(lines);
    return reader.finish();
}

named_graph read_graph(std::span<const std::filesystem::path> paths, const graph_options& options,
                       const context& ctx) {
    if (paths.size() == 1) return read_graph(*open_bytes(paths[0], ctx), options, ctx);
    edge_reader reader(options, ctx);
    for (const auto& path : paths) {
        const auto source = open_bytes(path, ctx);
        text_blocks lines(*source, ctx);
        if (is_matrix(lines, options.format)) {
            throw usage_error(source->name() + ": a Matrix Market file must be the only input");
        }
        refuse_binary(lines);
        reader.read(lines);
    }
    return reader.finish();
}

}  // namespace quern::io
