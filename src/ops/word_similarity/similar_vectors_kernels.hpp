// SPDX-License-Identifier: Apache-2.0
// Many dot products of vectors of floats, in the vector registers of the processor at hand: fast and inexact, fused
// where the processor can. What they are for is proved in similar_vectors.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::word_similarity_detail {

/// So many vectors stand side by side in a strip: value d of vector v at strip[d · strip_width + v].
inline constexpr std::size_t strip_width = 32;
/// So many rows meet a strip at a time.
inline constexpr std::size_t score_rows = 6;

struct score_task {
    const float* rows;  ///< score_rows vectors, one behind the other
    const float* strip;
    std::size_t dimensions;
    const float* row_limits;     ///< score_rows
    const float* column_limits;  ///< strip_width
    float* scores;               ///< out: score_rows × strip_width
};
/// The dot products of all rows with the strip. Bit r: one of row r's reaches its row's limit or its column's.
std::uint32_t score_strip(const score_task& task);

}  // namespace quern::word_similarity_detail
