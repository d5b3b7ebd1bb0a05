// SPDX-License-Identifier: Apache-2.0
// The thesis's all pairs of signatures (chapter 4.4), as it describes them: the whole table of the edit distance, two
// rows of it at a time, for every pair, by one thread. No filter and no bound: what the method `signature` is measured
// against.
#pragma once

#include <vector>

#include "ops/near_duplicates/signature_join.hpp"

namespace quern::near_duplicates_detail {

/// Where a thread keeps its two rows: `rows_in_shared` with copies of both strings beside them.
enum class thesis_kernel { rows_in_shared, rows_in_global };

/// How a launch is cut; 0: what is best. Results do not depend on it. `threads` is cut down to what the shared memory
/// of 48 KB holds.
struct thesis_shape {
    unsigned blocks = 0, threads = 0;
};

/// The candidates by the signatures at B alone: rising (a, b).
std::vector<candidate> thesis_candidates(cpu_place& place, const signature_view& signatures,
                                         const signature_bounds& bounds, const duplicate_scope& scope,
                                         duplicate_counts& counts);
/// One launch compares 10^7 / texts signatures with all, and their distances return to the host.
std::vector<candidate> thesis_candidates(cuda_place& place, thesis_kernel kernel, thesis_shape shape,
                                         const signature_view& signatures, const signature_bounds& bounds,
                                         const duplicate_scope& scope, duplicate_counts& counts);

/// Pairs of texts that the scope asks for: of text b, those with the texts before this one.
inline std::uint32_t scope_end(const duplicate_scope& scope, std::uint32_t b) {
    if (b < scope.first_new) return 0;
    return scope.within_new ? b : scope.first_new;
}

}  // namespace quern::near_duplicates_detail
