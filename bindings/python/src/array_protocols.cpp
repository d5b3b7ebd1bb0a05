// SPDX-License-Identifier: Apache-2.0
#include "array_protocols.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "errors.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

[[noreturn]] void refuse_numbers(std::string_view name, std::string_view got) {
    refuse_type(name, "numbers of float64, float32, float16, bfloat16 or an integer type", got);
}

/// NumPy's name of a format of the buffer protocol that is not read.
std::string shown_format(std::string_view format) {
    if (format == "O")  // as a column of vectors becomes
        return "objects; numpy.stack(x) makes one array of many";
    if (format == "Zf") return "complex64";
    if (format == "Zd") return "complex128";
    if (format == "g") return "longdouble";
    if (format.starts_with("T{")) return "records";
    return "'" + std::string(format) + "'";
}

[[noreturn]] void refuse_order(std::string_view name) {
    refuse_type(name, "little-endian numbers",
                "big-endian ones; convert them: x.astype(x.dtype.newbyteorder('<'))");
}

std::optional<number_type> integer_type(bool is_signed, std::size_t bytes) {
    using enum number_type;
    switch (bytes) {
        case 1:
            return is_signed ? i8 : u8;
        case 2:
            return is_signed ? i16 : u16;
        case 4:
            return is_signed ? i32 : u32;
        case 8:
            return is_signed ? i64 : u64;
        default:
            return {};
    }
}
std::optional<number_type> float_type(std::size_t bytes) {
    if (bytes == 2) return number_type::f16;
    if (bytes == 4) return number_type::f32;
    if (bytes == 8) return number_type::f64;
    return {};
}

}  // namespace

number_type type_of_format(std::string_view format, std::size_t bytes, std::string_view name) {
    const std::string shown = shown_format(format);
    bool big = false;
    if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos) {
        big = format[0] == '>' || format[0] == '!';
        format.remove_prefix(1);
    }
    if (format.ends_with('w')) refuse_numbers(name, "texts");  // PEP 3118, of NumPy's str
    if (format.size() != 1) refuse_numbers(name, shown);
    if (big && bytes > 1) refuse_order(name);
    const char c = format[0];
    std::optional<number_type> type;
    if (std::string_view("bhilqn").find(c) != std::string_view::npos) type = integer_type(true, bytes);
    if (std::string_view("BHILQN").find(c) != std::string_view::npos) type = integer_type(false, bytes);
    if (c == 'e' || c == 'f' || c == 'd') type = float_type(bytes);
    if (c == '?') type = number_type::boolean;
    if (!type) refuse_numbers(name, shown);
    return *type;
}

// bfloat16 has none of its own: the array's dtype tells.
number_type type_of_typestr(nb::handle given, std::string_view typestr, std::string_view name) {
    const std::string shown = "'" + std::string(typestr) + "'";
    if (typestr.size() < 3) refuse_numbers(name, shown);
    const auto bytes = static_cast<std::size_t>(std::atoi(std::string(typestr.substr(2)).c_str()));
    if (typestr[0] == '>' && bytes > 1) refuse_order(name);
    std::optional<number_type> type;
    if (typestr[1] == 'i') type = integer_type(true, bytes);
    if (typestr[1] == 'u') type = integer_type(false, bytes);
    if (typestr[1] == 'f') type = float_type(bytes);
    if (typestr[1] == 'b' && bytes == 1) type = number_type::boolean;
    if (typestr[1] == 'V' && bytes == 2 && nb::hasattr(given, "dtype") &&
        member_text(given, "dtype") == "bfloat16")
        type = number_type::bf16;
    if (!type) refuse_numbers(name, shown);
    return *type;
}

void set_rows_in_order(host_array& array) {
    array.strides.resize(array.shape.size());
    auto stride = static_cast<std::int64_t>(bytes_of(array.type));
    for (std::size_t d = array.shape.size(); d-- > 0;) {
        array.strides[d] = stride;
        stride *= array.shape[d];
    }
}

