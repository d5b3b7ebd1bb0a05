// SPDX-License-Identifier: Apache-2.0
// quern.SparseMatrix: products with vectors, correctly rounded.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "constructor.hpp"
#include "device_arrays.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "kept_run.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "quern/base/rows.hpp"
#include "quern/ops/sparse_option_table.hpp"
#include "quern/tasks/opened_files.hpp"
#include "table.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

struct matrix_call : call {
    nb::object shape = nb::none();
};
struct product_call : call {
    multiply_options options;
};

const parameters<matrix_call> matrix_parameters =
    parameters<matrix_call>("SparseMatrix")
        .add({"shape", "tuple[int, int] | None", "None",
              "Rows and columns, for arrays of rows, columns and values."},
             [](matrix_call& requested, nb::handle given) { requested.shape = nb::borrow(given); })
        .common();
const parameters<product_call> product_parameters =
    parameters<product_call>("multiply").table<&product_call::options>().common();

// ---- The matrix on its place ----

/// The matrix as the last product needed it; the next one with the same resources uses it again.
struct either_matrix {
    std::variant<resident_matrix<float>, resident_matrix<double>> matrix;
    std::uint64_t bytes() const {
        return std::visit([](const auto& of_type) { return of_type.bytes(); }, matrix);
    }
};
class kept_products {
  public:
    /// Calls work(matrix) under the listeners of the call.
    template <class Value, class Work>
    void call(const sparse_matrix_view<Value>& view, sparse_storage storage, const run_options& options,
              const Work& work) {
        kept_.call(
            options, storage, view.value.size() <= short_work,
            [&](const context& ctx) { return either_matrix{resident_matrix<Value>(view, storage, ctx)}; },
            [&](either_matrix& made) { work(std::get<resident_matrix<Value>>(made.matrix)); });
    }
    void release() { kept_.release(); }
    std::uint64_t bytes() const { return kept_.bytes(); }

  private:
    static constexpr std::uint64_t short_work = std::uint64_t{1} << 20;  ///< entries: some milliseconds

    kept_object<either_matrix, sparse_storage> kept_{"a product of this matrix"};
};

// ---- The matrix ----

class python_matrix {
  public:
    python_matrix(nb::handle given, const nb::kwargs& options);
    python_matrix(const python_matrix&) = delete;  // views point into it
    python_matrix& operator=(const python_matrix&) = delete;

    std::uint32_t rows() const { return is_narrow_ ? narrow_.rows : wide_.rows; }
    std::uint32_t columns() const { return is_narrow_ ? narrow_.columns : wide_.columns; }
    std::uint64_t entries() const { return offsets().back(); }
    bool is_narrow() const { return is_narrow_; }
    std::span<const std::uint64_t> offsets() const { return is_narrow_ ? narrow_.offsets : wide_.offsets; }
    std::span<const std::uint32_t> column() const { return is_narrow_ ? narrow_.column : wide_.column; }
    const sparse_matrix_view<float>& narrow() const { return narrow_; }
    const sparse_matrix_view<double>& wide() const { return wide_; }
    template <class Value>
    const sparse_matrix_view<Value>& view() const {
        if constexpr (std::is_same_v<Value, float>)
            return narrow_;
        else
            return wide_;
    }
    kept_products& kept() const { return kept_; }

  private:
    void read_rows(nb::handle given);
    void read_entries(nb::handle row, nb::handle column, nb::handle value, std::uint64_t rows,
                      std::uint64_t columns);
    void set_values(nb::handle given, std::uint64_t rows, std::uint64_t columns);
    void set_offsets(std::span<const std::uint64_t> given, std::uint64_t entries, std::uint64_t rows);
    void place_values();

    bool is_narrow_ = false;
    sparse_matrix_view<float> narrow_;
    sparse_matrix_view<double> wide_;
    std::optional<matrix_file> file_;
    host_array values_, offset_values_, column_values_;
    std::vector<std::uint64_t> offsets_;
    std::vector<std::uint32_t> columns_;
    std::vector<float> narrow_values_;
    std::vector<double> wide_values_;
    mutable kept_products kept_;
};

std::uint32_t extent_of(std::uint64_t extent, std::string_view what) {
    if (extent >= std::numeric_limits<std::uint32_t>::max())
        refuse(std::to_string(extent) + " " + std::string(what) + " (expected fewer than 4294967295)");
    return static_cast<std::uint32_t>(extent);
}

std::string format_of(nb::handle given) {
    return nb::hasattr(given, "format") ? member_text(given, "format") : "";
}

