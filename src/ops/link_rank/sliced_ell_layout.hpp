// SPDX-License-Identifier: Apache-2.0
// Overrides the arrangement of links on a GPU for tests and measurements. It never affects a result.
#pragma once

#include <cstdint>

#include "ops/link_rank/fixed_page_rank.hpp"

namespace quern::link_rank_detail {

inline constexpr std::uint32_t max_hot_groups = 8;
inline constexpr std::uint32_t max_table_slots = 57344;  ///< 224 KiB: the shared memory of a block

struct sliced_ell_layout {
    std::uint32_t table_slots =
        0;  ///< of a hot group: a multiple of 64, at most max_table_slots; 0: automatic; cut to the device's
    int hot_groups = -1;  ///< at most max_hot_groups; −1: as many as pay
    friend bool operator==(const sliced_ell_layout&, const sliced_ell_layout&) = default;
};

/// Which of several devices a device is. Each has the links into a range of slots, about equal work; all number the nodes
/// alike if they have the same layout. Ranges begin at multiples of four slots.
struct device_share {
    std::uint32_t index = 0, count = 1;
};

fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params, const sliced_ell_layout& layout);

}  // namespace quern::link_rank_detail
