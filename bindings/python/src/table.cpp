// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "arrow_interface.hpp"
#include "errors.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

template <class Column>
constexpr const char* arrow_format() {
    if constexpr (std::is_same_v<Column, text_column>) return "U";
    if constexpr (std::is_same_v<Column, bool_column>) return "C";  // uint8: NumPy's layout, without a copy
    if constexpr (std::is_same_v<Column, number_column<std::uint32_t>>) return "I";
    if constexpr (std::is_same_v<Column, number_column<std::uint64_t>>) return "L";
    if constexpr (std::is_same_v<Column, number_column<std::int64_t>>) return "l";
    if constexpr (std::is_same_v<Column, number_column<double>>) return "g";
    if constexpr (std::is_same_v<Column, number_column<float>>) return "f";
}

// ---- Arrow: the structures own what they point to through private_data ----

struct exported_schema {
    std::vector<ArrowSchema> columns;
    std::vector<ArrowSchema*> children;
    std::vector<std::string> names;
};

void release_child(ArrowSchema* schema) {
    schema->release = nullptr;
}

void export_schema(const table& rows, ArrowSchema* out) {
    auto owned = std::make_unique<exported_schema>();
    const std::size_t n = rows.columns().size();
    owned->columns.resize(n);
    owned->names.reserve(n);
    for (std::size_t c = 0; c < n; ++c) {
        const auto& [name, column] = rows.columns()[c];
        owned->names.push_back(name);
        const char* const format = std::visit(
            [](const auto& values) {
                return arrow_format<
                    std::remove_const_t<typename std::remove_cvref_t<decltype(values)>::element_type>>();
            },
            column);
        owned->columns[c] = {format,  owned->names[c].c_str(), nullptr, 0, 0, nullptr,
                             nullptr, release_child,           nullptr};
        owned->children.push_back(&owned->columns[c]);
    }
    *out = {
        "+s",
        "",
        nullptr,
        0,
        static_cast<std::int64_t>(n),
        owned->children.data(),
        nullptr,
        [](ArrowSchema* schema) {
            const std::unique_ptr<exported_schema> freed(static_cast<exported_schema*>(schema->private_data));
            for (ArrowSchema* const child : freed->children) {
                if (child->release != nullptr) child->release(child);
            }
            schema->release = nullptr;
        },
        nullptr};
    out->private_data = owned.release();
}

/// A column may outlive its table: consumers may move children out of it.
struct exported_column {
    table::column column;
    std::array<const void*, 3> buffers{};
};

void export_column(const table::column& column, std::size_t rows, ArrowArray* out) {
    auto owned = std::make_unique<exported_column>(exported_column{column});
    std::int64_t buffers = 2;
    std::visit(
        [&](const auto& values) {
            using values_type =
                std::remove_const_t<typename std::remove_cvref_t<decltype(values)>::element_type>;
            if constexpr (std::is_same_v<values_type, text_column>) {
                owned->buffers = {nullptr, values->offsets.data(), values->bytes.data()};
                buffers = 3;
            } else if constexpr (std::is_same_v<values_type, bool_column>) {
                owned->buffers = {nullptr, values->values.data(), nullptr};
            } else {
                owned->buffers = {nullptr, values->data(), nullptr};
            }
        },
        owned->column);
    *out = {static_cast<std::int64_t>(rows),
            0,
            0,
            buffers,
            0,
            owned->buffers.data(),
            nullptr,
            nullptr,
            [](ArrowArray* array) {
                delete static_cast<exported_column*>(array->private_data);
                array->release = nullptr;
            },
            nullptr};
    out->private_data = owned.release();
}

struct exported_batch {
    std::vector<ArrowArray> columns;
    std::vector<ArrowArray*> children;
    const void* no_nulls = nullptr;
};

void export_batch(const table& rows, ArrowArray* out) {
    auto owned = std::make_unique<exported_batch>();
    owned->columns.resize(rows.columns().size());
    for (std::size_t c = 0; c < owned->columns.size(); ++c) {
        export_column(rows.columns()[c].second, rows.rows(), &owned->columns[c]);
        owned->children.push_back(&owned->columns[c]);
    }
    *out = {
        static_cast<std::int64_t>(rows.rows()),
        0,
        0,
        1,
        static_cast<std::int64_t>(owned->children.size()),
        &owned->no_nulls,
        owned->children.data(),
        nullptr,
        [](ArrowArray* array) {
            const std::unique_ptr<exported_batch> freed(static_cast<exported_batch*>(array->private_data));
            for (ArrowArray* const child : freed->children) {
                if (child->release != nullptr) child->release(child);
            }
            array->release = nullptr;
        },
        nullptr};
    out->private_data = owned.release();
}

struct exported_stream {
    table rows;
    bool is_read = false;
};

