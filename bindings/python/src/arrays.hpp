// SPDX-License-Identifier: Apache-2.0
// Arrays of Python, read in place: by the buffer protocol, __array_interface__ or DLPack, so that no library of
// arrays is named or imported.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace quern::python {

enum class number_type : std::uint8_t { f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };
inline constexpr std::string_view number_type_names[] = {
    "float16", "bfloat16", "float32", "float64", "int8",   "int16", "int32",
    "int64",   "uint8",    "uint16",  "uint32",  "uint64", "bool"};
inline std::string_view name_of(number_type type) {
    return number_type_names[static_cast<std::size_t>(type)];
}
std::size_t bytes_of(number_type type);

template <class Number>
constexpr number_type type_of_number() {
    if constexpr (std::is_same_v<Number, float>) return number_type::f32;
    if constexpr (std::is_same_v<Number, double>) return number_type::f64;
    if constexpr (std::is_same_v<Number, std::int32_t>) return number_type::i32;
    if constexpr (std::is_same_v<Number, std::int64_t>) return number_type::i64;
    if constexpr (std::is_same_v<Number, std::uint32_t>) return number_type::u32;
    if constexpr (std::is_same_v<Number, std::uint64_t>) return number_type::u64;
}

/// Numbers in the memory of the host, which `owner` keeps. Copies share it. Destroy with the interpreter's lock.
struct host_array {
    nanobind::object owner;
    number_type type = number_type::f32;
    const std::byte* data = nullptr;
    std::vector<std::int64_t> shape, strides;  ///< strides in bytes, as many as shape

    std::size_t dimensions() const { return shape.size(); }
    std::uint64_t size() const;
    bool is_contiguous() const;  ///< rows one after the other
    std::string shape_text() const;
};

/// Reads the description of an array; no number is read. `name` is for messages: "x", "queries". An array of a GPU is
/// copied to the host once, by its own method get() or cpu(), and pandas, polars and Arrow objects are converted by
/// their __array__; `logging` gets a note of both. Throws TypeError for another object, for numbers that are none of
/// number_type, and for big-endian ones.
host_array read_array(nanobind::handle given, std::string_view name);
/// The array, or a copy of it in the order of rows if it lies otherwise; `logging` gets a note.
host_array contiguous(host_array given, std::string_view name);

/// The numbers of an array of one dimension; `kept` keeps them. Throws TypeError for another type or shape.
template <class Number>
std::span<const Number> numbers_of(host_array& kept, std::string_view name);
/// Whole numbers of any type, as 64 bits: in place if they are int64 or uint64, else in `widened`. Throws TypeError for
/// other numbers, usage_error with the position for a negative one; `expected` is for its message.
std::span<const std::uint64_t> whole_numbers_of(host_array& kept, std::vector<std::uint64_t>& widened,
                                                std::string_view name,
                                                std::string_view expected = "whole numbers of at least 0");

/// A list or tuple as an array of the type, by default of the one that fits; anything else as it is.
nanobind::object list_as_array(nanobind::handle given, const char* type = nullptr);

/// The same of ids, which are not texts. Throws TypeError for values that are neither all texts nor all whole numbers
/// below 2^64, naming the first other one.
nanobind::object ids_as_array(nanobind::handle given, std::string_view name);

/// Throws TypeError "x: expected …, got …".
[[noreturn]] void refuse_type(std::string_view name, std::string_view expected, std::string_view got);
/// A message for logging.getLogger("quern").
void log_note(const std::string& text);
/// str(given.name).
std::string member_text(nanobind::handle given, const char* name);
/// Whether ids are texts: a list of str, or an array or column whose values are not numbers.
bool has_texts(nanobind::handle given);
/// The values of an array, or of a column of pandas, polars or Arrow, as a list; anything else as it is.
nanobind::object listed(nanobind::handle given);
/// Whether the object has scipy's members of rows: indptr, indices, data, shape.
bool is_compressed_rows(nanobind::handle given);
/// The first two numbers of a shape.
std::pair<std::uint64_t, std::uint64_t> shape_of(nanobind::handle given, std::string_view name);

/// A NumPy array that owns the values and may be written.
template <class Value>
nanobind::object array_from(std::vector<Value>&& values, std::initializer_list<std::size_t> shape = {}) {
    auto* const owner = new std::vector<Value>(std::move(values));
    const nanobind::capsule kept(
        owner, [](void* given) noexcept { delete static_cast<std::vector<Value>*>(given); });
    const std::size_t all[] = {owner->size()};
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, Value>(
        owner->data(), shape.size() == 0 ? 1 : shape.size(), shape.size() == 0 ? all : shape.begin(), kept));
}

/// A new NumPy array, uninitialised, and its memory. Cheaper than array_from: for results of single look-ups.
template <class Value>
struct new_array {
    nanobind::object array;
    std::span<Value> values;
};
template <class Value>
new_array<Value> make_new_array(std::span<const std::uint64_t> shape);

/// A read-only NumPy array of memory that `owner` keeps.
template <class Value>
nanobind::object view_array(std::span<const Value> values, nanobind::handle owner) {
    const std::size_t all[] = {values.size()};
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, const Value>(values.data(), 1, all, owner));
}

/// numpy.empty(shape, dtype), its memory in `data`.
nanobind::object empty_array(std::span<const std::uint64_t> shape, number_type type, void*& data);

template <class Value>
new_array<Value> make_new_array(std::span<const std::uint64_t> shape) {
    void* data = nullptr;
    std::uint64_t size = 1;
    for (const std::uint64_t extent : shape) size *= extent;
    nanobind::object array = empty_array(shape, type_of_number<Value>(), data);
    return {std::move(array), {static_cast<Value*>(data), size}};
}

template <class Number>
std::span<const Number> numbers_of(host_array& kept, std::string_view name) {
    if (kept.dimensions() != 1)
        refuse_type(name, "an array of one dimension", "one of shape " + kept.shape_text());
    if (kept.type != type_of_number<Number>())
        refuse_type(name, "an array of " + std::string(name_of(type_of_number<Number>())),
                    "one of " + std::string(name_of(kept.type)));
    kept = contiguous(std::move(kept), name);
    return {reinterpret_cast<const Number*>(kept.data), kept.size()};
}

}  // namespace quern::python
