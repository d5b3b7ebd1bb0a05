// SPDX-License-Identifier: Apache-2.0
// quern.VectorSet: exact nearest neighbours of arrays, read in place.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "constructor.hpp"
#include "device_arrays.hpp"
#include "errors.hpp"
#include "fingerprint.hpp"
#include "kept_run.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/ops/nearest_option_table.hpp"
#include "texts.hpp"
#include "vector_arguments.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

constexpr std::uint64_t short_work = std::uint64_t{1} << 24;  ///< components: some milliseconds

/// As the rule of the program for the text of a distance.
enum class distance_kind { float32, float64, whole };

class python_vector_set {
  public:
    python_vector_set(nb::handle given, const nb::kwargs& options);

    nb::object search(nb::handle queries, nb::handle k, nb::handle radius, nb::handle allow);
    nb::object range_search(nb::handle queries, double radius, nb::handle allow);
    nb::dict record() const;

    const held_vectors& vectors() const { return vectors_; }
    const set_call& requested() const { return requested_; }
    std::string content() const;  ///< a fingerprint of the vectors

  private:
    struct neighbours {
        std::vector<std::uint64_t> lims{0};
        std::vector<std::int64_t> ids;
        std::vector<float> narrow;
        std::vector<double> wide;
    };
    held_vectors read_queries(nb::handle given) const;
    std::uint64_t allowed_from(nb::handle allow, std::vector<std::uint64_t>& bitmap) const;
    void find(const held_vectors& queries, const retrieval_options& options, const vector_set::sink& each);
    std::uint64_t work_of(const held_vectors& queries) const;
    bool is_narrow() const { return kind_ == distance_kind::float32; }
    nb::object result(nb::object distances, nb::object ids) const;

    set_call requested_;
    std::uint64_t memory_limit_;
    held_vectors vectors_;
    distance_kind kind_ = distance_kind::float32;
    turns turns_;
    kept_run kept_;
    std::optional<vector_set> set_;
    retrieval_record last_;  ///< of the last search that ended; the lock of the interpreter protects it
};

const parameters<set_call> set_parameters =
    parameters<set_call>("VectorSet")
        .table<&set_call::options>({"metric"})
        .add({"metric", "Literal['l2', 'sql2', 'ip', 'cosine', 'l1', 'linf', 'hamming'] | None", "None",
              std::string(option_of<vector_set_options>("metric").help) + " Default: l2, hamming for bits."},
             [](set_call& requested, nb::handle given) {
                 const auto& row = option_of<vector_set_options>("metric");
                 row.set(requested.options, value_of(row, given));
                 requested.has_metric = true;
             })
        .add({"bits", "int | None", "None",
              "The rows are packed bits, so many each: component j is bit j % 8, from the lowest, of byte j "
              "/ 8, as "
              "numpy.packbits(x, axis=1, bitorder='little') makes them. Bits after the last are 0."},
             [](set_call& requested, nb::handle given) {
                 requested.bits = whole_of("bits", given, 1, 0xffffffff);
             })
        .add({"tensor", "str | None", "None", "The tensor to read from a safetensors file with several."},
             [](set_call& requested, nb::handle given) { requested.tensor = text_of("tensor", given); })
        .common();

python_vector_set::python_vector_set(nb::handle given, const nb::kwargs& options)
    : requested_(set_parameters.read(options)), memory_limit_(requested_.run.ctx.memory_limit()) {
    read_vectors(vectors_, given, requested_, "x");
    const bool sparse = vectors_.is_sparse;
    if (sparse && requested_.bits) refuse("bits: sparse vectors have none");
    const vector_type type = vectors_.dense.type;
    if (!requested_.has_metric && !sparse && type == vector_type::bits)
        requested_.options.metric = vector_metric::hamming;
    const vector_metric metric = requested_.options.metric;
    const bool floats =
        sparse || type == vector_type::f32 || type == vector_type::f16 || type == vector_type::bf16;
    if (metric == vector_metric::l2 || (!sparse && type == vector_type::f64))
        kind_ = distance_kind::float64;
    else
        kind_ = floats || metric == vector_metric::cosine ? distance_kind::float32 : distance_kind::whole;
    if (vectors_.is_single) {
        vectors_ = {};
        refuse_type("x", "an array of shape (rows, dimensions)", "one of one dimension");
    }
    kept_.call(requested_.run, vectors_.rows() * vectors_.dimensions() <= short_work, [&] {
        const context ctx = kept_.for_object(requested_.run.ctx);
        if (sparse)
            set_.emplace(vectors_.sparse, requested_.options, ctx);
        else if (vectors_.device)
            set_.emplace(*vectors_.device, requested_.options, ctx);
        else
            set_.emplace(vectors_.dense, requested_.options, ctx);
    });
    last_ = set_->record();
}

