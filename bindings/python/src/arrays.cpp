// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "array_protocols.hpp"
#include "errors.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

constexpr const char* what_is_read =
    "an array (NumPy, or any object with the buffer protocol, __array_interface__ or __dlpack__)";

std::string name_of_type(nb::handle given) {
    return nb::cast<std::string>(nb::type_name(given.type()));
}

std::optional<host_array> read_buffer(nb::handle given, std::string_view name) {
    if (PyObject_CheckBuffer(given.ptr()) == 0) return {};
    auto buffer = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(given.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear();  // such as NumPy's bfloat16: its other protocols may serve
        return {};
    }
    Py_buffer* const held = buffer.release();
    host_array array;
    array.owner = nb::capsule(held, [](void* kept) noexcept {
        PyBuffer_Release(static_cast<Py_buffer*>(kept));
        delete static_cast<Py_buffer*>(kept);
    });
    array.type = type_of_format(held->format == nullptr ? "B" : held->format,
                                static_cast<std::size_t>(held->itemsize), name);
    array.data = static_cast<const std::byte*>(held->buf);
    array.shape.assign(held->shape, held->shape + held->ndim);
    array.strides.assign(held->strides, held->strides + held->ndim);
    return array;
}

std::optional<host_array> read_interface(nb::handle given, std::string_view name) {
    if (!nb::hasattr(given, "__array_interface__")) return {};
    const nb::object described = given.attr("__array_interface__");
    if (!nb::isinstance<nb::dict>(described)) return {};
    const auto fields = nb::cast<nb::dict>(described);
    const auto has = [&](const char* key) { return fields.contains(key) && !fields[key].is_none(); };
    if (has("mask")) refuse_type(name, "an array without a mask", "a masked one");
    if (!has("typestr") || !has("shape") || !has("data") || !nb::isinstance<nb::tuple>(fields["data"]))
        return {};
    host_array array;
    array.owner = nb::make_tuple(nb::borrow(given), described);
    array.type = type_of_typestr(given, nb::cast<std::string>(fields["typestr"]), name);
    const auto address = nb::cast<std::uintptr_t>(nb::cast<nb::tuple>(fields["data"])[0]);
    array.data =
        reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): the protocol
    for (const nb::handle one : nb::cast<nb::tuple>(fields["shape"]))
        array.shape.push_back(nb::cast<std::int64_t>(one));
    const bool is_valid = std::ranges::all_of(array.shape, [](std::int64_t extent) { return extent >= 0; }) &&
                          (array.data != nullptr || array.size() == 0);
    if (!is_valid) refuse_type(name, "an array with memory and extents of at least 0", array.shape_text());
    if (has("strides")) {
        for (const nb::handle one : nb::cast<nb::tuple>(fields["strides"]))
            array.strides.push_back(nb::cast<std::int64_t>(one));
        if (array.strides.size() != array.shape.size())
            refuse_type(name, "as many strides as dimensions", "others");
    } else {
        set_rows_in_order(array);
    }
    return array;
}

std::optional<host_array> read_dlpack(nb::handle given, std::string_view name) {
    if (!nb::hasattr(given, "__dlpack__")) return {};
    int device_type = 0, device_id = 0;
    auto array = array_of_capsule(dlpack_capsule(given, nb::none()), name, device_type, device_id);
    if (array && device_type != nb::device::cpu::value)
        refuse_type(name, "an array in the memory of the host", "one of a device; copy it there");
    return array;
}

nb::object copied_to_host(nb::handle given, std::string_view name) {
    for (const char* const method : {"get", "cpu"}) {
        if (!nb::hasattr(given, method)) continue;
        nb::object copy = given.attr(method)();
        if (is_on_device(copy)) break;
        log_note(std::string(name) + ": the array of a GPU was copied to the host");
        return copy;
    }
    refuse_type(name, "an array in the memory of the host",
                "one of a GPU without the methods get() or cpu()");
}