exported_stream& state_of(ArrowArrayStream* stream) {
    return *static_cast<exported_stream*>(stream->private_data);
}

nb::object arrow_stream(const table& rows, const nb::object& requested_schema) {
    (void)requested_schema;  // the specification lets a producer ignore it
    auto* const stream = new ArrowArrayStream{[](ArrowArrayStream* self, ArrowSchema* out) {
                                                  try {
                                                      export_schema(state_of(self).rows, out);
                                                      return 0;
                                                  } catch (const std::bad_alloc&) {
                                                      return ENOMEM;
                                                  }
                                              },
                                              [](ArrowArrayStream* self, ArrowArray* out) {
                                                  exported_stream& state = state_of(self);
                                                  *out = {};
                                                  if (std::exchange(state.is_read, true)) return 0;
                                                  try {
                                                      export_batch(state.rows, out);
                                                      return 0;
                                                  } catch (const std::bad_alloc&) {
                                                      return ENOMEM;
                                                  }
                                              },
                                              [](ArrowArrayStream*) -> const char* { return nullptr; },
                                              [](ArrowArrayStream* self) {
                                                  delete static_cast<exported_stream*>(self->private_data);
                                                  self->release = nullptr;
                                              },
                                              new exported_stream{rows}};
    PyObject* const capsule = PyCapsule_New(stream, arrow_stream_capsule, [](PyObject* held) {
        auto* const given = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(held, arrow_stream_capsule));
        if (given->release != nullptr) given->release(given);
        delete given;
    });
    if (capsule == nullptr) throw nb::python_error();
    return nb::steal(capsule);
}

// ---- Python ----

nb::object values_of(const table::column& column) {
    return std::visit(
        [](const auto& values) -> nb::object {
            using values_type =
                std::remove_const_t<typename std::remove_cvref_t<decltype(values)>::element_type>;
            if constexpr (std::is_same_v<values_type, text_column>) {
                nb::list texts;
                for (std::size_t i = 0; i < values->size(); ++i) {
                    const std::string_view text = values->at(i);
                    texts.append(text_object(text));
                }
                return texts;
            } else if constexpr (std::is_same_v<values_type, bool_column>) {
                return flags_of({values, &values->values});
            } else {
                return nb::cast(array_of(values));
            }
        },
        column);
}

nb::object cell_of(const table::column& column, std::size_t row) {
    return std::visit(
        [row](const auto& values) -> nb::object {
            using values_type =
                std::remove_const_t<typename std::remove_cvref_t<decltype(values)>::element_type>;
            if constexpr (std::is_same_v<values_type, text_column>) {
                const std::string_view text = values->at(row);
                return text_object(text);
            } else if constexpr (std::is_same_v<values_type, bool_column>) {
                return nb::bool_(values->values[row] != 0);
            } else {
                return nb::cast((*values)[row]);
            }
        },
        column);
}

nb::dict row_of(const table& rows, std::size_t row) {
    nb::dict cells;
    for (const auto& [name, column] : rows.columns()) cells[name.c_str()] = cell_of(column, row);
    return cells;
}

