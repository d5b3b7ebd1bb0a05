// SPDX-License-Identifier: Apache-2.0
#include "vector_arguments.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include "device_arrays.hpp"
#include "errors.hpp"
#include "run.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

std::optional<vector_type> vector_type_of(number_type type) {
    using enum number_type;
    switch (type) {
        case f32:
            return vector_type::f32;
        case f16:
            return vector_type::f16;
        case bf16:
            return vector_type::bf16;
        case i16:
            return vector_type::i16;
        case i8:
            return vector_type::i8;
        case u8:
            return vector_type::u8;
        case f64:
            return vector_type::f64;
        default:
            return {};
    }
}

[[noreturn]] void refuse_component(number_type type, std::string_view name) {
    std::string hint = "; convert them, such as by x.astype('float32')";
    if (type == number_type::boolean)
        hint =
            "; pack them: numpy.packbits(x, axis=1, bitorder='little'), with metric='hamming' and "
            "bits=x.shape[1]";
    refuse_type(name, "numbers of float32, float64, float16, bfloat16, int8, uint8 or int16",
                std::string(name_of(type)) + hint);
}

std::uint32_t dimensions_of(std::uint64_t columns, std::string_view name) {
    if (columns == 0)
        refuse(std::string(name) +
               ": vectors of no dimensions (expected an array of shape (rows, dimensions))");
    if (columns > std::numeric_limits<std::uint32_t>::max())
        refuse(std::string(name) + ": " + std::to_string(columns) + " dimensions (expected fewer than 2^32)");
    return static_cast<std::uint32_t>(columns);
}

/// Rows may lie apart, as in x[::2] and x[:, :8]; other arrays are copied.
bool has_usable_rows(const host_array& array, std::uint64_t row_bytes) {
    const auto component = static_cast<std::int64_t>(bytes_of(array.type));
    if (array.size() == 0) return true;
    const std::int64_t step = array.strides[0];
    return (array.shape[1] == 1 || array.strides[1] == component) &&
           (array.shape[0] == 1 || (step >= static_cast<std::int64_t>(row_bytes) && step % component == 0)) &&
           reinterpret_cast<std::uintptr_t>(array.data) % static_cast<std::uintptr_t>(component) == 0;
}

/// Makes two dimensions of the array, and sets all of into.dense except its memory.
void set_form(held_vectors& into, host_array& array, const std::optional<std::uint64_t>& bits,
              std::string_view name) {
    const auto type = vector_type_of(array.type);
    if (!type) refuse_component(array.type, name);
    if (array.dimensions() == 1) {
        into.is_single = true;
        array.shape.insert(array.shape.begin(), 1);
        array.strides.insert(array.strides.begin(), array.shape[1] * array.strides[0]);
    }
    if (array.dimensions() != 2)
        refuse_type(name, "an array of shape (rows, dimensions)", "one of shape " + array.shape_text());
    const auto columns = static_cast<std::uint64_t>(array.shape[1]);
    vectors_view& view = into.dense;
    view.type = *type;
    view.rows = static_cast<std::uint64_t>(array.shape[0]);
    view.dimensions = dimensions_of(columns, name);
    if (bits) {
        if (array.type != number_type::u8) refuse_type(name, "uint8 for packed bits", name_of(array.type));
        if (columns != (*bits + 7) / 8)
            refuse(std::string(name) + ": rows of " + std::to_string(columns) + " bytes, but " +
                   std::to_string(*bits) + " bits take " + std::to_string((*bits + 7) / 8));
        view.type = vector_type::bits;
        view.dimensions = dimensions_of(*bits, name);
    }
    view.stride = view.row_bytes();
}

void read_dense(held_vectors& into, nb::handle given, const std::optional<std::uint64_t>& bits,
                std::string_view name) {
    host_array array = read_array(given, name);
    set_form(into, array, bits, name);
    vectors_view& view = into.dense;
    const std::uint64_t row_bytes = view.row_bytes();
    if (!has_usable_rows(array, row_bytes)) array = contiguous(std::move(array), name);
    view.stride =
        view.rows > 1 && array.size() != 0 ? static_cast<std::uint64_t>(array.strides[0]) : row_bytes;
    view.values = {array.data, view.rows == 0 ? 0 : (view.rows - 1) * view.stride + row_bytes};
    into.values = std::move(array);
}

