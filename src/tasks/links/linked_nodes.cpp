// SPDX-License-Identifier: Apache-2.0
#include "tasks/links/linked_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "io/byte_source.hpp"
#include "io/graph/read_graph.hpp"
#include "io/numbers.hpp"
#include "ops/link_rank/links_by_source.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/links/stored_links.hpp"
#include "tasks/memory_left.hpp"
#include "tasks/stage_clock.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

std::string text_of(const std::filesystem::path& path, const context& run) {
    const auto source = io::open_bytes(path, run);
    std::string text;
    for (std::size_t filled = 0;;) {
        text.resize(filled + (std::size_t{1} << 20));
        const std::size_t got = source->read(std::span(text).subspan(filled));
        filled += got;
        if (filled > run.memory_limit() / 4)
            throw out_of_memory(path.string(), filled, run.memory_limit() / 4);
        if (got == 0) {
            text.resize(filled);
            return text;
        }
    }
}

std::uint64_t bytes_in(const link_graph& graph) {
    const auto bytes = [](const auto& values) { return std::span(values).size_bytes(); };
    return bytes(graph.offsets) + bytes(graph.sources) + bytes(graph.weights) + bytes(graph.out_degrees);
}

linked_nodes from_file(const std::filesystem::path& path, std::string_view input_format, bool weighted,
                       const context& run, stage_clock& clock) {
    io::graph_options options;
    options.weighted = weighted;
    if (input_format == "edges") options.format = io::graph_format::edge_list;
    if (input_format == "matrix-market") options.format = io::graph_format::matrix_market;
    const auto source = io::open_bytes(path, run);
    auto read = std::make_shared<io::named_graph>(io::read_graph(*source, options, run));
    linked_nodes made;
    made.input_bytes = source->consumed();
    clock.end_stage("read", made.input_bytes);
    const std::uint64_t names = read->names.bytes_held();
    const std::uint64_t held = names + read->links().size_bytes() + read->weights().size_bytes();
    made.graph = make_link_graph(read->nodes(), read->links(), read->weights(),
                                 with_memory_left(run, held, "the links of a graph"));
    clock.end_stage("graph", 0);
    read->link_list = {};
    read->weight_list = {};
    made.bytes_held = names + bytes_in(made.graph);
    made.name_of = [read](std::uint32_t node) { return read->name_of(node); };
    made.node_of = [read](std::string_view name) { return read->node_of(name); };
    return made;
}

linked_nodes from_store(const std::filesystem::path& path, const context& run, stage_clock& clock) {
    auto store = std::make_shared<opened_store>(open_store(path));
    for_each_link(*store, [](link) {});  // checks them
    const auto documents = static_cast<std::uint32_t>(store->info().documents);
    const auto [ends, targets] = store->links();
    linked_nodes made;
    made.input_bytes = store->info().links * sizeof(std::uint32_t);
    clock.end_stage("read", made.input_bytes);
    made.graph = link_rank_detail::graph_of_sorted_links(
        ends.values<std::uint64_t>(0, documents), targets.values<std::uint32_t>(0, store->info().links), run);
    clock.end_stage("graph", 0);
    made.bytes_held = bytes_in(made.graph);
    made.name_of = [store](std::uint32_t node) { return std::string(store->id(node)); };
    using id_map = std::unordered_map<std::string_view, std::uint32_t>;
    made.node_of = [store, documents,
                    ids = std::make_shared<id_map>()](std::string_view name) -> std::optional<std::uint32_t> {
        if (ids->empty()) {
            for (std::uint32_t node = 0; node < documents; ++node) ids->emplace(store->id(node), node);
        }
        const auto at = ids->find(name);
        return at == ids->end() ? std::nullopt : std::optional(at->second);
    };
    return made;
}

}  // namespace

linked_nodes read_linked_nodes(const std::filesystem::path& path, std::string_view input_format,
                               bool weighted, const context& run, run_statistics& statistics) {
    stage_clock clock(statistics);
    if (!is_store(path)) return from_file(path, input_format, weighted, run, clock);
    if (weighted) throw usage_error("the links of a store have no weights");
    if (!input_format.empty())
        throw usage_error("an input format is for files, and " + path.string() + " is a store");
    return from_store(path, run, clock);
}

std::vector<double> read_node_numbers(
    const std::filesystem::path& path, const linked_nodes& nodes,
    const std::function<void(std::string_view id, std::uint64_t line)>& unknown, const context& run) {
    const std::string text = text_of(path, run);
    std::vector<double> numbers(nodes.graph.nodes, 0);
    std::vector<bool> seen(nodes.graph.nodes, false);
    std::uint64_t number_of_line = 0;
    bool any = false;
    std::string_view rest = text;
    if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        ++number_of_line;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const auto refuse = [&](const std::string& reason) {
            throw invalid_input(path.string(), number_of_line, reason);
        };
        const std::size_t tab = line.find('\t');
        const std::string_view id = line.substr(0, tab);
        double value = 1;
        if (tab != std::string_view::npos) {
            const std::string_view field = line.substr(tab + 1);
            const io::parsed_number number = io::parse_double(field);
            value = number.value;
            if (number.problem == io::number_problem::not_a_number) {
                refuse("'" + std::string(field) + "' is not a number");
            }
            if (number.problem != io::number_problem::none || !std::isfinite(value) || value < 0) {
                refuse("'" + std::string(field) + "' is not a finite number of 0 or more");
            }
        }
        const auto node = nodes.node_of(id);
        if (!node) {
            unknown(id, number_of_line);
            continue;
        }
        if (seen[*node]) refuse("'" + std::string(id) + "' comes twice");
        seen[*node] = true;
        numbers[*node] = value;
        any |= value > 0;
    }
    if (!any) throw invalid_input(path.string(), 0, "names no node with a number above 0");
    return numbers;
}

}  // namespace quern
