// SPDX-License-Identifier: Apache-2.0
// quern.Graph: PageRank and HITS of links in arrays, files and stores.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "errors.hpp"
#include "kept_run.hpp"
#include "link_arrays.hpp"
#include "link_ranks.hpp"
#include "module.hpp"
#include "node_ids.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/ops/link_rank_option_table.hpp"
#include "quern/tasks/graph.hpp"
#include "quern/tasks/link_rank_option_table.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct make_call : call {
    bool weighted = false;
    std::string input_format;
};
struct rank_call : call {
    page_rank_options options;
    nb::object personalize = nb::none(), warm = nb::none();
};
struct hits_call : call {
    hits_options options;
};

const parameters<call> edge_parameters = parameters<call>("from_edges").common();
const parameters<make_call> matrix_parameters =
    parameters<make_call>("from_scipy")
        .add({"weighted", "bool", "False",
              "The values of the matrix are weights of links; positive and finite."},
             [](make_call& requested, nb::handle given) { requested.weighted = bool_of("weighted", given); })
        .common();
const parameters<make_call> file_parameters =
    parameters<make_call>("from_file")
        .add({"weighted", "bool", "False", std::string(option_of<link_rank_options>("weighted").help)},
             [](make_call& requested, nb::handle given) { requested.weighted = bool_of("weighted", given); })
        .add({"input_format", "Literal['edges', 'matrix-market'] | None", "None",
              "edges or matrix-market. Default: detected from the content."},
             [](make_call& requested, nb::handle given) {
                 const auto& row = option_of<link_rank_options>("input_format");
                 requested.input_format = std::get<std::string>(value_of(row, given));
             })
        .common();

constexpr const char* node_numbers_help =
    "a dict of id and weight, a Series of pandas with the ids as its index, a list of ids (weight 1 each), "
    "or "
    "an array of float64, one per node; at least 0, finite and not all 0";
const parameters<rank_call> rank_parameters =
    parameters<rank_call>("pagerank")
        .table<&rank_call::options>()
        .add({"personalize", "Mapping[int | str, float] | Sequence[int | str] | object | None", "None",
              std::string("Teleport to these nodes only: ") + node_numbers_help +
                  ". An id that is not a node is an error."},
             [](rank_call& requested, nb::handle given) { requested.personalize = nb::borrow(given); })
        .add({"warm", "Mapping[int | str, float] | Sequence[int | str] | object | None", "None",
              std::string("Start from these ranks, such as those of an earlier result: ") +
                  node_numbers_help + ". Ids that the graph lacks are ignored."},
             [](rank_call& requested, nb::handle given) { requested.warm = nb::borrow(given); })
        .common();
const parameters<hits_call> hits_parameters =
    parameters<hits_call>("hits").table<&hits_call::options>().common();

class python_graph {
  public:
    explicit python_graph(node_graph graph)
        : ids_(std::make_shared<graph_ids>(graph)), read_(std::move(graph)) {}
    python_graph(link_graph graph, std::shared_ptr<const node_ids> ids)
        : ids_(std::move(ids)), own_(std::move(graph)) {}

    link_graph_view links() const { return read_ ? read_->links() : own_.view(); }
    const std::shared_ptr<const node_ids>& ids() const { return ids_; }

    /// work(graph) on the links as the last call left them, of at most so many steps.
    template <class Work>
    void call(const run_options& options, std::uint32_t steps, const Work& work) const {
        const bool is_short = links().sources.size() <= short_work && steps <= short_steps;
        kept_.call(
            options, {}, is_short, [&](const context& ctx) { return resident_graph(links(), ctx); }, work);
    }
    kept_object<resident_graph>& kept() const { return kept_; }

  private:
    static constexpr std::uint64_t short_work = std::uint64_t{1} << 14;  ///< links: some milliseconds
    static constexpr std::uint32_t short_steps = 1000;

    std::shared_ptr<const node_ids> ids_;
    std::optional<node_graph> read_;
    link_graph own_;
    mutable kept_object<resident_graph> kept_{"a call of this graph"};  ///< ends before the links
};