nb::object item(const table& rows, const nb::object& key) {
    if (nb::isinstance<nb::str>(key)) {
        const auto name = nb::cast<std::string>(key);
        for (const auto& [column_name, column] : rows.columns()) {
            if (column_name == name) return values_of(column);
        }
        std::string names;
        for (const auto& [column_name, column] : rows.columns())
            names += (names.empty() ? "" : ", ") + column_name;
        throw nb::key_error(("there is no column '" + name + "' (expected one of " + names + ")").c_str());
    }
    if (nb::isinstance<nb::slice>(key)) {
        const auto [start, stop, step, length] = nb::cast<nb::slice>(key).compute(rows.rows());
        nb::list some;
        for (std::size_t i = 0; i < length; ++i)
            some.append(row_of(rows, static_cast<std::size_t>(start + static_cast<Py_ssize_t>(i) * step)));
        return some;
    }
    const nb::object index = nb::steal(PyNumber_Index(key.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    auto at = nb::cast<std::int64_t>(index);
    if (at < 0) at += static_cast<std::int64_t>(rows.rows());
    if (at < 0 || at >= static_cast<std::int64_t>(rows.rows())) throw nb::index_error("row out of range");
    return row_of(rows, static_cast<std::size_t>(at));
}

template <class Number>
std::vector<Number> numbers_of_array(const nb::object& values) {
    const nb::object bytes = values.attr("tobytes")();
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
    std::vector<Number> numbers(static_cast<std::size_t>(size) / sizeof(Number));
    if (!numbers.empty()) std::memcpy(numbers.data(), data, numbers.size() * sizeof(Number));
    return numbers;
}

template <class Number>
bool add_numbers(table& rows, const std::string& name, const nb::object& values, const char* type) {
    if (nb::cast<std::string>(values.attr("dtype").attr("name")) != type) return false;
    rows.add(name, numbers_of_array<Number>(values));
    return true;
}

/// The inverse of Table.to_dict().
table table_of_columns(std::string what, const nb::dict& columns) {
    table rows(std::move(what));
    for (const auto& [key, given] : columns) {
        const auto name = nb::cast<std::string>(key);
        const nb::object values = nb::borrow<nb::object>(given);
        if (nb::isinstance<nb::list>(values)) {
            text_column texts;
            for (const nb::handle one : values) {
                texts.add(text_argument("text", one));
            }
            rows.add(name, std::move(texts));
        } else if (nb::cast<std::string>(values.attr("dtype").attr("name")) == "bool") {
            rows.add(name, bool_column{numbers_of_array<std::uint8_t>(values)});
        } else if (!add_numbers<std::uint32_t>(rows, name, values, "uint32") &&
                   !add_numbers<std::uint64_t>(rows, name, values, "uint64") &&
                   !add_numbers<std::int64_t>(rows, name, values, "int64") &&
                   !add_numbers<double>(rows, name, values, "float64") &&
                   !add_numbers<float>(rows, name, values, "float32")) {
            refuse("column '" + name + "' has a type that a Table does not have");
        }
    }
    return rows;
}

}  // namespace

nb::object flags_of(std::shared_ptr<const std::vector<std::uint8_t>> values) {
    return nb::cast(array_of(std::move(values))).attr("view")("bool");
}

void declare_table(nb::module_& module) {
    module.def("_table_of", table_of_columns, nb::arg("what"), nb::arg("columns"),
               "A table from its pickle.");

    nb::class_<table>(module, "Table", R"(Rows of a result, with named columns.

`table["score"]` is a column: a NumPy array without a copy, for texts a list. `table[3]` is a row, a dict, `table[:3]`
a list of rows, and iteration yields all of them. pandas, polars, pyarrow and DuckDB read a table through `__arrow_c_stream__`, without a copy:
`polars.DataFrame(table)`, `pyarrow.table(table)`.)")
        .def("__len__", &table::rows)
        .def_prop_ro(
            "columns",
            [](const table& rows) {
                nb::list names;
                for (const auto& [name, column] : rows.columns()) names.append(name);
                return names;
            },
            nb::sig("def columns(self) -> list[str]"), "The names of the columns.")
        .def("__getitem__", item, nb::arg("key"),
             nb::sig("def __getitem__(self, key: int | str | slice, /) -> Any"))
        .def(
            "__iter__", [](const nb::object& rows) { return nb::steal(PySeqIter_New(rows.ptr())); },
            nb::sig("def __iter__(self) -> Iterator[dict[str, Any]]"))
        .def(
            "to_dicts",
            [](const table& rows) {
                nb::list all;
                for (std::size_t row = 0; row < rows.rows(); ++row) all.append(row_of(rows, row));
                return all;
            },
            nb::sig("def to_dicts(self) -> list[dict[str, Any]]"), "All rows, a dict each.")
        .def(
            "to_dict",
            [](const table& rows) {
                nb::dict all;
                for (const auto& [name, column] : rows.columns()) all[name.c_str()] = values_of(column);
                return all;
            },
            nb::sig("def to_dict(self) -> dict[str, Any]"),
            "The columns by name: NumPy arrays, and lists of texts. pandas.DataFrame(table.to_dict()) needs "
            "no pyarrow.")
        .def("__arrow_c_stream__", arrow_stream, nb::arg("requested_schema") = nb::none(),
             nb::sig("def __arrow_c_stream__(self, requested_schema: object = None) -> object"),
             "The rows as a stream of one Arrow batch, without a copy. Flags are of type uint8.")
        .def(
            "__repr__",
            [](const table& rows) {
                return nb::module_::import_("quern._display")
                    .attr("table_text")(nb::cast(rows, nb::rv_policy::reference));
            },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "__reduce__",
            [](const nb::object& self) {
                if (!self.type().is(nb::type<table>()))
                    throw nb::type_error("only a Table itself can be pickled; pickle its to_dict()");
                const table& rows = nb::cast<const table&>(self);
                nb::dict columns;
                for (const auto& [name, column] : rows.columns()) columns[name.c_str()] = values_of(column);
                return nb::make_tuple(nb::module_::import_("quern._reopen").attr("table"),
                                      nb::make_tuple(rows.what(), columns));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "_repr_html_",
            [](const table& rows) {
                return nb::module_::import_("quern._display")
                    .attr("table_html")(nb::cast(rows, nb::rv_policy::reference));
            },
            nb::sig("def _repr_html_(self) -> str"))
        .def_prop_ro("_what", &table::what);
}

}  // namespace quern::python