python_matrix::python_matrix(nb::handle given, const nb::kwargs& options) {
    const matrix_call requested = matrix_parameters.read(options);
    const bool is_tuple = nb::isinstance<nb::tuple>(given) && nb::len(given) == 3;
    if (!requested.shape.is_none() && !is_tuple)
        refuse("shape: the matrix has its own (expected only with arrays)");
    if (nb::isinstance<nb::str>(given) || nb::hasattr(given, "__fspath__")) {
        const std::filesystem::path path = text_of("matrix", given);
        file_ = run_for(requested.run, [&](const context& ctx) { return open_matrix_file(path, ctx); });
        wide_ = file_->view();
    } else if (is_tuple) {
        std::uint64_t rows = 0, columns = 0;
        const auto greatest = [](nb::handle ids, std::string_view name) {
            host_array kept = read_array(ids, name);
            std::vector<std::uint64_t> widened;
            const auto values = whole_numbers_of(kept, widened, name);
            return values.empty() ? 0 : *std::ranges::max_element(values) + 1;
        };
        if (requested.shape.is_none()) {
            rows = greatest(given[0], "matrix[0]");
            columns = greatest(given[1], "matrix[1]");
        } else {
            if (nb::len(requested.shape) != 2) refuse("shape: expected rows and columns");
            rows = whole_of("shape[0]", requested.shape[0]);
            columns = whole_of("shape[1]", requested.shape[1]);
        }
        read_entries(given[0], given[1], given[2], rows, columns);
    } else if (nb::hasattr(given, "crow_indices") && nb::hasattr(given, "col_indices")) {  // PyTorch
        read_rows(nb::module_::import_("quern._matrices").attr("of_torch")(given));
    } else if (is_compressed_rows(given) && (format_of(given) == "csr" || format_of(given).empty())) {
        read_rows(given);
    } else if (nb::hasattr(given, "row") && nb::hasattr(given, "col") && nb::hasattr(given, "data")) {
        const auto [rows, columns] = shape_of(given, "matrix");
        read_entries(given.attr("row"), given.attr("col"), given.attr("data"), rows, columns);
    } else if (nb::hasattr(given, "tocsr")) {
        read_rows(given.attr("tocsr")());
    } else {
        refuse_type(
            "matrix",
            "a path, a sparse matrix of scipy, an object with indptr, indices, data and shape, or a tuple of "
            "arrays (rows, columns, values)",
            nb::cast<std::string>(nb::type_name(given.type())));
    }
    if (offsets().empty()) {  // as of a file without rows
        offsets_.assign(1, 0);
        (is_narrow_ ? narrow_.offsets : wide_.offsets) = offsets_;
    }
}

void python_matrix::set_values(nb::handle given, std::uint64_t rows, std::uint64_t columns) {
    values_ = read_array(given, "matrix.data");
    is_narrow_ = values_.type == number_type::f32;
    if (!is_narrow_ && values_.type != number_type::f64)
        refuse_type("matrix.data", "float64 or float32",
                    std::string(name_of(values_.type)) + "; convert it: matrix.astype('float64')");
    narrow_.rows = wide_.rows = extent_of(rows, "rows");
    narrow_.columns = wide_.columns = extent_of(columns, "columns");
    if (is_narrow_)
        narrow_.value = numbers_of<float>(values_, "matrix.data");
    else
        wide_.value = numbers_of<double>(values_, "matrix.data");
}

void python_matrix::read_rows(nb::handle given) {
    const auto [rows, columns] = shape_of(given, "matrix");
    set_values(given.attr("data"), rows, columns);
    offset_values_ = read_array(given.attr("indptr"), "matrix.indptr");
    const auto offsets = whole_numbers_of(offset_values_, offsets_, "matrix.indptr");
    column_values_ = read_array(given.attr("indices"), "matrix.indices");
    std::vector<std::uint64_t> widened;
    std::span<const std::uint32_t> column;
    const bool is_narrow_id =
        column_values_.type == number_type::i32 || column_values_.type == number_type::u32;
    if (is_narrow_id && column_values_.dimensions() == 1) {
        column_values_ = contiguous(std::move(column_values_), "matrix.indices");
        // A negative one is a column out of range, which a product refuses with its position.
        column = {reinterpret_cast<const std::uint32_t*>(column_values_.data), column_values_.size()};
    } else {
        for (const std::uint64_t id : whole_numbers_of(column_values_, widened, "matrix.indices"))
            columns_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(id, 0xffffffff)));
        column_values_ = {};
        column = columns_;
    }
    const std::uint64_t entries = is_narrow_ ? narrow_.value.size() : wide_.value.size();
    if (column.size() != entries)
        refuse("matrix: " + std::to_string(column.size()) + " indices and " + std::to_string(entries) +
               " values");
    if (offsets.size() != rows + 1 || offsets.front() != 0 || offsets.back() != entries ||
        !std::ranges::is_sorted(offsets))
        refuse("matrix.indptr: does not ascend from 0 to the number of entries, " + std::to_string(entries));
    for (std::size_t e = 0; e < column.size(); ++e)
        if (column[e] >= columns)
            refuse("matrix.indices[" + std::to_string(e) + "] is not a column below " +
                   std::to_string(columns));
    narrow_.offsets = wide_.offsets = offsets;
    narrow_.column = wide_.column = column;
}

