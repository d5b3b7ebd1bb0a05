// SPDX-License-Identifier: Apache-2.0
#include "tasks/links/input_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/grouped.hpp"
#include "io/byte_source.hpp"
#include "io/graph/read_graph.hpp"
#include "io/lines/numbers.hpp"
#include "ops/link_rank/links_by_source.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {
namespace {

std::string text_of(const std::filesystem::path& path, const context& ctx) {
    const auto source = io::open_bytes(path, ctx);
    std::string text;
    for (std::size_t filled = 0;;) {
        text.resize(filled + (std::size_t{1} << 20));
        const std::size_t bytes_read = source->read(std::span(text).subspan(filled));
        filled += bytes_read;
        if (filled > ctx.memory_limit() / 4)
            throw out_of_memory(path.string(), filled, ctx.memory_limit() / 4);
        if (bytes_read == 0) {
            text.resize(filled);
            return text;
        }
    }
}

std::uint64_t bytes_in(const link_graph& graph) {
    const auto bytes = [](const auto& values) { return std::span(values).size_bytes(); };
    return bytes(graph.offsets) + bytes(graph.sources) + bytes(graph.weights) + bytes(graph.out_degrees);
}

/// The memory of a graph while its links are sorted.
std::uint64_t sorting_bytes(std::uint64_t links, std::uint64_t nodes, bool weighted) {
    return links * (weighted ? 44 : 20) + nodes * 16;
}

/// The peak memory of a graph: while its links are sorted, or, with few links, while its nodes are ranked.
std::uint64_t graph_bytes(std::uint64_t links, std::uint64_t nodes, bool weighted, const context& ctx) {
    constexpr std::uint64_t for_each_thread = std::uint64_t{2} << 20;
    return std::max(sorting_bytes(links, nodes, weighted), links * (weighted ? 16 : 8) + nodes * 100) +
           for_each_thread * ctx.thread_count();
}

/// Memory ran out while a file was read: reports an estimate for the whole, extrapolated from the part read.
[[noreturn]] void report_whole(const io::byte_source& source, std::uint64_t links_read, bool weighted,
                               const context& ctx) {
    const std::uint64_t limit = ctx.memory_limit();
    const double times = static_cast<double>(source.size()) /
                         static_cast<double>(std::max<std::uint64_t>(1, source.consumed()));
    const auto links = static_cast<std::uint64_t>(times * static_cast<double>(links_read));
    const auto like_so_far = static_cast<std::uint64_t>(std::max(1.0, times) * static_cast<double>(limit));
    throw out_of_memory(fmt::format("{}: a graph of about {} links", source.name(), grouped(links)),
                        std::max(graph_bytes(links, 0, weighted, ctx), like_so_far), limit);
}

[[noreturn]] void report_whole(const std::string& name, std::uint64_t links, std::uint64_t nodes,
                               std::uint64_t needed, const context& ctx) {
    const std::uint64_t limit = ctx.memory_limit();
    throw out_of_memory(
        fmt::format("{}: a graph of {} links and {} nodes", name, grouped(links), grouped(nodes)),
        std::max(needed, limit + 1), limit);
}

[[noreturn]] void report_whole(const std::string& name, const io::named_graph& graph, const context& ctx) {
    const std::uint64_t links = graph.links().size(), nodes = graph.nodes();
    const bool weighted = !graph.weights().empty();
    report_whole(name, links, nodes, graph.names.bytes_held() + graph_bytes(links, nodes, weighted, ctx),
                 ctx);
}

input_graph from_file(const std::filesystem::path& path, std::string_view input_format, bool weighted,
                      const context& ctx, stage_clock& clock) {
    io::graph_options options;
    options.weighted = weighted;
    if (input_format == "edges") options.format = io::graph_format::edge_list;
    if (input_format == "matrix-market") options.format = io::graph_format::matrix_market;
    const auto source = io::open_bytes(path, ctx);
    std::uint64_t links_read = 0;
    options.links_read = &links_read;
    options.on_size = [&](std::uint64_t links, std::uint64_t nodes) {
        if (sorting_bytes(links, nodes, weighted) > ctx.memory_limit())
            report_whole(path.string(), links, nodes, graph_bytes(links, nodes, weighted, ctx), ctx);
    };
    std::shared_ptr<io::named_graph> read;
    try {
        read = std::make_shared<io::named_graph>(io::read_graph(*source, options, ctx));
    } catch (const out_of_memory&) {
        if (links_read == 0 || source->size() == 0) throw;  // no basis for an estimate
        report_whole(*source, links_read, weighted, ctx);
    }
    input_graph result;
    result.input_bytes = source->consumed();
    clock.end_stage("read", result.input_bytes);
    ctx.report({"graph", 0, 0, "links"});
    const std::uint64_t names = read->names.bytes_held();
    const std::uint64_t held = names + read->links().size_bytes() + read->weights().size_bytes();
    try {
        result.graph = make_link_graph(read->nodes(), read->links(), read->weights(),
                                       with_remaining_memory(ctx, held, "the links of a graph"));
    } catch (const out_of_memory&) {
        report_whole(path.string(), *read, ctx);
    }
    clock.end_stage("graph", 0);
    read->link_list = {};
    read->weight_list = {};
    take_names(read, result);
    return result;
}

input_graph from_store(const std::filesystem::path& path, const context& ctx, stage_clock& clock) {
    auto store = std::make_shared<opened_store>(open_store(path));
    for_each_link(*store, [](link) {});  // checks them
    const auto documents = static_cast<std::uint32_t>(store->info().documents);
    const auto [ends, targets] = store->links();
    input_graph result;
    result.input_bytes = store->info().links * sizeof(std::uint32_t);
    clock.end_stage("read", result.input_bytes);
    result.graph = link_rank_detail::graph_of_sorted_links(
        ends.values<std::uint64_t>(0, documents), targets.values<std::uint32_t>(0, store->info().links), ctx);
    clock.end_stage("graph", 0);
    result.bytes_held = bytes_in(result.graph);
    result.name_of = [store](std::uint32_t node) { return std::string(store->id(node)); };
    using id_map = std::unordered_map<std::string_view, std::uint32_t>;
    result.node_of = [store, documents, ids = std::make_shared<id_map>()](
                         std::string_view name) -> std::optional<std::uint32_t> {
        if (ids->empty()) {
            for (std::uint32_t node = 0; node < documents; ++node) ids->emplace(store->id(node), node);
        }
        const auto at = ids->find(name);
        return at == ids->end() ? std::nullopt : std::optional(at->second);
    };
    return result;
}

}  // namespace

