// SPDX-License-Identifier: Apache-2.0
// The named methods of the similarity stage, called by the entry point (similar_words.cpp): options are checked, the matrix
// has only the kept columns, its rows are in fixed point (fixed_rows.hpp).
#pragma once

#include <cstdint>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

// Shared by the entry points of the similarity stage.

/// The matrix checked, restricted to the kept columns, in fixed point.
owned_rows kept_rows(cpu_place& place, const context_matrix_view& matrix, const similarity_options& options);

/// Some of all pairs of words, for work that is shared: each pair belongs to one of `parts` shares, in one direction at least; by
/// further measures in one direction each.
struct pair_share {
    std::uint64_t part = 0, parts = 1;
    bool has(std::uint64_t piece_of_work) const { return piece_of_work % parts == part; }
};

/// similar_words() of the pairs of a share, on the CPU, with the method `automatic`. Of the lists of all shares, merged by better()
/// (best_words.hpp), the first `top` are those of similar_words(), whatever its method.
neighbour_lists similar_words_of(const pair_share& share, const context_matrix_view& matrix,
                                 const similarity_options& options, const context& ctx);

/// Whether only the method `automatic` has the measure, and computes all pairs.
constexpr bool is_further_measure(similarity_measure measure) {
    return measure > similarity_measure::cosine;
}

// On the CPU, lists are passed on to `sink` unless it is null (quern/ops/word_similarity.hpp).

neighbour_lists find_automatically(cpu_place& place, const fixed_rows& rows,
                                   const similarity_options& options, const neighbour_sink* sink = nullptr,
                                   const pair_share& share = {});
neighbour_lists find_automatically(cuda_place& place, const fixed_rows& rows,
                                   const similarity_options& options);
neighbour_lists find_by_further_measure(cpu_place& place, const fixed_rows& rows,
                                        const similarity_options& options, const neighbour_sink* sink,
                                        const pair_share& share = {});
neighbour_lists find_by_further_measure(cuda_place& place, const fixed_rows& rows,
                                        const similarity_options& options);
neighbour_lists find_compressed(cpu_place& place, const fixed_rows& rows, const similarity_options& options,
                                const neighbour_sink* sink = nullptr);
neighbour_lists find_compressed(cuda_place& place, const fixed_rows& rows, const similarity_options& options);
neighbour_lists find_column_reduced(cpu_place& place, const fixed_rows& rows,
                                    const similarity_options& options, const neighbour_sink* sink = nullptr);
neighbour_lists find_column_reduced(cuda_place& place, const fixed_rows& rows,
                                    const similarity_options& options);

}  // namespace quern::word_similarity_detail
