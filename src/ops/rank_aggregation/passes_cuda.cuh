// SPDX-License-Identifier: Apache-2.0
// The results of the first pass for the others (passes_cuda.cu).
#pragma once

#include <cstdint>

#include "ops/rank_aggregation/ranked_table.cuh"

namespace quern::rank_aggregation_detail {

inline constexpr unsigned max_rounds = 64;

struct pass_state {
    unsigned long long complete[max_rounds];  ///< objects that became complete in a round
    unsigned long long twice;                 ///< objects in two lists after the first round
    unsigned long long depth;                 ///< to which all lists are marked
    unsigned long long rows;
    unsigned long long stopped;             ///< 1: reading on pays; 0: read everything
    unsigned long long reached[max_lists];  ///< depth read of each list
};

/// Depths: the end of the first round; where chance completes k objects; the limit of the search for them; the limit of marks
/// after that.
struct pass_plan {
    std::uint64_t k, first, by_chance, deepest, limit;
    double objects, longest;  ///< the number of objects, the length of the longest list
    bool looks;               ///< whether to look first how deep marks can be of use
};

/// One bit for each list that has no entry below `depth`.
template <class Word, class Score>
__device__ Word ended_at(const ranked_table<Score>& table, std::uint64_t depth) {
    Word ended = 0;
    for (unsigned i = 0; i < table.size; ++i)
        if (table.lists[i].size <= depth) ended |= Word{1} << i;
    return ended;
}

/// Pass 1. `seen` and the state are zero before. state->stopped stays zero if stopping early cannot pay.
template <class Score, class Word>
void run_first_pass(cuda_place& place, const ranked_table<Score>& table, const seen_lists<Word>& seen,
                    const pass_plan& plan, pass_state* state);

}  // namespace quern::rank_aggregation_detail
