// SPDX-License-Identifier: Apache-2.0
// The named methods on the CPU, over lists in memory and pulled ones alike. Each reads the cursors as it sees fit, and returns
// the same result.
#pragma once

#include "ops/top_k/candidates.hpp"
#include "ops/top_k/cursors.hpp"

namespace quern::top_k_detail {

struct found_objects {
    std::vector<scored_object> best;  ///< best first
    std::uint64_t candidates = 0;     ///< held at most
};

found_objects nra(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                  std::uint32_t k);
found_objects stream_combine(cpu_place& place, const scoring& rule, list_cursors& lists,
                             std::uint32_t objects, std::uint32_t k);
found_objects lara(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                   std::uint32_t k);
found_objects segmented(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                        std::uint32_t k, std::uint32_t stride);

}  // namespace quern::top_k_detail
