// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU, with a choice of how pairs of short texts are found, for tests.
#pragma once

#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/segment_plan.hpp"

namespace quern::near_duplicates_detail {

/// As find_by_sketches(): the choice changes no pair.
template <class Unit>
std::vector<duplicate_pair> find_on_cpu(cpu_place& place, const text_list& texts, const text_sketches& known,
                                        const duplicate_options& options, const duplicate_scope& scope,
                                        const segment_choice& choice, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
