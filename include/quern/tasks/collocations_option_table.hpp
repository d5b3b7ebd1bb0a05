// SPDX-License-Identifier: Apache-2.0
// The options of collocations besides those of counting and of the vocabulary (words_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/tasks/collocations.hpp"

namespace quern {

template <>
inline constexpr auto options_of<collocations_options> = std::array{
    option_for<&collocations_options::by>("by", "MEASURE", association_measure_names,
                                          "The order of a word's collocates: frequency, mi (pointwise mutual "
                                          "information, in bits), log-likelihood, log-dice "
                                          "or t-score. All are written."),
    option_for<&collocations_options::top>("top", "K|all", {.min = 1, .all = all_collocates},
                                           "Collocates of each word.")
        .with_letter('k'),
    option_for<&collocations_options::min_both>("min_both", "N", {.min = 1},
                                                "Only pairs that co-occur at least N times."),
};

}  // namespace quern