void read_on_device(held_vectors& into, device_array array, const std::optional<std::uint64_t>& bits,
                    std::string_view name) {
    set_form(into, array, bits, name);
    if (!array.is_contiguous())
        refuse_type(
            name, "rows one directly after the other in the memory of the GPU",
            "rows that lie otherwise; copy them: x.contiguous() of PyTorch, cupy.ascontiguousarray(x)");
    into.device = {into.dense.type, into.dense.rows, into.dense.dimensions, array.data, array.where};
    into.values = std::move(array);
}

void read_sparse(held_vectors& into, nb::handle given, std::string_view name) {
    if (nb::hasattr(given, "format") && member_text(given, "format") != "csr")
        refuse_type(name, "a matrix by rows", "one in another format; convert it: x.tocsr()");
    const std::string base(name);
    const auto [rows, columns] = shape_of(given, name);
    into.is_sparse = true;
    into.values = read_array(given.attr("data"), base + ".data");
    if (into.values.type != number_type::f32)
        refuse_type(base + ".data", "float32",
                    std::string(name_of(into.values.type)) + "; convert it: x.astype('float32')");
    sparse_vectors_view& view = into.sparse;
    view.rows = rows;
    view.dimensions = dimensions_of(columns, name);
    view.values = numbers_of<float>(into.values, base + ".data");
    into.offset_values = read_array(given.attr("indptr"), base + ".indptr");
    view.offsets = whole_numbers_of(into.offset_values, into.offsets, base + ".indptr");
    into.column_values = read_array(given.attr("indices"), base + ".indices");
    if (into.column_values.type == number_type::i32 && into.column_values.dimensions() == 1) {
        into.column_values = contiguous(std::move(into.column_values), base + ".indices");
        // A negative one becomes a column past the last dimension, which is refused with its row.
        view.columns = {reinterpret_cast<const std::uint32_t*>(into.column_values.data),
                        into.column_values.size()};
        return;
    }
    std::vector<std::uint64_t> widened;
    const auto wide = whole_numbers_of(into.column_values, widened, base + ".indices");
    into.columns.resize(wide.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
        if (wide[i] >= columns)
            refuse(base + ".indices[" + std::to_string(i) + "] is " + std::to_string(wide[i]) +
                   ", but there are " + std::to_string(columns) + " columns");
        into.columns[i] = static_cast<std::uint32_t>(wide[i]);
    }
    into.column_values = {};
    view.columns = into.columns;
}

}  // namespace

void read_vectors(held_vectors& into, nb::handle given, const set_call& requested, std::string_view name) {
    into.source = nb::borrow(given);
    if (stays_on_device(given, requested.run.ctx)) {  // before buffers: CuPy's arrays claim to be some
        if (auto array = read_device_array(given, name))
            return read_on_device(into, *std::move(array), requested.bits, name);
    }
    if (PyObject_CheckBuffer(given.ptr()) != 0) return read_dense(into, given, requested.bits, name);
    if (is_path(given)) {
        const vectors_file_request request{
            .path = text_of(name, given),
            .tensor = requested.tensor,
            .as_bits = requested.has_metric && requested.options.metric == vector_metric::hamming};
        into.file =
            run_for(requested.run, [&](const context& ctx) { return open_vectors_file(request, ctx); });
        for (const std::string& note : into.file->notes()) log_note(request.path.string() + ": " + note);
        into.is_sparse = into.file->sparse();
        if (into.is_sparse)
            into.sparse = into.file->sparse_rows();
        else
            into.dense = into.file->dense();
        return;
    }
    if (is_compressed_rows(given)) return read_sparse(into, given, name);
    if (nb::hasattr(given, "tocsr"))
        refuse_type(name, "a matrix by rows", "a sparse one in another format; convert it: x.tocsr()");
    read_dense(into, given, requested.bits, name);
}

}  // namespace quern::python