/// The type of Arrow's lists of one length, as pyarrow has columns of vectors; else nothing.
nb::object type_of_lists(nb::handle given, std::string_view name) {
    if (!nb::hasattr(given, "type") || !nb::hasattr(given, "null_count")) return {};
    nb::object type = given.attr("type");
    if (nb::hasattr(type, "list_size")) return type;
    if (const std::string text = member_text(given, "type");
        text.starts_with("list<") || text.starts_with("large_list<"))
        refuse_type(name, "numbers, or lists of one length",
                    member_text(given, "type") + "; cast them: x.cast(pyarrow.list_(pyarrow.float32(), n))");
    return {};
}

/// A row of numbers for each list, without a copy if it is one chunk.
nb::object rows_of_lists(nb::handle given, nb::handle type, std::string_view name) {
    nb::object lists = nb::borrow(given);
    if (nb::hasattr(lists, "combine_chunks")) lists = lists.attr("combine_chunks")();
    const nb::object values = lists.attr("flatten")();
    for (const nb::handle part : {nb::handle(lists), nb::handle(values)})
        if (nb::cast<std::int64_t>(part.attr("null_count")) != 0)
            refuse_type(name, "lists of numbers", "lists with nulls; drop them: x.drop_null()");
    return values.attr("to_numpy")().attr("reshape")(-1, type.attr("list_size"));
}

host_array read_on_host(nb::handle given, std::string_view name) {
    if (auto array = read_buffer(given, name)) return with_checked_shape(*std::move(array), name);
    if (auto array = read_interface(given, name)) return with_checked_shape(*std::move(array), name);
    if (auto array = read_dlpack(given, name)) return with_checked_shape(*std::move(array), name);
    refuse_type(name, what_is_read, name_of_type(given));
}

void copy_rows(const host_array& from, std::size_t dimension, const std::byte* at, std::byte*& to,
               std::size_t bytes) {
    if (dimension == from.dimensions()) {
        std::memcpy(to, at, bytes);
        to += bytes;
        return;
    }
    for (std::int64_t i = 0; i < from.shape[dimension]; ++i)
        copy_rows(from, dimension + 1, at + i * from.strides[dimension], to, bytes);
}

}  // namespace

std::size_t bytes_of(number_type type) {
    using enum number_type;
    switch (type) {
        case f64:
        case i64:
        case u64:
            return 8;
        case f32:
        case i32:
        case u32:
            return 4;
        case f16:
        case bf16:
        case i16:
        case u16:
            return 2;
        default:
            return 1;
    }
}

std::uint64_t host_array::size() const {
    std::uint64_t product = 1;
    for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
    return product;
}

bool host_array::is_contiguous() const {
    if (size() == 0) return true;
    auto stride = static_cast<std::int64_t>(bytes_of(type));
    for (std::size_t d = shape.size(); d-- > 0;) {
        if (shape[d] != 1 && strides[d] != stride) return false;
        stride *= shape[d];
    }
    return reinterpret_cast<std::uintptr_t>(data) % bytes_of(type) == 0;
}