/// Entries in any order become rows; those of a row keep their order.
void python_matrix::read_entries(nb::handle row, nb::handle column, nb::handle value, std::uint64_t rows,
                                 std::uint64_t columns) {
    set_values(value, rows, columns);
    host_array row_array = read_array(row, "matrix.row"), column_array = read_array(column, "matrix.col");
    std::vector<std::uint64_t> wide_rows, wide_columns;
    const auto row_of = whole_numbers_of(row_array, wide_rows, "matrix.row");
    const auto column_of = whole_numbers_of(column_array, wide_columns, "matrix.col");
    const std::uint64_t entries = is_narrow_ ? narrow_.value.size() : wide_.value.size();
    if (row_of.size() != entries || column_of.size() != entries)
        refuse("matrix: " + std::to_string(row_of.size()) + " rows, " + std::to_string(column_of.size()) +
               " columns and " + std::to_string(entries) + " values (expected one of each per entry)");
    offsets_.assign(rows + 1, 0);
    for (std::size_t e = 0; e < entries; ++e) {
        if (row_of[e] >= rows || column_of[e] >= columns)
            refuse("matrix: entry " + std::to_string(e) + " is at (" + std::to_string(row_of[e]) + ", " +
                   std::to_string(column_of[e]) + "), outside of " + std::to_string(rows) + " rows and " +
                   std::to_string(columns) + " columns");
        ++offsets_[row_of[e] + 1];
    }
    for (std::size_t i = 0; i < rows; ++i) offsets_[i + 1] += offsets_[i];
    std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
    columns_.resize(entries);
    const auto place = [&](auto& to, auto from) {
        to.resize(entries);
        for (std::size_t e = 0; e < entries; ++e) {
            const std::uint64_t at = next[row_of[e]]++;
            columns_[at] = static_cast<std::uint32_t>(column_of[e]);
            to[at] = from[e];
        }
    };
    if (is_narrow_) {
        place(narrow_values_, narrow_.value);
        narrow_.value = narrow_values_;
    } else {
        place(wide_values_, wide_.value);
        wide_.value = wide_values_;
    }
    values_ = {};
    narrow_.offsets = wide_.offsets = offsets_;
    narrow_.column = wide_.column = columns_;
}

// ---- Products ----

/// As quern.Product.
struct python_product {
    nb::object y;  ///< of NumPy, or a DeviceArray
    std::uint32_t rows = 0;
    sparse_storage storage = sparse_storage::automatic;
    std::uint64_t bytes = 0;
    double conversion_seconds = 0;
    std::vector<double> seconds;
    std::string place;
};

/// A vector as the factor of a product.
template <class Value>
struct factor {
    host_array array;
    std::span<const Value> values;
    std::optional<device_numbers_view<Value>> device;  ///< instead of values
};

void check_form(const host_array& array, number_type type, std::uint32_t columns) {
    if (array.dimensions() != 1)
        refuse_type("x", "an array of one dimension", "one of shape " + array.shape_text());
    if (array.type != type)
        refuse_type("x", std::string(name_of(type)) + " as the matrix", std::string(name_of(array.type)));
    if (array.size() != columns)
        refuse("x: " + std::to_string(array.size()) + " values, but the matrix has " +
               std::to_string(columns) + " columns");
}

template <class Value>
factor<Value> read_factor(nb::handle x, std::uint32_t columns, const context& ctx) {
    factor<Value> read;
    if (stays_on_device(x, ctx)) {
        if (auto array = read_device_array(x, "x")) {
            check_form(*array, type_of_number<Value>(), columns);
            if (!array->is_contiguous())
                refuse_type("x", "numbers one directly after the other in the memory of the GPU",
                            "others; copy them: x.contiguous() of PyTorch, cupy.ascontiguousarray(x)");
            read.device = {reinterpret_cast<const Value*>(array->data), columns, array->where};
            read.array = *std::move(array);
            return read;
        }
    }
    read.array = read_array(x, "x");
    check_form(read.array, type_of_number<Value>(), columns);
    read.values = numbers_of<Value>(read.array, "x");
    return read;
}

