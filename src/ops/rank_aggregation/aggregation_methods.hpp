// SPDX-License-Identifier: Apache-2.0
// The named methods on the CPU, for lists in memory and pulled ones. Each reads the cursors in its own order and returns
// the same result.
#pragma once

#include "ops/rank_aggregation/candidates.hpp"
#include "ops/rank_aggregation/cursors.hpp"

namespace quern::rank_aggregation_detail {

struct found_objects {
    std::vector<scored_object> best;  ///< best first
    std::uint64_t candidates = 0;     ///< maximum held
};

found_objects nra(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                  std::uint32_t k);
found_objects stream_combine(cpu_place& place, const scoring& rule, list_cursors& lists,
                             std::uint32_t objects, std::uint32_t k);
found_objects lara(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                   std::uint32_t k);
found_objects segmented(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                        std::uint32_t k, std::uint32_t stride);

}  // namespace quern::rank_aggregation_detail
