// SPDX-License-Identifier: Apache-2.0
// Arrays in the memory of a GPU: those of other libraries, read in place by DLPack or __cuda_array_interface__, and
// those of results, which other libraries read so.
#pragma once

#include <optional>

#include "arrays.hpp"
#include "quern/base/context.hpp"
#include "quern/base/device_memory.hpp"

namespace quern::python {

/// `data` is an address of the GPU.
struct device_array : host_array {
    data_location where;
};

/// Reads the description of an array of a CUDA GPU; empty for another object. DLPack makes the numbers complete for the
/// default stream; __cuda_array_interface__ names a stream, or, before version 3, none: then for all work of the GPU. Throws
/// TypeError for numbers that are none of number_type, for a mask, and for wrong descriptions.
std::optional<device_array> read_device_array(nanobind::handle given, std::string_view name);

/// Whether an array of a GPU is used there. Otherwise it is copied to the host: with device="cpu", and in a program without
/// CUDA.
bool stays_on_device(nanobind::handle given, const context& ctx);

/// The memory of a result as a quern.DeviceArray.
nanobind::object device_array_of(device_memory memory, number_type type,
                                 std::span<const std::uint64_t> shape);

/// A copy of a result in the memory of that GPU, as a quern.DeviceArray. Releases the interpreter's lock meanwhile.
nanobind::object copied_to_device(std::span<const std::byte> values, number_type type,
                                  std::span<const std::uint64_t> shape, int ordinal);
template <class Value>
nanobind::object copied_to_device(std::span<const Value> values, std::span<const std::uint64_t> shape,
                                  int ordinal) {
    return copied_to_device(std::as_bytes(values), type_of_number<std::remove_const_t<Value>>(), shape,
                            ordinal);
}

void declare_device_arrays(nanobind::module_& module);

}  // namespace quern::python