std::unique_ptr<python_graph> from_arrays(nb::handle src, nb::handle dst, nb::handle weights, nb::handle ids,
                                          nb::handle nodes, const call& requested) {
    host_array weight_array;
    std::vector<double> widened_weights;
    std::span<const double> weight_values;
    const bool weighted = !weights.is_none();
    if (weighted)
        weight_values = weights_of(list_as_array(weights), weight_array, widened_weights, "weights");
    if (has_texts(src) || has_texts(dst)) {
        if (!ids.is_none() || !nodes.is_none())
            refuse("ids, nodes: links between names bring their nodes (expected src and dst as positions)");
        std::vector<nb::object> kept;
        const auto from = texts_of(src, kept, "src"), to = texts_of(dst, kept, "dst");
        check_as_many(from.size(), to.size(), weight_values.size(), weighted);
        return std::make_unique<python_graph>(run_for(
            requested.run, [&](const context& ctx) { return graph_of_ids(from, to, weight_values, ctx); }));
    }
    ends from, to;
    from.read(src, "src");
    to.read(dst, "dst");
    check_as_many(from.size(), to.size(), weight_values.size(), weighted);
    if (ids.is_none() && nodes.is_none()) {
        return std::make_unique<python_graph>(run_for(requested.run, [&](const context& ctx) {
            if (from.is_narrow() && to.is_narrow())
                return graph_of_ids(from.narrow, to.narrow, weight_values, ctx);
            return graph_of_ids(from.widen(), to.widen(), weight_values, ctx);
        }));
    }
    std::shared_ptr<const node_ids> names;
    std::uint32_t count = 0;
    if (!ids.is_none()) {
        std::vector<std::string> texts;
        bool integers = true;
        for (const nb::handle id : nb::borrow<nb::object>(ids)) {
            integers = integers && !nb::isinstance<nb::str>(id);
            texts.push_back(text_of_id(id));
            std::uint64_t number = 0;
            const char* const end = texts.back().data() + texts.back().size();
            const auto read = std::from_chars(texts.back().data(), end, number);
            integers = integers && read.ec == std::errc() && read.ptr == end;
        }
        count = count_of_nodes(texts.size(), "ids");
        if (!nodes.is_none() && whole_of("nodes", nodes) != count)
            refuse("nodes: invalid value " + std::to_string(whole_of("nodes", nodes)) + " (expected " +
                   std::to_string(count) + ", the number of ids)");
        names = std::make_shared<listed_ids>(std::move(texts), integers);
    } else {
        count = count_of_nodes(whole_of("nodes", nodes), "nodes");
        names = std::make_shared<position_ids>(count);
    }
    link_graph graph = run_for(requested.run, [&](const context& ctx) {
        return numbered_graph(from, to, weight_values, count, ctx);
    });
    return std::make_unique<python_graph>(std::move(graph), std::move(names));
}

std::unique_ptr<python_graph> from_scipy(nb::handle given, const nb::kwargs& options) {
    const make_call requested = matrix_parameters.read(options);
    nb::object matrix = nb::borrow(given);
    if (!is_compressed_rows(matrix) ||
        (nb::hasattr(matrix, "format") && member_text(matrix, "format") != "csr")) {
        if (!nb::hasattr(matrix, "tocsr"))
            refuse_type("matrix",
                        "a sparse matrix of scipy, or an object with indptr, indices, data and shape",
                        nb::cast<std::string>(nb::type_name(given.type())));
        matrix = matrix.attr("tocsr")();
    }
    const auto [rows, columns] = shape_of(matrix, "matrix");
    if (rows != columns)
        refuse("matrix: " + std::to_string(rows) + " rows and " + std::to_string(columns) +
               " columns (the matrix of a graph has as many of each)");
    const std::uint32_t nodes = count_of_nodes(rows, "matrix");
    ends targets;
    targets.read(matrix.attr("indices"), "matrix.indices");
    host_array offset_array = read_array(matrix.attr("indptr"), "matrix.indptr");
    std::vector<std::uint64_t> widened;
    const auto offsets = whole_numbers_of(offset_array, widened, "matrix.indptr");
    const bool rises = offsets.size() == rows + 1 && std::ranges::is_sorted(offsets) &&
                       offsets.front() == 0 && offsets.back() == targets.size();
    if (!rises)
        refuse("matrix.indptr: does not ascend from 0 to the number of entries, " +
               std::to_string(targets.size()));
    host_array weight_array;
    std::vector<double> widened_weights;
    std::span<const double> weights;
    if (requested.weighted) {
        weights = weights_of(matrix.attr("data"), weight_array, widened_weights, "matrix.data");
        check_as_many(targets.size(), targets.size(), weights.size(), true);
    }
    link_graph graph = run_for(requested.run, [&](const context& ctx) {
        ends sources;
        sources.widened.resize(targets.size());
        for (std::uint64_t row = 0; row < rows; ++row)
            std::fill(sources.widened.begin() + static_cast<std::ptrdiff_t>(offsets[row]),
                      sources.widened.begin() + static_cast<std::ptrdiff_t>(offsets[row + 1]), row);
        sources.wide = sources.widened;
        return numbered_graph(sources, targets, weights, nodes, ctx);
    });
    return std::make_unique<python_graph>(std::move(graph), std::make_shared<position_ids>(nodes));
}

