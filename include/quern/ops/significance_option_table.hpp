// SPDX-License-Identifier: Apache-2.0
// The options of tests between runs.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/significance.hpp"

namespace quern {

template <>
inline constexpr auto options_of<significance_options> = std::array{
    option_for<&significance_options::test>(
        "test", "TEST", paired_test_names,
        "Compares each run with the first one, over their common topics, two-sided: t (Student's paired "
        "test) or randomization (of the signs of differences)."),
    option_for<&significance_options::correction>(
        "correction", "NAME", p_correction_names,
        "Correction of p for the number of runs compared, by measure: holm, bonferroni, bh (Benjamini and "
        "Hochberg) or none."),
    option_for<&significance_options::confidence>("confidence", "X", {.above = 0, .below = 1},
                                                  "Confidence of the interval of a mean difference."),
    option_for<&significance_options::permutations>(
        "permutations", "N", {.min = 1, .max = 100'000'000},
        "Random draws of --test randomization; up to 40 differences other than 0 are counted exactly.")};

}  // namespace quern
