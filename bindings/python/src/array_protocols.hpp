// SPDX-License-Identifier: Apache-2.0
// The types of numbers by the protocols of arrays.
#pragma once

#include <optional>

#include "arrays.hpp"

namespace quern::python {

/// From a format of the module struct. Throws TypeError for numbers that are none of number_type, and for big-endian ones.
number_type type_of_format(std::string_view format, std::size_t bytes, std::string_view name);
/// From a typestr such as "<f4". Throws as type_of_format.
number_type type_of_typestr(nanobind::handle given, std::string_view typestr, std::string_view name);
/// The type of DLPack. Throws TypeError for others.
number_type type_of_dlpack(const nanobind::dlpack::dtype& dtype, std::string_view name);
nanobind::dlpack::dtype dlpack_of(number_type type);
/// Strides of rows one after the other.
void set_rows_in_order(host_array& array);
/// Refuses a shape whose bytes cannot be counted: of views that repeat their numbers, and of wrong descriptions.
host_array with_checked_shape(host_array array, std::string_view name);
/// given.__dlpack__(stream=stream), by the version of the protocol that the array has; no stream: for the host.
nanobind::object dlpack_capsule(nanobind::handle given, nanobind::handle stream);
/// An array that DLPack describes, in any memory; `data` is an address there. None: the capsule is not a tensor.
std::optional<host_array> array_of_capsule(nanobind::handle capsule, std::string_view name, int& device_type,
                                           int& device_id);
/// Whether the array lies in the memory of a GPU.
bool is_on_device(nanobind::handle given);

}  // namespace quern::python
