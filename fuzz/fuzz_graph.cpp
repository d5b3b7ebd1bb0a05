// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a graph, a matrix and a vector. Accepted input satisfies its invariants; and a graph written as a list
// of its names reads as the same graph.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "io/graph/read_graph.hpp"
#include "io/matrix/read_matrix.hpp"
#include "quern/base/error.hpp"

namespace {

using namespace quern;

void require(bool holds) {
    if (!holds) std::abort();
}

context small_context() {
    context ctx = context::cpu(1);
    ctx.memory_bytes = std::uint64_t{1} << 24;  // wrong sizes would request more
    return ctx;
}

/// The result of `read` for the text; nothing if it is rejected with the expected error.
template <class Read>
auto read_or_empty(std::string_view text, const Read& read)
    -> decltype(read(std::declval<io::byte_source&>())) {
    try {
        return read(*io::open_bytes_memory(text, "input", small_context()));
    } catch (const invalid_input& refused) {
        require(!refused.reason().empty());
    } catch (const out_of_memory&) {
    }
    return {};
}

io::named_graph graph_of(std::string_view text, const io::graph_options& options) {
    return read_or_empty(
        text, [&](io::byte_source& source) { return read_graph(source, options, small_context()); });
}

void check(const io::named_graph& graph, bool weighted) {
    require(graph.weights().size() == (weighted ? graph.links().size() : 0));
    for (const quern::link each : graph.links()) require(std::max(each.from, each.to) < graph.nodes());
    for (const double weight : graph.weights()) require(weight > 0 && weight < HUGE_VAL);
    for (std::uint32_t node = 0; node < std::min(graph.nodes(), 1000u); ++node)
        require(graph.node_of(graph.name_of(node)) == node);
}

std::string written(const io::named_graph& graph) {
    std::string text = "# so that a name is not the first, whose byte order mark would be none of it\n";
    for (std::size_t i = 0; i < graph.links().size(); ++i) {
        text += graph.name_of(graph.links()[i].from) + "\t" + graph.name_of(graph.links()[i].to);
        if (!graph.weights().empty()) {
            char weight[40];
            std::snprintf(weight, sizeof weight, "\t%.17g", graph.weights()[i]);
            text += weight;
        }
        text += "\n";
    }
    return text;
}

void require_same(const io::named_graph& one, const io::named_graph& other) {
    require(one.nodes() == other.nodes());
    require(std::ranges::equal(one.links(), other.links()) &&
            std::ranges::equal(one.weights(), other.weights()));
    for (std::uint32_t node = 0; node < one.nodes(); ++node)
        require(one.name_of(node) == other.name_of(node));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const bool weighted : {false, true}) {
        check(graph_of(text, {.weighted = weighted}), weighted);
        const io::graph_options as_list{.format = io::graph_format::edge_list, .weighted = weighted};
        const io::named_graph graph = graph_of(text, as_list);
        check(graph, weighted);
        require_same(graph, graph_of(written(graph), as_list));
    }
    const auto matrix =
        read_or_empty(text, [](io::byte_source& source) { return read_matrix(source, small_context()); });
    if (!matrix.offsets.empty()) {
        require(matrix.offsets.size() == std::uint64_t{matrix.rows} + 1 && matrix.offsets[0] == 0);
        require(std::ranges::is_sorted(matrix.offsets.span()));
        require(matrix.offsets[matrix.rows] == matrix.column.size() &&
                matrix.column.size() == matrix.value.size());
        for (const std::uint32_t column : matrix.column.span()) require(column < matrix.columns);
    }
    read_or_empty(text, [](io::byte_source& source) { return read_vector(source, small_context()); });
    return 0;
}
