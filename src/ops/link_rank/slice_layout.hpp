// SPDX-License-Identifier: Apache-2.0
// How links are arranged on a GPU, where tests and measurements want it otherwise than the graph would have it. Nothing
// of it can be seen in a result.
#pragma once

#include <cstdint>

#include "ops/link_rank/fixed_page_rank.hpp"

namespace quern::link_rank_detail {

inline constexpr std::uint32_t most_hot_groups = 8;
inline constexpr std::uint32_t most_table_slots =
    57344;  ///< 224 KiB: what a block's shared memory has room for

struct slice_layout {
    std::uint32_t table_slots =
        0;                ///< of a hot group: a multiple of 64, at most most_table_slots; 0: as suits
    int hot_groups = -1;  ///< at most most_hot_groups; −1: as many as pay
};

fixed_answer fixed_page_rank(cuda_place& place, const link_graph_view& graph, const fixed_question& question,
                             const slice_layout& layout);

}  // namespace quern::link_rank_detail
