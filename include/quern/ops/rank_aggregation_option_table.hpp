// SPDX-License-Identifier: Apache-2.0
// The options of rank aggregation.
#pragma once

#include <array>
#include <limits>

#include "quern/base/option.hpp"
#include "quern/ops/rank_aggregation.hpp"

namespace quern {

template <>
inline constexpr auto options_of<aggregation_options> = std::array{
    option_for<&aggregation_options::k>(
        "top", "K|all", {.min = 1, .all = std::numeric_limits<std::uint32_t>::max()}, "Objects to write.")
        .with_letter('k'),
    option_for<&aggregation_options::score>("aggregate", "RULE", aggregate_names,
                                            "sum, min, max, product, mean (divided by the sum of the "
                                            "weights) or rrf (reciprocal ranks) of the weighted "
                                            "scores."),
    option_for<&aggregation_options::constant>("constant", "C", {.min = 0},
                                               "Constant of reciprocal ranks: 1 / (C + rank)."),
    option_for<&aggregation_options::method>(
        "method", "NAME", aggregation_method_names,
        "auto, nra, sc, lara or segmented; on a GPU auto or segmented. The results are the same."),
    option_for<&aggregation_options::stride>("stride", "N", {.min = 1},
                                             "segmented: levels to read at a time.")};

}  // namespace quern