std::uint64_t python_vector_set::work_of(const held_vectors& queries) const {
    const std::uint64_t components = vectors_.is_sparse ? vectors_.sparse.values.size() + vectors_.rows()
                                                        : vectors_.rows() * vectors_.dimensions();
    const std::uint64_t count = std::max<std::uint64_t>(queries.rows(), 1);
    return components > short_work ? components : components * std::min(count, short_work);
}

held_vectors python_vector_set::read_queries(nb::handle given) const {
    held_vectors queries;
    read_vectors(queries, given, requested_, "queries");
    if (queries.is_sparse != vectors_.is_sparse)
        refuse_type("queries", vectors_.is_sparse ? "sparse rows (x.tocsr())" : "a dense array",
                    queries.is_sparse ? "sparse rows" : "a dense array");
    if (!queries.is_sparse && queries.dense.type != vectors_.dense.type) {
        const auto name = [](const vectors_view& view) {
            return vector_type_names[static_cast<std::size_t>(view.type)];
        };
        refuse_type("queries", std::string(name(vectors_.dense)) + " as the vectors", name(queries.dense));
    }
    if (queries.dimensions() != vectors_.dimensions())
        refuse("queries: vectors of " + std::to_string(queries.dimensions()) + " dimensions (expected " +
               std::to_string(vectors_.dimensions()) + ")");
    return queries;
}

/// Sets the bitmap of a mask or of ids; returns the number of allowed rows.
std::uint64_t python_vector_set::allowed_from(nb::handle allow, std::vector<std::uint64_t>& bitmap) const {
    const std::uint64_t rows = vectors_.rows();
    if (allow.is_none()) return rows;
    nb::object given = nb::borrow(allow);
    if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
        given = nb::module_::import_("numpy").attr("asarray")(given);
        if (nb::len(given) == 0) given = given.attr("astype")("int64");
    }
    host_array array = read_array(given, "allow");
    if (array.dimensions() != 1)
        refuse_type("allow", "an array of one dimension", "one of shape " + array.shape_text());
    bitmap.assign((rows + 63) / 64, 0);
    const auto set = [&](std::uint64_t row) { bitmap[row / 64] |= std::uint64_t{1} << row % 64; };
    if (array.type == number_type::boolean) {
        if (array.size() != rows)
            refuse("allow: a mask of " + std::to_string(array.size()) + " values for " +
                   std::to_string(rows) + " vectors");
        array = contiguous(std::move(array), "allow");
        for (std::uint64_t row = 0; row < rows; ++row)
            if (array.data[row] != std::byte{0}) set(row);
    } else {
        std::vector<std::uint64_t> widened;
        const auto ids = whole_numbers_of(array, widened, "allow");
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (ids[i] >= rows)
                refuse("allow[" + std::to_string(i) + "] is " + std::to_string(ids[i]) + ", but there are " +
                       std::to_string(rows) + " vectors");
            set(ids[i]);
        }
    }
    std::uint64_t count = 0;
    for (const std::uint64_t word : bitmap) count += static_cast<std::uint64_t>(std::popcount(word));
    return count;
}

void python_vector_set::find(const held_vectors& queries, const retrieval_options& options,
                             const vector_set::sink& each) {
    kept_.call(requested_.run, work_of(queries) <= short_work, [&] {
        if (vectors_.is_sparse)
            set_->search(queries.sparse, options, each);
        else if (queries.device)
            set_->search(*queries.device, options, each);
        else
            set_->search(queries.dense, options, each);
    });
    last_ = set_->record();
}

