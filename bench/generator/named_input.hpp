// SPDX-License-Identifier: Apache-2.0
// Resolves a benchmark's argument: a generator or a file.
#pragma once

#include <filesystem>
#include <string>

#include "generator/paper_matrices.hpp"
#include "io/graph/read_graph.hpp"
#include "quern/base/context.hpp"

namespace quern::generator {

/// "kronecker-SCALE" (16 links a node, without repeats and loops), the name of a twin, or else a file of links.
inline graph graph_called(const std::string& name, const context& ctx) {
    constexpr std::string_view kronecker = "kronecker-";
    if (name.starts_with(kronecker)) {
        const auto scale = static_cast<unsigned>(std::stoul(name.substr(kronecker.size())));
        return simple(make_kronecker({.scale = scale, .links = std::uint64_t{16} << scale}));
    }
    for (const paper_graph& twin : paper_graphs())
        if (twin.name == name) return make_paper_graph(name);
    const std::filesystem::path path = name;
    const io::named_graph read = io::read_graph({&path, 1}, {}, ctx);
    return {read.nodes(), {read.links().begin(), read.links().end()}};
}

}  // namespace quern::generator
