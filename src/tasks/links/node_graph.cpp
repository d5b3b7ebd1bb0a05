// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "io/graph/graph_of_ids.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/graph.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"

namespace quern {

struct node_graph::state {
    input_graph graph;
};

node_graph::node_graph(std::shared_ptr<const state> made) : state_(std::move(made)) {}
link_graph_view node_graph::links() const {
    return state_->graph.graph.view();
}
std::string node_graph::id_of(std::uint32_t node) const {
    return state_->graph.name_of(node);
}
std::optional<std::uint32_t> node_graph::node_of(std::string_view id) const {
    return state_->graph.node_of(id);
}
bool node_graph::ids_are_integers() const {
    return state_->graph.ids_are_integers;
}
std::uint64_t node_graph::bytes_held() const {
    return state_->graph.bytes_held;
}

namespace {

template <class Id>
node_graph made_of_ids(std::span<const Id> from, std::span<const Id> to, std::span<const double> weights,
                       const context& ctx) {
    if (from.size() != to.size()) {
        throw usage_error(std::to_string(from.size()) + " sources and " + std::to_string(to.size()) +
                          " targets of links (expected as many)");
    }
    auto numbered = std::make_shared<io::named_graph>(io::graph_of_ids(from, to, ctx));
    const std::uint64_t held = numbered->names.bytes_held() + numbered->links().size_bytes();
    input_graph made;
    made.graph = make_link_graph(numbered->nodes(), numbered->links(), weights,
                                 with_remaining_memory(ctx, held, "the links of a graph"));
    numbered->link_list = {};
    take_names(numbered, made);
    return node_graph(std::make_shared<const node_graph::state>(node_graph::state{std::move(made)}));
}

}  // namespace

node_graph open_graph(const std::filesystem::path& path, std::string_view input_format, bool weighted,
                      const context& ctx) {
    run_statistics statistics;
    return node_graph(std::make_shared<const node_graph::state>(
        node_graph::state{read_input_graph(path, input_format, weighted, ctx, statistics)}));
}

node_graph graph_of_ids(std::span<const std::uint32_t> from, std::span<const std::uint32_t> to,
                        std::span<const double> weights, const context& ctx) {
    return made_of_ids(from, to, weights, ctx);
}
node_graph graph_of_ids(std::span<const std::uint64_t> from, std::span<const std::uint64_t> to,
                        std::span<const double> weights, const context& ctx) {
    return made_of_ids(from, to, weights, ctx);
}
node_graph graph_of_ids(std::span<const std::string_view> from, std::span<const std::string_view> to,
                        std::span<const double> weights, const context& ctx) {
    return made_of_ids(from, to, weights, ctx);
}

}  // namespace quern