/// Values by node, from a dict, a list of ids or an array.
std::vector<double> node_numbers(const python_graph& graph, nb::handle given, std::string_view name,
                                 bool ignores_unknown) {
    const std::uint32_t nodes = graph.links().nodes;
    std::vector<double> numbers;
    const bool is_list =
        nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given) || nb::isinstance<nb::set>(given);
    // A Series of pandas is a mapping of its index to its values, too.
    const bool is_dict = !is_list && nb::hasattr(given, "items") && nb::hasattr(given, "keys") &&
                         (!nb::hasattr(given, "__array__") || nb::hasattr(given, "index"));
    const bool is_column = !is_list && !is_dict && has_texts(given);
    if (is_list || is_dict || is_column) {
        numbers.resize(nodes, 0);
        std::vector<bool> seen(nodes, false);
        const auto set = [&](nb::handle id, double value) {
            const std::string text = text_of_id(id);
            const auto node = graph.ids()->node_of(text);
            if (!node) {
                if (ignores_unknown) return;
                refuse(std::string(name) + ": '" + text + "' is not a node of the graph");
            }
            if (seen[*node]) refuse(std::string(name) + ": '" + text + "' is repeated");
            seen[*node] = true;
            numbers[*node] = value;
        };
        if (is_list || is_column)
            for (const nb::handle id : is_column ? listed(given) : nb::borrow(given)) set(id, 1);
        else
            for (const nb::handle item : given.attr("items")()) set(item[0], number_of(name, item[1]));
    } else {
        host_array array;
        std::vector<double> widened;
        const auto values = weights_of(given, array, widened, name);
        if (values.size() != nodes)
            refuse(std::string(name) + ": " + std::to_string(values.size()) + " values for " +
                   std::to_string(nodes) + " nodes (expected one for each; give ids as a list, x.tolist())");
        numbers.assign(values.begin(), values.end());
    }
    bool any = false;
    for (std::size_t node = 0; node < numbers.size(); ++node) {
        if (!std::isfinite(numbers[node]) || numbers[node] < 0)
            refuse(std::string(name) + ": the value of node " +
                   graph.ids()->text(static_cast<std::uint32_t>(node)) + " is " + shortest(numbers[node]) +
                   " (expected a finite number of at least 0)");
        any = any || numbers[node] > 0;
    }
    if (!any && nodes != 0) refuse(std::string(name) + ": no node has a number above 0");
    return numbers;
}

python_ranks page_rank_of(const python_graph& graph, const nb::kwargs& given) {
    rank_call requested = rank_parameters.read(given);
    std::vector<double> preference, start;
    if (!requested.personalize.is_none()) {
        preference = node_numbers(graph, requested.personalize, "personalize", false);
        requested.options.preference = preference;
    }
    if (!requested.warm.is_none()) {
        start = node_numbers(graph, requested.warm, "warm", true);
        requested.options.start = start;
    }
    link_ranks found;
    graph.call(requested.run, requested.options.max_iterations,
               [&](resident_graph& links) { found = links.page_rank(requested.options); });
    return result_of(graph.ids(), std::move(found));
}

python_ranks hits_of(const python_graph& graph, const nb::kwargs& given) {
    const hits_call requested = hits_parameters.read(given);
    hits_scores found;
    graph.call(requested.run, requested.options.max_iterations,
               [&](resident_graph& links) { found = links.hits(requested.options); });
    python_ranks made = result_of(graph.ids(), std::move(found.authorities));
    made.hubs = std::make_shared<const std::vector<double>>(std::move(found.hubs.ranks));
    return made;
}

}  // namespace