template <class Value>
python_product product_of(const python_matrix& matrix, nb::handle x, product_call requested) {
    const factor<Value> by = read_factor<Value>(x, matrix.columns(), requested.run.ctx);
    device_choice& device = requested.run.ctx.device;
    if (by.device && device.where == device_choice::kind::automatic)
        device = {device_choice::kind::cuda, by.device->where.ordinal};
    product<Value> found;
    matrix.kept().call(
        matrix.view<Value>(), requested.options.storage, requested.run, [&](resident_matrix<Value>& kept) {
            const std::uint32_t repeat = requested.options.repeat;
            found = by.device ? kept.multiply(*by.device, repeat) : kept.multiply(by.values, repeat);
        });
    python_product made;
    made.rows = matrix.rows();
    const std::uint64_t shape[] = {matrix.rows()};
    made.y = by.device ? device_array_of(std::move(found.device_y), type_of_number<Value>(), shape)
                       : array_from(std::move(found.y));
    made.storage = found.storage;
    made.bytes = found.bytes;
    made.conversion_seconds = found.conversion_seconds;
    made.seconds = std::move(found.seconds);
    made.place = std::move(found.place);
    return made;
}

python_product multiply_by(const python_matrix& matrix, nb::handle x, const product_call& requested) {
    return matrix.is_narrow() ? product_of<float>(matrix, x, requested)
                              : product_of<double>(matrix, x, requested);
}

std::string fingerprint_of(const python_product& found) {
    host_array y = read_array(found.y, "y");
    return fingerprint_of_rows({"y"}, [&](row_writer& rows) {
        if (y.type == number_type::f64)
            for (const double value : numbers_of<double>(y, "y")) rows.row({value});
        else
            for (const float value : numbers_of<float>(y, "y")) rows.row({value});
    });
}

}  // namespace