nb::object python_vector_set::result(nb::object distances, nb::object ids) const {
    static const nb::handle neighbors =
        nb::object(nb::module_::import_("quern._vectors").attr("Neighbors")).release();
    return neighbors(std::move(distances), std::move(ids), kind_ == distance_kind::whole);
}

std::uint64_t k_of(nb::handle given) {
    if (given.is_none()) return all_vectors;
    if (PyLong_CheckExact(given.ptr())) {
        const long k = PyLong_AsLong(given.ptr());
        if (k > 0) return static_cast<std::uint64_t>(k);
        PyErr_Clear();
    }
    const auto& row = option_of<retrieval_options>("top");
    retrieval_options options;
    option_description named = row;
    named.name = "k";
    row.set(options, value_of(named, given));
    return options.k;
}

nb::object python_vector_set::search(nb::handle given, nb::handle k, nb::handle radius, nb::handle allow) {
    const held_vectors queries = read_queries(given);
    retrieval_options options{.k = k_of(k)};
    if (!radius.is_none()) {
        options.radius = PyFloat_AsDouble(radius.ptr());  // infinity is a radius, too
        if (PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            refuse("radius: invalid value " + nb::cast<std::string>(nb::repr(radius)) +
                   " (expected a number)");
        }
    }
    std::vector<std::uint64_t> bitmap;
    const std::uint64_t candidates = allowed_from(allow, bitmap);
    options.allowed = bitmap;
    const std::uint64_t columns = options.k == all_vectors ? candidates : options.k, rows = queries.rows();
    const std::uint64_t each_bytes = sizeof(std::int64_t) + (is_narrow() ? sizeof(float) : sizeof(double));
    const std::uint64_t limit = memory_limit_ / each_bytes;
    if (rows != 0 && columns > limit / rows)
        throw out_of_memory(
            "the rankings of " + std::to_string(rows) + " queries, " + std::to_string(columns) + " each",
            columns > all_vectors / each_bytes / rows ? all_vectors : rows * columns * each_bytes,
            limit * each_bytes);

    const double farthest = requested_.options.metric == vector_metric::ip
                                ? -std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::infinity();
    const std::uint64_t shape[] = {rows, columns};
    const auto extents = std::span<const std::uint64_t>(shape).last(queries.is_single ? 1 : 2);
    const auto ids = make_new_array<std::int64_t>(extents);
    const auto narrow = is_narrow() ? make_new_array<float>(extents) : new_array<float>();
    const auto wide = is_narrow() ? new_array<double>() : make_new_array<double>(extents);
    const auto put = [&](std::uint64_t query, std::span<const std::uint32_t> found, auto distances,
                         const auto& into, double rest) {
        const auto row = into.values.subspan(query * columns, columns);
        const auto row_ids = ids.values.subspan(query * columns, columns);
        std::copy(found.begin(), found.end(), row_ids.begin());
        using number = typename std::remove_cvref_t<decltype(row)>::value_type;
        std::transform(distances.begin(), distances.end(), row.begin(),
                       [](double distance) { return static_cast<number>(distance); });
        std::ranges::fill(row.subspan(found.size()), static_cast<number>(rest));
        std::ranges::fill(row_ids.subspan(found.size()), -1);
    };
    {
        const auto turn = turns_.take("a search of this set");
        find(queries, options,
             [&](std::uint64_t query, std::span<const std::uint32_t> found,
                 std::span<const double> distances) {
                 if (is_narrow())
                     put(query, found, distances, narrow, farthest);
                 else
                     put(query, found, distances, wide, farthest);
             });
    }
    if (queries.device) {
        const int gpu = queries.device->where.ordinal;
        return result(is_narrow() ? copied_to_device<float>(narrow.values, extents, gpu)
                                  : copied_to_device<double>(wide.values, extents, gpu),
                      copied_to_device<std::int64_t>(ids.values, extents, gpu));
    }
    return result(is_narrow() ? narrow.array : wide.array, ids.array);
}

