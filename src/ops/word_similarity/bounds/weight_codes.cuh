// SPDX-License-Identifier: Apache-2.0
// How weights are rounded up to 16 bits (see weight_codes in automatic_cuda.hpp).
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

/// The code of a weight; scale = 2^bits.
template <similarity_measure Measure>
__device__ inline std::uint32_t code_of(float weight, double scale) {
    const double scaled = static_cast<double>(weight) * scale;
    if constexpr (Measure == similarity_measure::lin)
        return static_cast<std::uint32_t>(ceil(scaled));
    else
        return __half_as_ushort(__float2half_ru(__double2float_ru(scaled)));
}

}  // namespace quern::word_similarity_detail
