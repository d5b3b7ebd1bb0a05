// SPDX-License-Identifier: Apache-2.0
// Graphs and matrices from texts, for tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/graph/read_graph.hpp"
#include "io/matrix/read_matrix.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

inline named_graph graph_of(std::string_view text, const graph_options& options = {}, unsigned threads = 3) {
    const context ctx = context::cpu(threads);
    return read_graph(*open_bytes_memory(text, "sample", ctx), options, ctx);
}
inline matrix_rows matrix_of(std::string_view text, unsigned threads = 3) {
    const context ctx = context::cpu(threads);
    return read_matrix(*open_bytes_memory(text, "sample", ctx), ctx);
}

/// "from>to" with names, in the order of the list; with weights "from>to=weight".
inline std::vector<std::string> shown(const named_graph& graph) {
    std::vector<std::string> links;
    for (std::size_t i = 0; i < graph.links().size(); ++i) {
        std::string text = graph.name_of(graph.links()[i].from) + ">" + graph.name_of(graph.links()[i].to);
        if (!graph.weights().empty()) {
            char weight[32];
            std::snprintf(weight, sizeof weight, "=%.17g", graph.weights()[i]);
            text += weight;
        }
        links.push_back(text);
    }
    return links;
}
inline std::vector<std::string> names(const named_graph& graph) {
    std::vector<std::string> all;
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) all.push_back(graph.name_of(node));
    return all;
}

/// The error message of reading; "read" if there is none.
template <class Read>
std::string said_by(const Read& read) {
    try {
        read();
    } catch (const error& refused) {
        return refused.what();
    }
    return "read";
}

}  // namespace quern::io
