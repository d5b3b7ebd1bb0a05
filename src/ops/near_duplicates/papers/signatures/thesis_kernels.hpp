// SPDX-License-Identifier: Apache-2.0
// All pairs of signatures as in the thesis (Wang 2015, chapter 4.4; docs/papers/wang-2015.md): the full table of the
// edit distance, two rows at a time, for every pair, by one thread. No filter and no bound: the
// baseline for the method `signature`.
#pragma once

#include <vector>

#include "ops/near_duplicates/papers/signatures/signature_join.hpp"

namespace quern::near_duplicates_detail {

/// Where a thread keeps its two rows; `rows_in_shared` also copies both strings there.
enum class thesis_kernel { rows_in_shared, rows_in_global };

/// Launch parameters; results do not depend on them. 0 blocks or threads: the best choice. `threads` is reduced to what
/// fits 48 KB of shared memory: 96 for signatures of 64 to 127 letters.
struct thesis_launch {
    thesis_kernel kernel = thesis_kernel::rows_in_global;
    unsigned blocks = 0, threads = 0;
};

/// The candidates by the signatures at B alone: ascending (a, b).
std::vector<candidate> thesis_candidates(cpu_place& place, const signature_view& signatures,
                                         const signature_bounds& bounds, const duplicate_scope& scope,
                                         duplicate_counts& counts);
/// `signatures` and `device_signatures_view` are the same data, in host and in device memory. One launch compares 10^7 / texts signatures
/// with all, and their distances return to the host.
std::vector<candidate> thesis_candidates(cuda_place& place, const thesis_launch& launch,
                                         const signature_view& signatures,
                                         const device_signatures& device_signatures_view,
                                         const signature_bounds& bounds, const duplicate_scope& scope,
                                         duplicate_counts& counts);

/// The candidates among the distances of `rows` texts from `first_row` on to all texts, row by row.
void collect_candidates(cpu_place& place, std::span<const std::uint16_t> distances, std::uint32_t first_row,
                        std::uint32_t rows, const signature_view& signatures, const signature_bounds& bounds,
                        const duplicate_scope& scope, std::vector<candidate>& all);

/// The requested pairs of text b: those with the texts before the returned one.
inline std::uint32_t scope_end(const duplicate_scope& scope, std::uint32_t b) {
    if (b < scope.first_new) return 0;
    return scope.within_new ? b : scope.first_new;
}

}  // namespace quern::near_duplicates_detail
