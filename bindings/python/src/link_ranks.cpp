// SPDX-License-Identifier: Apache-2.0
#include "link_ranks.hpp"

#include <nanobind/stl/string.h>

#include <utility>

#include "arrays.hpp"
#include "fingerprint.hpp"
#include "module.hpp"
#include "quern/base/rows.hpp"
#include "table.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

table table_of(const python_ranks& found) {
    table rows("nodes");
    if (found.ids->are_integers()) {
        number_column<std::uint64_t> ids;
        ids.reserve(found.order->size());
        for (const std::uint32_t node : *found.order) ids.push_back(std::stoull(found.ids->text(node)));
        rows.add("id", std::move(ids));
    } else {
        text_column ids;
        for (const std::uint32_t node : *found.order) ids.add(found.ids->text(node));
        rows.add("id", std::move(ids));
    }
    const auto by_rank = [&](const std::vector<double>& values) {
        number_column<double> column;
        column.reserve(found.order->size());
        for (const std::uint32_t node : *found.order) column.push_back(values[node]);
        return column;
    };
    rows.add(found.hubs ? "authority" : "rank", by_rank(*found.ranks));
    if (found.hubs) rows.add("hub", by_rank(*found.hubs));
    return rows;
}

std::string fingerprint_of(const python_ranks& found) {
    const auto columns = found.hubs ? std::vector<std::string>{"id", "authority", "hub"}
                                    : std::vector<std::string>{"id", "rank"};
    return fingerprint_of_rows(columns, [&](row_writer& rows) {
        for (const std::uint32_t node : *found.order) {
            const std::string id = found.ids->text(node);
            if (found.hubs)
                rows.row({std::string_view(id), (*found.ranks)[node], (*found.hubs)[node]});
            else
                rows.row({std::string_view(id), (*found.ranks)[node]});
        }
    });
}

}  // namespace

python_ranks result_of(std::shared_ptr<const node_ids> ids, link_ranks&& found) {
    python_ranks made;
    made.ids = std::move(ids);
    made.ranks = std::make_shared<const std::vector<double>>(std::move(found.ranks));
    made.order = std::make_shared<const std::vector<std::uint32_t>>(std::move(found.order));
    made.iterations = found.iterations;
    made.change = found.change;
    made.error = found.error_bound;
    made.converged = found.converged;
    made.place = std::move(found.place);
    return made;
}

nb::object ids_of(const node_ids& ids, std::uint32_t nodes) {
    if (ids.are_integers()) {
        std::vector<std::uint64_t> numbers(nodes);
        for (std::uint32_t node = 0; node < nodes; ++node) numbers[node] = std::stoull(ids.text(node));
        return array_from(std::move(numbers));
    }
    nb::list texts;
    for (std::uint32_t node = 0; node < nodes; ++node) texts.append(python_id(ids, node));
    return texts;
}