std::string host_array::shape_text() const {
    std::string text = "(";
    for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

host_array read_array(nb::handle given, std::string_view name) {
    if (nb::hasattr(given, "filled") && nb::hasattr(given, "mask"))
        refuse_type(name, "an array without a mask", name_of_type(given) + "; fill it: x.filled(…)");
    if (auto array = read_buffer(given, name)) return with_checked_shape(*std::move(array), name);
    if (const nb::object type = type_of_lists(given, name); type.is_valid())
        return read_on_host(rows_of_lists(given, type, name), name);
    if (is_on_device(given)) return read_on_host(copied_to_host(given, name), name);
    const bool by_protocol = nb::hasattr(given, "__array_interface__") || nb::hasattr(given, "__dlpack__");
    if (!by_protocol && nb::hasattr(given, "__array__") && !nb::isinstance<nb::type_object>(given))
        return read_on_host(nb::module_::import_("numpy").attr("asarray")(given), name);
    return read_on_host(given, name);
}

host_array contiguous(host_array given, std::string_view name) {
    if (given.is_contiguous()) {
        set_rows_in_order(given);
        return given;
    }
    const std::size_t bytes = bytes_of(given.type);
    const std::uint64_t total = given.size() * bytes;
    auto* const memory = new std::vector<std::uint64_t>((total + 7) / 8);
    nb::object owner = nb::capsule(
        memory, [](void* held) noexcept { delete static_cast<std::vector<std::uint64_t>*>(held); });
    auto* to = reinterpret_cast<std::byte*>(memory->data());
    host_array copy = given;
    copy.owner = std::move(owner);
    copy.data = to;
    copy_rows(given, 0, given.data, to, bytes);
    set_rows_in_order(copy);
    log_note(std::string(name) + ": an array of shape " + given.shape_text() +
             " that is not contiguous was copied (numpy.ascontiguousarray avoids this)");
    return copy;
}

std::span<const std::uint64_t> whole_numbers_of(host_array& kept, std::vector<std::uint64_t>& widened,
                                                std::string_view name, std::string_view expected) {
    if (kept.dimensions() != 1)
        refuse_type(name, "an array of one dimension", "one of shape " + kept.shape_text());
    using enum number_type;
    if (kept.type == boolean || kept.type == f16 || kept.type == bf16 || kept.type == f32 || kept.type == f64)
        refuse_type(name, "whole numbers", name_of(kept.type));
    kept = contiguous(std::move(kept), name);
    const std::uint64_t size = kept.size();
    const auto refuse_negative = [&](std::uint64_t at) {
        refuse(std::string(name) + "[" + std::to_string(at) + "] is negative (expected " +
               std::string(expected) + ")");
    };
    if (kept.type == u64) return {reinterpret_cast<const std::uint64_t*>(kept.data), size};
    if (kept.type == i64) {
        const auto* const values = reinterpret_cast<const std::int64_t*>(kept.data);
        for (std::uint64_t i = 0; i < size; ++i)
            if (values[i] < 0) refuse_negative(i);
        return {reinterpret_cast<const std::uint64_t*>(kept.data), size};
    }
    widened.resize(size);
    const auto widen = [&]<class Number>(Number) {
        const auto* const values = reinterpret_cast<const Number*>(kept.data);
        for (std::uint64_t i = 0; i < size; ++i) {
            if constexpr (std::is_signed_v<Number>)
                if (values[i] < 0) refuse_negative(i);
            widened[i] = static_cast<std::uint64_t>(values[i]);
        }
    };
    switch (kept.type) {
        case i8:
            widen(std::int8_t{});
            break;
        case i16:
            widen(std::int16_t{});
            break;
        case i32:
            widen(std::int32_t{});
            break;
        case u8:
            widen(std::uint8_t{});
            break;
        case u16:
            widen(std::uint16_t{});
            break;
        default:
            widen(std::uint32_t{});
    }
    return widened;
}

nb::object empty_array(std::span<const std::uint64_t> shape, number_type type, void*& data) {
    // Kept until the interpreter ends.
    static const nb::handle make = nb::object(nb::module_::import_("numpy").attr("empty")).release();
    static nb::handle dtypes[std::size(number_type_names)];
    nb::handle& dtype = dtypes[static_cast<std::size_t>(type)];
    if (!dtype.is_valid())
        dtype = nb::module_::import_("numpy").attr("dtype")(std::string(name_of(type))).release();
    const nb::object extents = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    for (std::size_t d = 0; d < shape.size(); ++d)
        PyTuple_SetItem(extents.ptr(), static_cast<Py_ssize_t>(d), PyLong_FromUnsignedLongLong(shape[d]));
    nb::object array = make(extents, dtype);
    Py_buffer buffer;
    if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE) != 0) throw nb::python_error();
    data = buffer.buf;
    PyBuffer_Release(&buffer);  // NumPy's memory stays where it is
    return array;
}