number_type type_of_dlpack(const nb::dlpack::dtype& dtype, std::string_view name) {
    using code = nb::dlpack::dtype_code;
    const auto is = [&](code c) { return dtype.code == static_cast<std::uint8_t>(c); };
    const std::size_t bytes = dtype.bits / 8;
    std::optional<number_type> type;
    if (dtype.lanes == 1 && dtype.bits % 8 == 0) {
        if (is(code::Int)) type = integer_type(true, bytes);
        if (is(code::UInt)) type = integer_type(false, bytes);
        if (is(code::Float)) type = float_type(bytes);
        if (is(code::Bfloat) && bytes == 2) type = number_type::bf16;
        if (is(code::Bool) && bytes == 1) type = number_type::boolean;
    }
    if (!type) refuse_numbers(name, "others by DLPack");
    return *type;
}

nb::dlpack::dtype dlpack_of(number_type type) {
    using code = nb::dlpack::dtype_code;
    using enum number_type;
    code kind = code::UInt;
    if (type == i8 || type == i16 || type == i32 || type == i64) kind = code::Int;
    if (type == f16 || type == f32 || type == f64) kind = code::Float;
    if (type == bf16) kind = code::Bfloat;
    if (type == boolean) kind = code::Bool;
    return {static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(8 * bytes_of(type)), 1};
}

nb::object dlpack_capsule(nb::handle given, nb::handle stream) {
    nb::dict options;
    if (!stream.is_none()) options["stream"] = stream;
    const auto call = [&](const nb::dict& with) { return given.attr("__dlpack__")(**with); };
    nb::dict versioned;
    for (const auto& [key, value] : options) versioned[key] = value;
    versioned["max_version"] = nb::make_tuple(1, 0);
    try {
        return call(versioned);
    } catch (nb::python_error& refused) {  // of an earlier version of the protocol
        if (!refused.matches(PyExc_TypeError)) throw;
    }
    return call(options);
}

std::optional<host_array> array_of_capsule(nb::handle capsule, std::string_view name, int& device_type,
                                           int& device_id) {
    nb::ndarray<nb::ro> tensor;
    if (!nb::try_cast(capsule, tensor)) return {};
    device_type = tensor.device_type();
    device_id = tensor.device_id();
    host_array array;
    array.type = type_of_dlpack(tensor.dtype(), name);
    array.data = static_cast<const std::byte*>(tensor.data());
    const auto bytes = static_cast<std::int64_t>(bytes_of(array.type));
    for (std::size_t d = 0; d < tensor.ndim(); ++d) {
        array.shape.push_back(static_cast<std::int64_t>(tensor.shape(d)));
        array.strides.push_back(tensor.stride(d) * bytes);
    }
    auto* const kept = new nb::ndarray<nb::ro>(std::move(tensor));
    array.owner =
        nb::capsule(kept, [](void* held) noexcept { delete static_cast<nb::ndarray<nb::ro>*>(held); });
    return array;
}

bool is_on_device(nb::handle given) {
    if (nb::hasattr(given, "__cuda_array_interface__")) return true;
    if (!nb::hasattr(given, "__dlpack_device__")) return false;
    const nb::object device = given.attr("__dlpack_device__")();
    constexpr int cpu = 1, cuda_host = 3;  // of DLPack
    const auto where = nb::cast<int>(device[0]);
    return where != cpu && where != cuda_host;
}

host_array with_checked_shape(host_array array, std::string_view name) {
    if (std::ranges::find(array.shape, 0) != array.shape.end()) return array;
    auto rest = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(bytes_of(array.type));
    for (const std::int64_t extent : array.shape) {
        if (extent > rest)
            refuse(std::string(name) + ": an array cannot have the shape " + array.shape_text());
        rest /= extent;
    }
    return array;
}

}  // namespace quern::python
