// SPDX-License-Identifier: Apache-2.0
// One pass over every component of some rows, in vector registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/nearest/distance/components.hpp"

namespace quern::nearest_detail {

/// Rows of f32, f16 or bf16: squares[i] = Σ a² in the canonical order. Returns the maximum |a| as the bits of a float;
/// these are above those of every finite float if there is an infinity or NaN.
std::uint32_t look_at_floats(vector_type type, const std::byte* const* rows, std::size_t row_count,
                             std::size_t dimensions, double* squares);

/// Rows of i16, i8 or u8: squares[i] = Σ a², exact, then rounded. Returns the minimum and the maximum component.
integer_range look_at_integers(vector_type type, const std::byte* const* rows, std::size_t row_count,
                               std::size_t dimensions, double* squares);

}  // namespace quern::nearest_detail
