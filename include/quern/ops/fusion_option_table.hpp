// SPDX-License-Identifier: Apache-2.0
// The options of fusion.
#pragma once

#include <array>
#include <limits>

#include "quern/base/option.hpp"
#include "quern/ops/fusion.hpp"

namespace quern {

template <>
inline constexpr auto options_of<fusion_options> = std::array{
    option_for<&fusion_options::rule>("aggregate", "RULE", fusion_rule_names,
                                      "sum, min, max, mean (over all runs), median, mnz (sum times the "
                                      "number of runs that contain the document), "
                                      "anz (sum divided by that number), rrf (reciprocal ranks) or borda."),
    option_for<&fusion_options::normalisation>("normalize", "HOW", score_normalisation_names,
                                               "Normalise the scores of a topic in a run: none, minmax, "
                                               "zscore, sum or rank. rrf and borda use ranks and "
                                               "need none."),
    option_for<&fusion_options::constant>("constant", "C", {.min = 0},
                                          "Constant of reciprocal ranks: 1 / (C + rank)."),
    option_for<&fusion_options::depth>("depth", "K|all",
                                       {.min = 1, .all = std::numeric_limits<std::uint64_t>::max()},
                                       "Documents to write per topic.")
        .with_letter('k')};

}  // namespace quern
