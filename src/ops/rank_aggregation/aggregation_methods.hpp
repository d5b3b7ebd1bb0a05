// SPDX-License-Identifier: Apache-2.0
// The named methods on the CPU, for lists in memory and pulled ones. Each reads the cursors in its own order and returns
// the same result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/rank_aggregation/candidates.hpp"
#include "ops/rank_aggregation/checked_lists.hpp"
#include "ops/rank_aggregation/cursors.hpp"
#include "ops/rank_aggregation/reading_plan.hpp"

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

// Method `automatic` over lists in memory.

/// How lists were read; only for tests.
enum class reading_way { prefixes, bitmaps, added_directly, partitioned };

struct automatic_result {
    found_objects found;
    std::vector<std::uint64_t> depths;
    reading_way way = reading_way::prefixes;
};

/// Throws list_fault: for the order and range of scores and ids, as far as lists were read; for repeated ids, as far as
/// they were marked or found. Costs decide how lists are read, never the result.
template <class Score>
automatic_result automatic(cpu_place& place, const scoring& rule,
                           std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                           std::uint32_t k, const reading_costs& costs = {});

/// Reads all lists: adds up values object by object, then takes the best. Throws list_fault for any fault.
template <class Score>
automatic_result read_everything(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs);

}  // namespace quern::rank_aggregation_detail
