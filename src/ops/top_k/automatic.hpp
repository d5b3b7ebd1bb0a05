// SPDX-License-Identifier: Apache-2.0
// Method `automatic` over lists in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/top_k/checked_lists.hpp"
#include "ops/top_k/methods.hpp"
#include "ops/top_k/reading_plan.hpp"

namespace quern::top_k_detail {

/// How lists were read; of no interest but to tests.
enum class reading_way { heads, planes, added_in_place, dealt_out };

struct automatic_answer {
    found_objects found;
    std::vector<std::uint64_t> depths;
    reading_way way = reading_way::heads;
};

/// Throws list_fault: of what was read, the order and range of scores and ids; ids that are twice as far as they were
/// marked or found. Costs decide how it is read, never what is found.
template <class Score>
automatic_answer automatic(cpu_place& place, const scoring& rule,
                           std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                           std::uint32_t k, const reading_costs& costs = {});

/// Reads all lists: values are added up object by object, then the best are taken. Throws list_fault for whatever is
/// wrong.
template <class Score>
automatic_answer read_everything(checked_lists<Score>& lists, std::uint32_t k, const reading_costs& costs);

}  // namespace quern::top_k_detail