void declare_graph(nb::module_& module) {
    declare_ranks(module);
    nb::class_<python_graph>(module, "Graph", R"(A graph of links between nodes, for PageRank and HITS.

Made by Graph.from_edges, from_scipy, from_networkx and from_file. Nodes are numbered from 0 in the order that breaks ties.
A link that occurs twice counts twice; a link from a node to itself is kept.

>>> import quern
>>> graph = quern.Graph.from_edges(["a", "a", "b"], ["b", "c", "c"])
>>> ranks = graph.pagerank()
>>> ranks.table["id"], ranks.converged
(['c', 'b', 'a'], True))")
        .def(
            "__init__",
            [](nb::handle, const nb::args&, const nb::kwargs&) {
                throw nb::type_error(
                    "a graph is made by Graph.from_edges, from_scipy, from_networkx or from_file");
            },
            nb::sig("def __init__(self, *args: object, **options: object) -> None"))
        .def_static(
            "from_edges",
            [](const nb::object& src, const nb::object& dst, const nb::object& weights, const nb::object& ids,
               const nb::object& nodes, const nb::kwargs& options) {
                const call requested = edge_parameters.read(options);
                if (!dst.is_none()) return from_arrays(src, dst, weights, ids, nodes, requested);
                const nb::object columns = nb::module_::import_("quern._graphs").attr("columns_of")(src);
                const bool own_weights = nb::len(columns) > 2 && weights.is_none();
                return from_arrays(columns[0], columns[1], own_weights ? nb::object(columns[2]) : weights,
                                   ids, nodes, requested);
            },
            nb::arg("src").none(), nb::arg("dst").none() = nb::none(), nb::arg("weights").none() = nb::none(),
            nb::arg("ids").none() = nb::none(), nb::arg("nodes").none() = nb::none(), nb::arg("options"),
            nb::sig(edge_parameters.signature(
                "src: object, dst: object | None = None, weights: object | None = None, "
                "ids: Sequence[int | str] | None = None, nodes: int | None = None",
                "Graph")),
            edge_parameters.doc(R"(A graph of links from src[i] to dst[i].

src, dst: arrays of whole numbers, without a copy if they are contiguous; or texts, in a list or a column. Without `dst`, a
frame (pandas, polars, an Arrow table) of two columns, or of three with weights, or a list of such tuples.
weights: one per link, positive and finite.
The nodes are the ids that occur, in rising order: as numbers if all ids are integers, else by bytes, as the program reads
them from a file. With nodes=N, src and dst are numbers below N, and all N nodes exist. With ids=[…], they are positions in
this list, whose order breaks ties.

Raises UsageError with the number of the link for an end of `nodes` or more, a negative id, or an invalid weight; TypeError
for other types. Memory: 20 bytes a link (44 with weights) and 16 a node at the peak, less than half of it afterwards.

>>> import numpy, quern
>>> graph = quern.Graph.from_edges(numpy.array([5, 7]), numpy.array([7, 5]), nodes=9)
>>> graph.nodes, graph.links
(9, 2))"))
        .def_static(
            "from_scipy",
            [](const nb::object& matrix, const nb::kwargs& options) { return from_scipy(matrix, options); },
            nb::arg("matrix").none(), nb::arg("options"),
            nb::sig(matrix_parameters.signature("matrix: object", "Graph")),
            matrix_parameters.doc(R"(A graph of a square sparse matrix: entry (i, j) is the link from i to j.

matrix: scipy's, or an object with indptr, indices, data and shape; other formats become CSR by their method tocsr(). Every
stored entry is a link, zeros too. Ids are the row numbers, from 0, and all nodes exist. Raises as from_edges does.)"))
        .def_static(
            "from_file",
            [](const nb::object& path, const nb::kwargs& options) {
                const make_call requested = file_parameters.read(options);
                const std::filesystem::path name = text_of("path", path);
                return std::make_unique<python_graph>(run_for(requested.run, [&](const context& ctx) {
                    return open_graph(name, requested.input_format, requested.weighted, ctx);
                }));
            },
            nb::arg("path").none(), nb::arg("options"),
            nb::sig(file_parameters.signature("path: str | os.PathLike[str]", "Graph")),
            file_parameters.doc(
                R"(A graph from a file in a format of docs/graphs.md, or of the links between a store's documents.

Raises UsageError (no such file), InvalidInput with `path` and `line`, StorageError, DamagedStore, OutOfMemory.)"))
        .def_static(
            "from_networkx",
            [](const nb::object& graph, const nb::object& weight) {
                return nb::module_::import_("quern._graphs").attr("from_networkx")(graph, weight);
            },
            nb::arg("graph").none(), nb::arg("weight").none() = nb::none(),
            nb::sig("def from_networkx(graph: object, weight: str | None = None) -> Graph"),
            R"(A graph of networkx, directed or not; multigraphs, too.

The ids are the labels, which must be texts or whole numbers of at least 0, in networkx's order, and all nodes exist. An
edge without direction is a link each way, from a node to itself one link. weight: the name of an attribute with the weights
of links; 1 where it is missing. Any object with nodes, edges(data=True) and is_directed() serves.)")
        .def("pagerank", page_rank_of, nb::arg("options"),
             nb::sig(rank_parameters.signature("self", "LinkRanks")),
             rank_parameters.doc(R"(PageRank (Page, Brin, Motwani and Winograd 1999) of every node.

r = damping * (G'r + d v) + (1 - damping) * v, where G_ij is the weight of i -> j divided by all weights of i, d the rank of
nodes without outgoing links, and v the preference. Ranks are fixed-point integers: the same bits for any order of links,
number of threads and device (docs/link_rank.md has the proof of `error`). Ties by node. A graph without nodes has none.

Raises UsageError for options out of range, OutOfMemory, DeviceError. Cost: a step reads 4 bytes per link and gathers 4. The
first call checks the links and arranges them on the device, where they stay for calls with the same device, threads and
memory, until release(): further preferences, warm starts and parameters need only their steps.

>>> import quern
>>> ranks = quern.Graph.from_edges([0, 1, 2], [1, 2, 0]).pagerank()
>>> ranks.ranks.round(6).tolist(), ranks.converged
([0.333333, 0.333333, 0.333333], True))"))
        .def("hits", hits_of, nb::arg("options"), nb::sig(hits_parameters.signature("self", "LinkRanks")),
             hits_parameters.doc(
                 R"(Authorities and hubs (Kleinberg 1999) of every node: `ranks` and `hubs`, each with sum 1.

a = A'h, h = A a, from h = 1/n. With several largest eigenvalues (a disconnected graph) the result is the limit from this
start. Without links all are 0. `order` is by authority. Otherwise as pagerank.)"))
        .def(
            "release", [](const python_graph& graph) { graph.kept().release(); },
            "Frees what calls keep: the links as they are arranged on the device. The next call arranges "
            "them again.")
        .def_prop_ro(
            "kept_bytes", [](const python_graph& graph) { return graph.kept().bytes(); },
            "What the last call left on host and device, besides the graph; 0 before the first.")
        .def_prop_ro(
            "nodes", [](const python_graph& graph) { return graph.links().nodes; }, "The number of nodes.")
        .def_prop_ro(
            "links", [](const python_graph& graph) { return graph.links().sources.size(); },
            "The number of links.")
        .def_prop_ro(
            "weighted", [](const python_graph& graph) { return !graph.links().weights.empty(); },
            "Whether links have weights.")
        .def_prop_ro(
            "ids", [](const python_graph& graph) { return ids_of(*graph.ids(), graph.links().nodes); },
            nb::sig("def ids(self) -> NDArray[numpy.uint64] | list[str]"),
            "The ids, by node: uint64 if all are integers, else texts.")
        .def("__repr__",
             [](const python_graph& graph) {
                 const auto grouped = [](std::uint64_t number) {
                     return nb::cast<std::string>(nb::cast(number).attr("__format__")(","));
                 };
                 return "Graph(" + grouped(graph.links().nodes) + " nodes, " +
                        grouped(graph.links().sources.size()) +
                        (graph.links().weights.empty() ? " links)" : " weighted links)");
             })
        .def("_repr_html_",
             [](nb::handle self) { return "<code>" + nb::cast<std::string>(nb::repr(self)) + "</code>"; })
        .def(
            "__getstate__",
            [](nb::handle self) {
                const auto& graph = nb::cast<const python_graph&>(self);
                const link_graph_view links = graph.links();
                return nb::make_tuple(ids_of(*graph.ids(), links.nodes), graph.ids()->are_integers(),
                                      links.nodes, view_array(links.offsets, self),
                                      view_array(links.sources, self), view_array(links.weights, self),
                                      view_array(links.out_degrees, self));
            },
            nb::sig("def __getstate__(self) -> tuple[Any, ...]"))
        .def(
            "__setstate__",
            [](python_graph& self, const nb::tuple& state) {
                std::vector<std::string> texts;
                for (const nb::handle id : state[0]) texts.push_back(text_of_id(id));
                const auto copied = [&]<class Number>(std::vector<Number>& to, std::size_t at) {
                    host_array kept = read_array(state[at], "graph");
                    const auto values = numbers_of<Number>(kept, "graph");
                    to.assign(values.begin(), values.end());
                };
                link_graph graph;
                graph.nodes = nb::cast<std::uint32_t>(state[2]);
                copied(graph.offsets, 3);
                copied(graph.sources, 4);
                copied(graph.weights, 5);
                copied(graph.out_degrees, 6);
                new (&self) python_graph(std::move(graph), std::make_shared<listed_ids>(
                                                               std::move(texts), nb::cast<bool>(state[1])));
            },
            nb::sig("def __setstate__(self, state: tuple[Any, ...], /) -> None"));
}

}  // namespace quern::python