void declare_sparse(nb::module_& module) {
    nb::class_<python_product>(module, "Product",
                               "y = A x of SparseMatrix.multiply, and the record of its computation.")
        .def_prop_ro(
            "y", [](const python_product& found) { return found.y; }, nb::sig("def y(self) -> Any"),
            "One value per row, in the type of the matrix: an array of NumPy, or a DeviceArray where x lies "
            "on a GPU.")
        .def_prop_ro(
            "storage",
            [](const python_product& found) {
                return std::string(sparse_storage_names[static_cast<std::size_t>(found.storage)]);
            },
            "The format; with storage='auto' the choice.")
        .def_ro("bytes", &python_product::bytes, "Of the matrix as stored.")
        .def_ro("conversion_seconds", &python_product::conversion_seconds)
        .def_prop_ro(
            "seconds",
            [](const python_product& found) { return array_from(std::vector<double>(found.seconds)); },
            nb::sig("def seconds(self) -> NDArray[numpy.float64]"),
            "Of each of `repeat` products, without transfers.")
        .def_ro("place", &python_product::place, "The device, with the reason.")
        .def_prop_ro(
            "fingerprint", fingerprint_of,
            "XXH3-64 of the lines that `quern spmv --format tsv` writes for the matrix and the vector.")
        .def("__repr__", [](const python_product& found) {
            return "Product(" + std::to_string(found.rows) + " values, storage='" +
                   std::string(sparse_storage_names[static_cast<std::size_t>(found.storage)]) + "')";
        });

    nb::class_<python_matrix>(module, "SparseMatrix", R"(A sparse matrix for products with vectors.

Every value of a product is the exact sum, rounded once: the same bits in every storage format, on every device, for any
number of threads and any order of entries. (`brc` and `brcp-paper` add as their papers do; their results may differ.)

>>> import numpy, quern
>>> matrix = quern.SparseMatrix((numpy.array([0, 0, 1]), numpy.array([0, 2, 1]), numpy.array([1e16, 1.0, 3.0])))
>>> (matrix @ numpy.array([1.0, 1.0, 1.0])).tolist()
[1e+16, 3.0]
>>> matrix.shape, matrix.nnz
((2, 3), 3))")
        .def(
            "__init__",
            [](python_matrix* self, const nb::args& given, const nb::kwargs& options) {
                const constructor_call call = call_with("matrix", "SparseMatrix", given, options);
                new (self) python_matrix(call.argument, call.options);
            },
            nb::sig(matrix_parameters.constructor_signature("matrix: object")),
            matrix_parameters.doc(R"(Reads a matrix of float64 or float32. One of

- scipy's CSR, or an object with indptr, indices, data and shape: used in place, if indices are int32 and indptr
  int64; else these are copied;
- scipy's COO, or an object with row, col, data and shape, or a tuple of arrays (rows, columns, values): copied by rows;
- another matrix of scipy, by its method tocsr();
- the same of CuPy, and a tensor of PyTorch in its layout sparse_csr: copied to the host once, if on a GPU;
- the path of a Matrix Market file, which becomes float64.

Entries at the same position are added. inf and nan are allowed: a sum with them is inf or nan. Raises TypeError for other
objects and types, UsageError for a position outside of the shape, InvalidInput for a file.)"))
        .def(
            "multiply",
            [](const python_matrix& matrix, const nb::object& x, const nb::kwargs& given) {
                return multiply_by(matrix, x, product_parameters.read(given));
            },
            nb::arg("x").none(), nb::arg("options"),
            nb::sig(product_parameters.signature("self, x: object", "Product")),
            product_parameters.doc(R"(y = A x in a storage format, with times.

x: an array of one dimension, one value per column, of the matrix's type. An array of a GPU (PyTorch, CuPy, DLPack,
`__cuda_array_interface__`) is used in place, after the work of its stream, and y is a DeviceArray on the same GPU; with
device='cpu' it is copied to the host. Returns a Product. Raises TypeError, UsageError (also for storage='ell' that would be
mostly padding), OutOfMemory.

Cost: one pass over the matrix. The first call converts it and copies it to the device, where it stays for calls with the
same storage, device, threads and memory, until release(). brc, brcp: blocks of rows; docs/primitives/sparse.md and its papers.)"))
        .def(
            "__matmul__",
            [](const python_matrix& matrix, const nb::object& x) {
                return multiply_by(matrix, x, product_parameters.read(nb::kwargs())).y;
            },
            nb::arg("x").none(), nb::sig("def __matmul__(self, x: object, /) -> Any"),
            "y = A x, in the storage format that is chosen automatically; an array of NumPy, or a "
            "DeviceArray where x lies "
            "on a GPU.")
        .def(
            "release", [](const python_matrix& matrix) { matrix.kept().release(); },
            "Frees what products keep: the matrix in its storage format, on its device. The next one "
            "converts it again.")
        .def_prop_ro(
            "kept_bytes", [](const python_matrix& matrix) { return matrix.kept().bytes(); },
            "Of the matrix as the last product left it, in its storage format; 0 before the first.")
        .def(
            "to_scipy",
            [](nb::handle self) { return nb::module_::import_("quern._matrices").attr("to_scipy")(self); },
            nb::sig("def to_scipy(self) -> Any"),
            "A scipy CSR matrix; it shares the values, and the indices unless there are 2^31 columns or "
            "more.")
        .def_prop_ro(
            "shape",
            [](const python_matrix& matrix) { return nb::make_tuple(matrix.rows(), matrix.columns()); },
            nb::sig("def shape(self) -> tuple[int, int]"), "Rows and columns.")
        .def_prop_ro("nnz", &python_matrix::entries, "Stored entries, also zeros and repeated ones.")
        .def_prop_ro(
            "dtype", [](const python_matrix& matrix) { return matrix.is_narrow() ? "float32" : "float64"; },
            "float64 or float32.")
        .def_prop_ro(
            "indptr",
            [](nb::handle self) { return view_array(nb::cast<const python_matrix&>(self).offsets(), self); },
            nb::sig("def indptr(self) -> NDArray[numpy.uint64]"), "Where rows begin: rows + 1, read-only.")
        .def_prop_ro(
            "indices",
            [](nb::handle self) { return view_array(nb::cast<const python_matrix&>(self).column(), self); },
            nb::sig("def indices(self) -> NDArray[numpy.uint32]"),
            "Columns of the entries, by row, read-only.")
        .def_prop_ro(
            "data",
            [](nb::handle self) {
                const auto& matrix = nb::cast<const python_matrix&>(self);
                return matrix.is_narrow() ? view_array(matrix.narrow().value, self)
                                          : view_array(matrix.wide().value, self);
            },
            nb::sig("def data(self) -> NDArray[Any]"), "Values of the entries, by row, read-only.")
        .def(
            "__reduce__",
            [](nb::handle self) { return nb::module_::import_("quern._matrices").attr("reduce")(self); },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._matrices").attr("text_of")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def("_repr_html_",
             [](nb::handle self) { return "<code>" + nb::cast<std::string>(nb::repr(self)) + "</code>"; });
}

}  // namespace quern::python
