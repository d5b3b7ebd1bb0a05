// SPDX-License-Identifier: Apache-2.0
// What the first stroke leaves to the others (strokes_cuda.cu).
#pragma once

#include <cstdint>

#include "ops/top_k/ranked_table.cuh"

namespace quern::top_k_detail {

inline constexpr unsigned most_rounds = 64;

struct stroke_state {
    unsigned long long complete[most_rounds];  ///< objects that became complete in a round
    unsigned long long depth;                  ///< to which all lists are marked
    unsigned long long rows;
    unsigned long long stopped;              ///< 1: reading on pays; 0: everything is to be read
    unsigned long long reached[most_lists];  ///< how deep each list was read
};

/// In depths: where the first round ends; up to where k complete objects are looked for, and lists marked after that.
struct stroke_plan {
    std::uint64_t k, first, deepest, limit;
};

/// A bit for each list that has no entry below `depth`.
template <class Word, class Score>
__device__ Word ended_at(const ranked_table<Score>& table, std::uint64_t depth) {
    Word ended = 0;
    for (unsigned i = 0; i < table.size; ++i)
        if (table.lists[i].size <= depth) ended |= Word{1} << i;
    return ended;
}

/// Stroke 1. `seen` and the state are zero before. Where stopping early cannot pay, state->stopped stays so.
template <class Score, class Word>
void mark_lists(cuda_place& place, const ranked_table<Score>& table, const seen_lists<Word>& seen,
                const stroke_plan& plan, stroke_state* state);

}  // namespace quern::top_k_detail
