// SPDX-License-Identifier: Apache-2.0
// Method `automatic` over lists in memory.
#pragma once

#include <cstdint>
#include <span>

#include "ops/top_k/candidates.hpp"
#include "ops/top_k/methods.hpp"
#include "ops/top_k/prefixes.hpp"

namespace quern::top_k_detail {

struct automatic_answer {
    found_objects found;
    std::vector<std::uint64_t> depths;
};

/// Throws list_fault; an id that is twice in a list is noticed as far as the list was read.
template <class Score>
automatic_answer automatic(cpu_place& place, const scoring& rule,
                           std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                           std::uint32_t k);

/// Reads everything that is left: values are added up object by object, then the best are taken.
template <class Score>
automatic_answer read_everything(cpu_place& place, const scoring& rule, list_prefixes<Score>& lists,
                                 std::uint32_t objects, std::uint32_t k);

}  // namespace quern::top_k_detail