nb::object list_as_array(nb::handle given, const char* type) {
    if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) return nb::borrow(given);
    const nb::object numpy = nb::module_::import_("numpy");
    if (type != nullptr || nb::len(given) == 0)
        return numpy.attr("asarray")(given, nb::str(type == nullptr ? "int64" : type));
    return numpy.attr("asarray")(given);
}

nb::object ids_as_array(nb::handle given, std::string_view name) {
    nb::object array = list_as_array(given);
    if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) return array;
    const std::string kind = member_text(array.attr("dtype"), "kind");
    if (kind == "i" || kind == "u") return array;
    std::size_t position = 0;
    for (const nb::handle id : nb::borrow<nb::object>(given)) {
        bool is_whole = PyIndex_Check(id.ptr()) != 0 && !PyBool_Check(id.ptr());
        if (is_whole) {
            const nb::object number = nb::steal(PyNumber_Index(id.ptr()));
            (void)PyLong_AsUnsignedLongLong(number.is_valid() ? number.ptr() : Py_None);
            is_whole = PyErr_Occurred() == nullptr;
            PyErr_Clear();
        }
        if (!is_whole)
            refuse_type(name, "all ids to be texts, or all whole numbers from 0 to below 2^64",
                        nb::cast<std::string>(nb::repr(id)) + " at position " + std::to_string(position));
        ++position;
    }
    return list_as_array(given, "uint64");  // numbers on both sides of 2^63 become floats or objects
}

void refuse_type(std::string_view name, std::string_view expected, std::string_view got) {
    const std::string text =
        std::string(name) + ": expected " + std::string(expected) + ", got " + std::string(got);
    throw nb::type_error(text.c_str());
}

void log_note(const std::string& text) {
    nb::module_::import_("logging").attr("getLogger")("quern").attr("info")("%s", text);
}

std::string member_text(nb::handle given, const char* name) {
    const nb::object member = given.attr(name);
    return nb::cast<std::string>(nb::str(nb::handle(member)));
}

bool has_texts(nb::handle given) {
    if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given))
        return nb::len(given) != 0 && nb::isinstance<nb::str>(given[0]);
    if (nb::hasattr(given, "to_pylist") && nb::hasattr(given, "type"))  // of Arrow
        return member_text(given, "type").find("string") != std::string::npos;
    if (!nb::hasattr(given, "dtype")) return false;
    const nb::object dtype = given.attr("dtype");
    if (nb::hasattr(dtype, "kind")) {
        const auto kind = member_text(dtype, "kind");
        return kind == "U" || kind == "O" || kind == "T";
    }
    const auto text = nb::cast<std::string>(nb::str(dtype));  // of polars
    return text == "String" || text == "Utf8" || text.starts_with("Categorical") || text.starts_with("Enum");
}

nb::object listed(nb::handle given) {
    for (const char* const method : {"to_pylist", "tolist", "to_list"})
        if (nb::hasattr(given, method)) return given.attr(method)();
    return nb::borrow(given);
}

bool is_compressed_rows(nb::handle given) {
    for (const char* const member : {"indptr", "indices", "data", "shape"})
        if (!nb::hasattr(given, member)) return false;
    return true;
}

std::pair<std::uint64_t, std::uint64_t> shape_of(nb::handle given, std::string_view name) {
    const nb::object shape = given.attr("shape");
    if (nb::len(shape) != 2)
        refuse_type(name, "a matrix", "one of " + std::to_string(nb::len(shape)) + " dimensions");
    return {nb::cast<std::uint64_t>(shape[0]), nb::cast<std::uint64_t>(shape[1])};
}

}  // namespace quern::python