void take_names(const std::shared_ptr<const io::named_graph>& names, input_graph& made) {
    made.bytes_held = names->names.bytes_held() + bytes_in(made.graph);
    made.ids_are_integers = names->names.are_integers();
    made.name_of = [names](std::uint32_t node) { return names->name_of(node); };
    made.node_of = [names](std::string_view name) { return names->node_of(name); };
}

input_graph read_input_graph(const std::filesystem::path& path, std::string_view input_format, bool weighted,
                             const context& ctx, run_statistics& statistics) {
    stage_clock clock(statistics);
    if (!is_store(path)) return from_file(path, input_format, weighted, ctx, clock);
    if (weighted) throw usage_error("the links of a store have no weights");
    if (!input_format.empty())
        throw usage_error("an input format applies to files, but " + path.string() + " is a store");
    return from_store(path, ctx, clock);
}

std::vector<double> read_node_numbers(
    const std::filesystem::path& path, const input_graph& nodes,
    const std::function<void(std::string_view id, std::uint64_t line)>& unknown, const context& ctx) {
    const std::string text = text_of(path, ctx);
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
                refuse("'" + std::string(field) + "' is not a finite number of at least 0");
            }
        }
        const auto node = nodes.node_of(id);
        if (!node) {
            unknown(id, number_of_line);
            continue;
        }
        if (seen[*node]) refuse("'" + std::string(id) + "' is repeated");
        seen[*node] = true;
        numbers[*node] = value;
        any |= value > 0;
    }
    if (!any) throw invalid_input(path.string(), 0, "has no node with a number above 0");
    return numbers;
}

}  // namespace quern
