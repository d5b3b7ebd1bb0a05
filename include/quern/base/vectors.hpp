// SPDX-License-Identifier: Apache-2.0
// Views of vectors: rows with the same number of components, dense or sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"

namespace quern {

/// The type of a component. bits: component j of a row is bit j % 8, counted from the lowest, of byte j / 8.
enum class vector_type { f32, f16, bf16, i16, i8, u8, bits, f64 };
inline constexpr std::string_view vector_type_names[] = {"float32", "float16", "bfloat16", "int16",
                                                         "int8",    "uint8",   "bits",     "float64"};

/// Row i begins at values[i · stride]. Little-endian; aligned for its type.
struct vectors_view {
    vector_type type = vector_type::f32;
    std::uint64_t rows = 0;        ///< below 2^32 - 1
    std::uint32_t dimensions = 0;  ///< 1 and more
    std::uint64_t stride = 0;      ///< bytes from one row to the next, at least row_bytes()
    std::span<const std::byte> values;
    /// Bytes of a row's components. For bits, those beyond the last dimension are 0.
    constexpr std::uint64_t row_bytes() const;
};

/// Unlisted components are 0. Row i: columns (strictly rising) and values from offsets[i] to offsets[i + 1].
struct sparse_vectors_view {
    std::uint64_t rows = 0;                  ///< below 2^32 - 1
    std::uint32_t dimensions = 0;            ///< 1 and more
    std::span<const std::uint64_t> offsets;  ///< rows + 1, from 0
    std::span<const std::uint32_t> columns;
    std::span<const float> values;
};

constexpr std::uint64_t bytes_of_row(vector_type type, std::uint32_t dimensions) {
    const std::uint64_t components = dimensions;
    switch (type) {
        case vector_type::f64:
            return 8 * components;
        case vector_type::f32:
            return 4 * components;
        case vector_type::f16:
        case vector_type::bf16:
        case vector_type::i16:
            return 2 * components;
        case vector_type::bits:
            return (components + 7) / 8;
        default:
            return components;
    }
}
constexpr std::uint64_t vectors_view::row_bytes() const {
    return bytes_of_row(type, dimensions);
}

/// Rows of floats, one directly after the other. Throws usage_error if `values` are not whole rows.
inline vectors_view view_of(std::span<const float> values, std::uint32_t dimensions) {
    if (dimensions == 0 || values.size() % dimensions != 0)
        throw usage_error(std::to_string(values.size()) + " values are not rows of " +
                          std::to_string(dimensions));
    return {vector_type::f32, values.size() / dimensions, dimensions, 4 * std::uint64_t{dimensions},
            std::as_bytes(values)};
}

}  // namespace quern