nb::object python_vector_set::range_search(nb::handle given, double radius, nb::handle allow) {
    const held_vectors queries = read_queries(given);
    std::vector<std::uint64_t> bitmap;
    (void)allowed_from(allow, bitmap);
    const retrieval_options options{.k = all_vectors, .radius = radius, .allowed = bitmap};
    std::vector<std::int64_t> lims{0}, ids;
    std::vector<float> narrow;
    std::vector<double> wide;
    {
        const auto turn = turns_.take("a search of this set");
        find(queries, options,
             [&](std::uint64_t, std::span<const std::uint32_t> found, std::span<const double> distances) {
                 ids.insert(ids.end(), found.begin(), found.end());
                 if (is_narrow())
                     for (const double distance : distances) narrow.push_back(static_cast<float>(distance));
                 else
                     wide.insert(wide.end(), distances.begin(), distances.end());
                 lims.push_back(static_cast<std::int64_t>(ids.size()));
             });
    }
    static const nb::handle classes = nb::module_::import_("quern._vectors").release();
    if (queries.device) {
        const auto put = [&]<class Value>(const std::vector<Value>& values) {
            const std::uint64_t size = values.size();
            return copied_to_device<Value>(std::span(values), {&size, 1}, queries.device->where.ordinal);
        };
        return classes.attr("RangeNeighbors")(put(lims), is_narrow() ? put(narrow) : put(wide), put(ids),
                                              kind_ == distance_kind::whole);
    }
    nb::object distances = is_narrow() ? array_from(std::move(narrow)) : array_from(std::move(wide));
    return classes.attr("RangeNeighbors")(array_from(std::move(lims)), distances, array_from(std::move(ids)),
                                          kind_ == distance_kind::whole);
}

nb::dict python_vector_set::record() const {
    nb::dict fields;
    const retrieval_record& last = last_;
    fields["place"] = last.place;
    fields["distances"] = last.distances;
    fields["filtered"] = last.filtered;
    fields["tiles"] = last.tiles;
    fields["tile_bytes"] = last.tile_bytes;
    fields["prepare_seconds"] = last.prepare_seconds;
    fields["search_seconds"] = last.search_seconds;
    return fields;
}

std::string python_vector_set::content() const {
    fingerprint digest;
    const auto add = [&](auto values) {
        const auto bytes = std::as_bytes(values);
        digest.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    const std::uint64_t form[] = {vectors_.rows(), vectors_.dimensions(), vectors_.is_sparse ? 1u : 0u,
                                  static_cast<std::uint64_t>(vectors_.dense.type)};
    add(std::span(form));
    if (vectors_.is_sparse) {
        add(vectors_.sparse.offsets);
        add(vectors_.sparse.columns);
        add(vectors_.sparse.values);
    } else if (vectors_.device) {
        const device_vectors_view& all = *vectors_.device;
        const auto* const from = static_cast<const std::byte*>(all.values);
        std::vector<std::byte> part(std::min<std::uint64_t>(all.bytes(), 16 << 20));
        for (std::uint64_t at = 0; at < all.bytes(); at += part.size()) {
            const auto some = std::span(part).first(std::min<std::uint64_t>(part.size(), all.bytes() - at));
            copy_to_host({.ordinal = all.where.ordinal}, from + at, some);
            add(std::span<const std::byte>(some));
        }
    } else {
        const vectors_view& view = vectors_.dense;
        for (std::uint64_t row = 0; row < view.rows; ++row)
            add(view.values.subspan(row * view.stride, view.row_bytes()));
    }
    return digest.text();
}

// ---- What the program writes ----

/// Rows of query, rank, id, distance; `lims`: where each query's begin.
std::string fingerprint_of_rankings(nb::handle lims, nb::handle distances, nb::handle ids, bool whole) {
    std::vector<std::uint64_t> none;
    host_array lim_array = read_array(lims, "lims"), distance_array = read_array(distances, "distances"),
               id_array = read_array(ids, "ids");
    const auto begins = whole_numbers_of(lim_array, none, "lims");
    const auto id = numbers_of<std::int64_t>(id_array, "ids");
    const bool narrow = distance_array.type == number_type::f32;
    const auto floats = narrow ? numbers_of<float>(distance_array, "distances") : std::span<const float>();
    const auto doubles = narrow ? std::span<const double>() : numbers_of<double>(distance_array, "distances");
    const nb::gil_scoped_release released;
    return fingerprint_of_rows({"query", "rank", "id", "distance"}, [&](row_writer& rows) {
        for (std::uint64_t query = 0; query + 1 < begins.size(); ++query) {
            for (std::uint64_t at = begins[query], rank = 1; at < begins[query + 1]; ++at, ++rank) {
                if (id[at] < 0) break;  // the ranking is shorter
                cell distance;
                if (narrow)
                    distance = floats[at];
                else if (whole)
                    distance = static_cast<std::int64_t>(doubles[at]);
                else
                    distance = doubles[at];
                rows.row({query, rank, id[at], distance});
            }
        }
    });
}

}  // namespace

