// SPDX-License-Identifier: Apache-2.0
#include "device_arrays.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "array_protocols.hpp"
#include "quern/base/error.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

// Numbers of the protocols.
constexpr int dlpack_cuda = 2, dlpack_cuda_managed = 13;
constexpr std::int64_t legacy_stream = 1, thread_stream = 2;

// ---- Arrays of others ----

void* stream_of_number(std::int64_t number) {
    return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): the protocol
}

std::optional<device_array> read_dlpack(nb::handle given, std::string_view name) {
    if (!nb::hasattr(given, "__dlpack_device__") || !nb::hasattr(given, "__dlpack__")) return {};
    const auto where = nb::cast<int>(given.attr("__dlpack_device__")()[0]);
    if (where != dlpack_cuda && where != dlpack_cuda_managed) return {};
    int device_type = 0, device_id = 0;
    auto described =
        array_of_capsule(dlpack_capsule(given, nb::int_(legacy_stream)), name, device_type, device_id);
    if (!described) return {};
    return device_array{*std::move(described),
                        {.ordinal = device_id,
                         .ready = data_location::order::after_stream,
                         .stream = stream_of_number(legacy_stream)}};
}

/// When numbers are complete, by version 3 of the interface; earlier ones do not say.
void read_order(const nb::dict& fields, data_location& where, std::string_view name) {
    using order = data_location::order;
    where.ready = order::after_device;
    if (!fields.contains("version") || nb::cast<int>(fields["version"]) < 3) return;
    if (!fields.contains("stream") || fields["stream"].is_none()) {
        where.ready = order::complete;
        return;
    }
    const auto stream = nb::cast<std::int64_t>(fields["stream"]);
    if (stream == 0)
        refuse_type(name, "a stream other than 0 in __cuda_array_interface__ (1 is the default)", "0");
    if (stream == thread_stream) return;  // of this thread, but another one searches
    where.ready = order::after_stream;
    where.stream = stream_of_number(stream);
}

std::optional<device_array> read_interface(nb::handle given, std::string_view name) {
    if (!nb::hasattr(given, "__cuda_array_interface__")) return {};
    const nb::object described = given.attr("__cuda_array_interface__");
    if (!nb::isinstance<nb::dict>(described)) return {};
    const auto fields = nb::cast<nb::dict>(described);
    const auto has = [&](const char* key) { return fields.contains(key) && !fields[key].is_none(); };
    if (has("mask")) refuse_type(name, "an array without a mask", "a masked one");
    if (!has("typestr") || !has("shape") || !has("data")) return {};
    device_array array;
    array.owner = nb::make_tuple(nb::borrow(given), described);
    array.type = type_of_typestr(given, nb::cast<std::string>(fields["typestr"]), name);
    const auto address = nb::cast<std::uintptr_t>(fields["data"][nb::int_(0)]);
    array.data =
        reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): the protocol
    array.shape = nb::cast<std::vector<std::int64_t>>(fields["shape"]);
    const bool is_valid = std::ranges::all_of(array.shape, [](std::int64_t extent) { return extent >= 0; }) &&
                          (array.data != nullptr || array.size() == 0);
    if (!is_valid) refuse_type(name, "an array with memory and extents of at least 0", array.shape_text());
    if (has("strides"))
        array.strides = nb::cast<std::vector<std::int64_t>>(fields["strides"]);
    else
        set_rows_in_order(array);
    if (array.strides.size() != array.shape.size())
        refuse_type(name, "as many strides as dimensions", "others");
    if (has_device_memory() && array.data != nullptr) array.where = location_of(array.data);
    if (!array.where.on_device()) array.where.ordinal = 0;  // without numbers, or managed memory
    read_order(fields, array.where, name);
    return array;
}

// ---- Results ----

class result_array {
  public:
    result_array(std::span<const std::byte> values, number_type type, std::span<const std::uint64_t> shape,
                 int ordinal)
        : memory_(ordinal, values.size()), type_(type), shape_(shape.begin(), shape.end()) {
        memory_.copy_in(values);
    }

    result_array(device_memory memory, number_type type, std::span<const std::uint64_t> shape)
        : memory_(std::move(memory)), type_(type), shape_(shape.begin(), shape.end()) {}

    int ordinal() const { return memory_.ordinal(); }
    std::uint64_t size() const {
        std::uint64_t product = 1;
        for (const std::size_t extent : shape_) product *= extent;
        return product;
    }
    nb::object dtype() const {
        return nb::module_::import_("numpy").attr("dtype")(std::string(name_of(type_)));
    }
    nb::tuple shape() const { return nb::tuple(nb::cast(shape_)); }

