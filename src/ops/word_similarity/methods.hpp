// SPDX-License-Identifier: Apache-2.0
// The named methods of the similarity stage, as the door (similar_words.cpp) calls them: options are checked, the
// matrix holds only the columns that count, its rows are turned to fixed point (fixed_rows.hpp).
#pragma once

#include <cstdint>

#include "device/cpu/place.hpp"
#include "device/cuda/place.hpp"
#include "ops/word_similarity/fixed_rows.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

neighbour_lists find_automatically(cpu_place& place, const fixed_rows& rows,
                                   const similarity_options& options);
neighbour_lists find_automatically(cuda_place& place, const fixed_rows& rows,
                                   const similarity_options& options);
neighbour_lists find_compressed(cpu_place& place, const fixed_rows& rows, const similarity_options& options);
neighbour_lists find_compressed(cuda_place& place, const fixed_rows& rows, const similarity_options& options);
neighbour_lists find_column_reduced(cpu_place& place, const fixed_rows& rows,
                                    const similarity_options& options);
neighbour_lists find_column_reduced(cuda_place& place, const fixed_rows& rows,
                                    const similarity_options& options);

}  // namespace quern::word_similarity_detail
