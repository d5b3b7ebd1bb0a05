// SPDX-License-Identifier: Apache-2.0
// Many dot products of vectors of floats, with the vector registers of the current processor: fast and inexact, fused where
// possible. similar_vectors.cpp proves why that suffices.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::word_similarity_detail {

/// The number of interleaved vectors in a strip: value d of vector v is at strip[d · strip_width + v].
inline constexpr std::size_t strip_width = 32;
/// The number of rows multiplied with a strip at a time.
inline constexpr std::size_t score_rows = 6;

struct score_task {
    const float* rows;  ///< score_rows contiguous vectors
    const float* strip;
    std::size_t dimensions;
    const float* row_limits;     ///< score_rows
    const float* column_limits;  ///< strip_width
    float* scores;               ///< out: score_rows × strip_width
};
/// The dot products of all rows with the strip. Bit r: one of row r's reaches its row's limit or its column's.
std::uint32_t score_strip(const score_task& task);

}  // namespace quern::word_similarity_detail
