// SPDX-License-Identifier: Apache-2.0
// One look at every component of some rows, in vector registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/ranked_retrieval/components.hpp"

namespace quern::ranked_retrieval_detail {

/// Rows of f32, f16 or bf16: squares[i] = Σ a² in the canonical order. Returns the greatest |a| as the bits of a float,
/// which are above those of every finite one where there is an infinity or a NaN.
std::uint32_t look_at_floats(vector_type type, const std::byte* const* rows, std::size_t row_count,
                             std::size_t dimensions, double* squares);

/// Rows of i16, i8 or u8: squares[i] = Σ a², exact, then rounded. Returns the least and the greatest component.
integer_range look_at_integers(vector_type type, const std::byte* const* rows, std::size_t row_count,
                               std::size_t dimensions, double* squares);

}  // namespace quern::ranked_retrieval_detail