    /// A copy in the memory of the host.
    nb::object get() const {
        const std::vector<std::uint64_t> extents(shape_.begin(), shape_.end());
        void* to = nullptr;
        nb::object copy = empty_array(extents, type_, to);
        const nb::gil_scoped_release released;
        copy_to_host({.ordinal = ordinal()}, memory_.data(), {static_cast<std::byte*>(to), memory_.size()});
        return copy;
    }
    /// The numbers are complete: no stream has to wait for another.
    nb::object dlpack(nb::handle self, const nb::dict& options) const {
        const nb::ndarray<nb::array_api> seen(memory_.data(), shape_.size(), shape_.data(), self, nullptr,
                                              dlpack_of(type_), nb::device::cuda::value, ordinal());
        return nb::cast(seen, nb::rv_policy::reference).attr("__dlpack__")(**options);
    }
    nb::dict interface() const {
        nb::dict fields;
        fields["version"] = 3;
        fields["shape"] = shape();
        fields["typestr"] = dtype().attr("str");
        fields["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(memory_.data()), false);
        fields["strides"] = nb::none();
        fields["stream"] = nb::none();
        return fields;
    }
    std::string text() const {
        return "DeviceArray(shape=" + nb::cast<std::string>(nb::str(shape())) +
               ", dtype=" + std::string(name_of(type_)) + ", device='cuda:" + std::to_string(ordinal()) +
               "')";
    }

  private:
    device_memory memory_;
    number_type type_;
    std::vector<std::size_t> shape_;
};

nb::dict description_of(nb::handle given) {
    const auto array = read_device_array(given, "x");
    nb::dict fields;
    if (!array) return fields;
    constexpr const char* orders[] = {"complete", "stream", "device"};
    fields["type"] = std::string(name_of(array->type));
    fields["shape"] = array->shape_text();
    fields["address"] = reinterpret_cast<std::uintptr_t>(array->data);
    fields["rows_in_order"] = array->is_contiguous();
    fields["device"] = array->where.ordinal;
    fields["after"] = orders[static_cast<std::size_t>(array->where.ready)];
    fields["stream"] = reinterpret_cast<std::uintptr_t>(array->where.stream);
    return fields;
}

}  // namespace

std::optional<device_array> read_device_array(nb::handle given, std::string_view name) {
    auto array = read_dlpack(given, name);
    if (!array) array = read_interface(given, name);
    if (array) static_cast<host_array&>(*array) = with_checked_shape(std::move(*array), name);
    return array;
}

bool stays_on_device(nb::handle given, const context& ctx) {
    return has_device_memory() && ctx.device.where != device_choice::kind::cpu && is_on_device(given);
}

nb::object device_array_of(device_memory memory, number_type type, std::span<const std::uint64_t> shape) {
    return nb::cast(new result_array(std::move(memory), type, shape), nb::rv_policy::take_ownership);
}

nb::object copied_to_device(std::span<const std::byte> values, number_type type,
                            std::span<const std::uint64_t> shape, int ordinal) {
    std::unique_ptr<result_array> made;
    {
        const nb::gil_scoped_release released;
        made = std::make_unique<result_array>(values, type, shape, ordinal);
    }
    return nb::cast(made.release(), nb::rv_policy::take_ownership);
}

void declare_device_arrays(nb::module_& module) {
    nb::class_<result_array>(module, "DeviceArray", R"(An array of a result in the memory of a GPU.

torch.from_dlpack(a), cupy.asarray(a) and every other library with DLPack or `__cuda_array_interface__` use it without a copy
and keep it alive; the numbers are complete, on every stream. a.get() and numpy.asarray(a) copy it to the host. `pickle`
stores that copy. Freeing it waits for the work of the GPU.)")
        .def("get", &result_array::get, nb::sig("def get(self) -> NDArray[Any]"),
             "A NumPy array with a copy.")
        .def_prop_ro("shape", &result_array::shape, nb::sig("def shape(self) -> tuple[int, ...]"),
                     "Its extents.")
        .def_prop_ro(
            "ndim", [](const result_array& array) { return nb::len(array.shape()); },
            "The number of dimensions.")
        .def_prop_ro("size", &result_array::size, "The number of elements.")
        .def_prop_ro("dtype", &result_array::dtype, nb::sig("def dtype(self) -> numpy.dtype[Any]"),
                     "int64, float32 or float64.")
        .def_prop_ro(
            "device", [](const result_array& array) { return "cuda:" + std::to_string(array.ordinal()); },
            "The GPU: cuda:0, …")
        .def("__len__",
             [](const result_array& array) {
                 if (nb::len(array.shape()) == 0) throw nb::type_error("an array without dimensions");
                 return nb::cast<std::size_t>(array.shape()[0]);
             })
        .def(
            "__dlpack__",
            [](nb::handle self, const nb::kwargs& options) {
                return nb::cast<const result_array&>(self).dlpack(self, nb::dict(options));
            },
            nb::sig(
                "def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = "
                "None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any"))
        .def(
            "__dlpack_device__",
            [](const result_array& array) { return nb::make_tuple(dlpack_cuda, array.ordinal()); },
            nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
        .def_prop_ro("__cuda_array_interface__", &result_array::interface,
                     nb::sig("def __cuda_array_interface__(self) -> dict[str, Any]"))
        .def(
            "__array__",
            [](const result_array& array, nb::handle dtype, nb::handle copy) {
                if (copy.is(Py_False))
                    throw nb::value_error("an array of a GPU needs a copy (copy=None, or True)");
                const nb::object host = array.get();
                return dtype.is_none() ? host : nb::object(host.attr("astype")(dtype));
            },
            nb::arg("dtype").none() = nb::none(), nb::arg("copy").none() = nb::none(),
            nb::sig("def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]"))
        .def(
            "__reduce__", [](const result_array& array) { return array.get().attr("__reduce__")(); },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def("__repr__", &result_array::text);
    module.def("_device_array", description_of, nb::arg("x"),
               nb::sig("def _device_array(x: object) -> dict[str, Any]"));
}

}  // namespace quern::python
