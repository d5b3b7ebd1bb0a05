// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "device/cpu/parallel.hpp"
#include "ops/top_k/prefixes.hpp"

namespace quern::top_k_detail {

template <class Score>
template <class Take>
void list_prefixes<Score>::visit(std::span<const std::uint64_t> begin, bitmap objects,
                                 const Take& take) const {
    for_each_piece(place_, lists_.size(), [&](std::size_t list) {
        const std::uint32_t* const ids = lists_[list].ids.data();
        for (std::uint64_t at = begin[list]; at < depths_[list]; ++at) {
            const std::uint32_t id = ids[at];
            if ((objects[id / 64] >> (id % 64) & 1) == 0) continue;
            take(id, rule_.value(list, static_cast<double>(lists_[list].scores[at]), at + 1), list);
        }
    });
}

}  // namespace quern::top_k_detail
