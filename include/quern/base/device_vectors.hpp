// SPDX-License-Identifier: Apache-2.0
// Vectors in the memory of a GPU.
#pragma once

#include <cstdint>

#include "quern/base/device_memory.hpp"
#include "quern/base/vectors.hpp"

namespace quern {

/// As vectors_view, but in the memory of a GPU, one row directly after the other. A type of its own, because the host
/// cannot read it.
struct device_vectors_view {
    vector_type type = vector_type::f32;
    std::uint64_t rows = 0;        ///< below 2^32 - 1
    std::uint32_t dimensions = 0;  ///< 1 and more
    const void* values =
        nullptr;          ///< aligned for its type; from a multiple of 16 bytes on it is read fastest
    data_location where;  ///< a GPU
    constexpr std::uint64_t bytes() const { return rows * bytes_of_row(type, dimensions); }
};

}  // namespace quern
