// SPDX-License-Identifier: Apache-2.0
// The options of compared runs besides those of tests (quern/ops/significance_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/significance_option_table.hpp"
#include "quern/tasks/evaluate.hpp"

namespace quern {

template <>
inline constexpr auto options_of<comparison_options> = std::array{option_for<&comparison_options::complete>(
    "complete", "Judged topics missing in a run count as 0, as in ir-measures and trec_eval -c.")};

}  // namespace quern