void declare_vectors(nb::module_& module) {
    declare_device_arrays(module);
    nb::class_<python_vector_set>(module, "VectorSet", R"(Vectors to search for nearest neighbours, exactly.

The order is that of the true distances, real numbers without rounding, ties by ascending id: the same ids and bits on
every device and for any number of threads. No index is built, and arrays are searched in place.

>>> import numpy, quern
>>> vectors = quern.VectorSet(numpy.array([[0, 0], [3, 4], [6, 8]], dtype="float32"))
>>> distances, ids = vectors.search(numpy.array([[3, 3]], dtype="float32"), k=2)
>>> distances.tolist(), ids.tolist()
([[1.0, 4.242640687119285]], [[1, 0]])

Methods: docs/nearest_neighbours.md; Zhou, Hu, Zhang, Huang and Jiang 2011, "High-Dimensional Space Retrieval Sorting
Based on CUDA", for method="reduction".)")
        .def(
            "__init__",
            [](python_vector_set* self, const nb::args& given, const nb::kwargs& options) {
                const constructor_call call = call_with("x", "VectorSet", given, options);
                new (self) python_vector_set(call.argument, call.options);
            },
            nb::sig(set_parameters.constructor_signature("x: object")),
            set_parameters.doc(R"(Reads the description of `x` and checks its numbers.

x: rows of vectors. One of
- an array of shape (rows, dimensions): NumPy, memory-mapped and read-only ones too, and every object with the buffer
  protocol, `__array_interface__` or DLPack; float32, float64, float16, bfloat16, int8, uint8, int16, or packed bits
  (`bits`). Rows may lie apart, as in x[::2]; other arrays are copied once, and `logging` has a note.
- sparse rows: scipy's CSR or an object with its members indptr, indices, data (float32) and shape. Columns rise in every
  row: x.sort_indices() and x.sum_duplicates() make them so.
- the path of a file in a format of docs/vectors.md.
- a dense array of a GPU (CuPy, PyTorch: DLPack or `__cuda_array_interface__`): it is searched there, without a copy, after
  the work that its stream has now. Its rows are adjacent. With device="cpu", and where Quern has no CUDA, it is copied to the
  host once, by its own method get() or cpu(), and `logging` has a note; so are the arrays of sparse rows.

The set uses the array's memory and keeps it alive: do not change it meanwhile. Raises TypeError for objects and numbers of
another kind, InvalidInput, with the row as `position`, for numbers that are not finite, UsageError for a metric that the
type does not support. Cost: one pass over the numbers.)"))
        .def("search", &python_vector_set::search, nb::arg("queries").none(), nb::arg("k").none() = 10,
             nb::kw_only(), nb::arg("radius").none() = nb::none(), nb::arg("allow").none() = nb::none(),
             nb::sig("def search(self, queries: object, k: int | Literal['all'] | None = 10, *, radius: "
                     "float | None = "
                     "None, allow: object | None = None) -> Neighbors"),
             R"(The k nearest vectors of each query: (distances, ids), best first, in the order of FAISS.

queries: an array of the vectors' type and dimensions, a path, or one vector of one dimension, for which the results have
one dimension, too. k: None or "all" is the complete ranking. radius: only vectors within this distance (ip: with at least
this product), compared before the distance is rounded to float32. allow: only these vectors: a bool array, one per vector, or ids.

Returns arrays of shape (queries, k); k=None: (queries, allowed vectors); of NumPy, or quern.DeviceArray in the memory of the
GPU where the queries lie. ids is int64. distances is float32 if the type and
the metric give 24 bits, else float64 (l2, float64 vectors, and integers, which are exact up to 2^53). A ranking shorter than
k ends with ids of -1 and distances of inf (ip: -inf). Ties by ascending id.

Raises TypeError, UsageError, InvalidInput with the query as `position`, OutOfMemory. One search of a set runs at a time,
others wait; the interpreter's lock is free meanwhile. Ctrl-C drops the search; the set remains valid. Cost: rows *
dimensions a query.)")
        .def("range_search", &python_vector_set::range_search, nb::arg("queries").none(), nb::arg("radius"),
             nb::kw_only(), nb::arg("allow").none() = nb::none(),
             nb::sig(
                 "def range_search(self, queries: object, radius: float, *, allow: object | None = None) -> "
                 "RangeNeighbors"),
             R"(All vectors within a distance of each query: (lims, distances, ids), in the order of FAISS.

The neighbours of query q are distances[lims[q]:lims[q + 1]] and ids[lims[q]:lims[q + 1]], best first; lims is int64. A
distance equal to the radius is within; for ip the product is at least the radius. Otherwise as search.)")
        .def_prop_ro(
            "record", &python_vector_set::record, nb::sig("def record(self) -> dict[str, Any]"),
            "The work of the last search: place, distances computed exactly, pairs that the filter examined, "
            "tiles, bytes moved to devices, seconds.")
        .def_prop_ro(
            "shape",
            [](const python_vector_set& set) {
                return nb::make_tuple(set.vectors().rows(), set.vectors().dimensions());
            },
            nb::sig("def shape(self) -> tuple[int, int]"), "Rows and dimensions.")
        .def_prop_ro(
            "dtype",
            [](const python_vector_set& set) {
                const held_vectors& all = set.vectors();
                return std::string(
                    all.is_sparse ? "float32" : vector_type_names[static_cast<std::size_t>(all.dense.type)]);
            },
            "The type of a component: float32, …, bits.")
        .def_prop_ro(
            "metric",
            [](const python_vector_set& set) {
                return std::string(
                    vector_metric_names[static_cast<std::size_t>(set.requested().options.metric)]);
            },
            "The name of the metric.")
        .def_prop_ro(
            "names",
            [](const python_vector_set& set) {
                nb::list names;
                if (set.vectors().file)
                    for (const std::string_view name : set.vectors().file->names())
                        names.append(text_object(name));
                return names;
            },
            nb::sig("def names(self) -> list[str]"),
            "The words of a word2vec or GloVe file, one per vector; else empty.")
        .def_prop_ro(
            "content", &python_vector_set::content,
            "16 hexadecimal digits, XXH3-64 of the vectors and their form. Cost: one pass over the numbers.")
        .def_prop_ro("_source", [](const python_vector_set& set) { return set.vectors().source; })
        .def_prop_ro(
            "_options",
            [](const python_vector_set& set) {
                nb::dict options;
                const set_call& requested = set.requested();
                options["metric"] =
                    std::string(vector_metric_names[static_cast<std::size_t>(requested.options.metric)]);
                options["method"] =
                    std::string(retrieval_method_names[static_cast<std::size_t>(requested.options.method)]);
                if (requested.bits) options["bits"] = *requested.bits;
                if (!requested.tensor.empty()) options["tensor"] = requested.tensor;
                if (requested.run.ctx.threads != 0) options["threads"] = requested.run.ctx.threads;
                return options;
            })
        .def(
            "as_sklearn",
            [](nb::handle self) {
                return nb::module_::import_("quern._vectors").attr("NearestNeighbors").attr("_of")(self);
            },
            nb::sig("def as_sklearn(self) -> NearestNeighbors"),
            "A fitted quern.NearestNeighbors of these vectors.")
        .def("__len__", [](const python_vector_set& set) { return set.vectors().rows(); })
        .def(
            "__reduce__",
            [](nb::handle self) { return nb::module_::import_("quern._vectors").attr("reduce")(self); },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._vectors").attr("text_of")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::module_::import_("quern._vectors").attr("html_of")(self); },
            nb::sig("def _repr_html_(self) -> str"));
    module.def("_fingerprint_of_rankings", fingerprint_of_rankings, nb::arg("lims"), nb::arg("distances"),
               nb::arg("ids"), nb::arg("whole"),
               nb::sig("def _fingerprint_of_rankings(lims: object, distances: object, ids: object, whole: "
                       "bool) -> str"));
}

}  // namespace quern::python