void declare_ranks(nb::module_& module) {
    nb::class_<python_ranks>(module, "LinkRanks",
                             R"(The ranks of a graph's nodes, of Graph.pagerank and Graph.hits.

`ranks` has one number per node; `order` the nodes by falling rank, ties by node. `ids` names the nodes. `table` has a row
per node, best first: id and rank, for hits id, authority and hub.)")
        .def_prop_ro(
            "ranks", [](const python_ranks& found) { return nb::cast(array_of(found.ranks)); },
            nb::sig("def ranks(self) -> NDArray[numpy.float64]"),
            "float64, by node; for hits the authorities. The sum is 1 within `error`, except with "
            "dangling='none'.")
        .def_prop_ro(
            "hubs",
            [](const python_ranks& found) -> nb::object {
                if (!found.hubs) return nb::none();
                return nb::cast(array_of(found.hubs));
            },
            nb::sig("def hubs(self) -> NDArray[numpy.float64] | None"),
            "float64, by node, for hits; else None.")
        .def_prop_ro(
            "order", [](const python_ranks& found) { return nb::cast(array_of(found.order)); },
            nb::sig("def order(self) -> NDArray[numpy.uint32]"),
            "uint32: nodes by falling rank, ties by node.")
        .def_prop_ro(
            "ids",
            [](const python_ranks& found) {
                return ids_of(*found.ids, static_cast<std::uint32_t>(found.ranks->size()));
            },
            nb::sig("def ids(self) -> NDArray[numpy.uint64] | list[str]"), "The ids, by node.")
        .def_prop_ro("table", table_of, nb::sig("def table(self) -> Table"), "Rows by falling rank.")
        .def_ro("iterations", &python_ranks::iterations, "Steps.")
        .def_ro("change", &python_ranks::change, "The L1 change of the last step.")
        .def_ro("error", &python_ranks::error,
                "Upper bound of the sum of |rank - true rank|, proved in docs/link_rank.md; NaN for hits.")
        .def_ro("converged", &python_ranks::converged,
                "Whether the change of the last step is below the tolerance.")
        .def_ro("place", &python_ranks::place, "The device, with the reason.")
        .def_prop_ro("fingerprint", fingerprint_of,
                     "XXH3-64 of the rows that `quern pagerank --format tsv` writes for the graph.")
        .def("__len__", [](const python_ranks& found) { return found.ranks->size(); })
        .def(
            "__getitem__",
            [](const python_ranks& found, const nb::object& id) {
                const std::string text = text_of_id(id);
                const auto node = found.ids->node_of(text);
                if (!node) throw nb::key_error(("'" + text + "' is not a node of the graph").c_str());
                return (*found.ranks)[*node];
            },
            nb::arg("id"), nb::sig("def __getitem__(self, id: int | str, /) -> float"))
        .def(
            "keys",
            [](const nb::object& self) {
                const nb::object ids = self.attr("ids");
                return nb::hasattr(ids, "tolist") ? nb::object(ids.attr("tolist")()) : ids;
            },
            nb::sig("def keys(self) -> list[Any]"), "The ids, by node: `dict(ranks)` has the rank of each.")
        .def(
            "__iter__", [](const nb::object& self) { return nb::iter(self.attr("keys")()); },
            nb::sig("def __iter__(self) -> Iterator[Any]"))
        .def(
            "__getstate__",
            [](const python_ranks& found) {
                const auto nodes = static_cast<std::uint32_t>(found.ranks->size());
                return nb::make_tuple(
                    ids_of(*found.ids, nodes), found.ids->are_integers(), nb::cast(array_of(found.ranks)),
                    found.hubs ? nb::cast(array_of(found.hubs)) : nb::none(), nb::cast(array_of(found.order)),
                    found.iterations, found.change, found.error, found.converged, found.place);
            },
            nb::sig("def __getstate__(self) -> tuple[Any, ...]"))
        .def(
            "__setstate__",
            [](python_ranks& self, const nb::tuple& state) {
                std::vector<std::string> texts;
                for (const nb::handle id : state[0]) texts.push_back(text_of_id(id));
                const auto doubles = [](nb::handle given) {
                    host_array kept = read_array(given, "ranks");
                    const auto values = numbers_of<double>(kept, "ranks");
                    return std::make_shared<const std::vector<double>>(values.begin(), values.end());
                };
                host_array kept = read_array(state[4], "order");
                const auto order = numbers_of<std::uint32_t>(kept, "order");
                new (&self) python_ranks{
                    std::make_shared<listed_ids>(std::move(texts), nb::cast<bool>(state[1])),
                    doubles(state[2]),
                    state[3].is_none() ? nullptr : doubles(state[3]),
                    std::make_shared<const std::vector<std::uint32_t>>(order.begin(), order.end()),
                    nb::cast<std::uint32_t>(state[5]),
                    nb::cast<double>(state[6]),
                    nb::cast<double>(state[7]),
                    nb::cast<bool>(state[8]),
                    nb::cast<std::string>(state[9])};
            },
            nb::sig("def __setstate__(self, state: tuple[Any, ...], /) -> None"))
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._graphs").attr("text_of_ranks")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::module_::import_("quern._graphs").attr("html_of_ranks")(self); },
            nb::sig("def _repr_html_(self) -> str"));
}

}  // namespace quern::python
