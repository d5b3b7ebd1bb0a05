// SPDX-License-Identifier: Apache-2.0
// The options of dedup besides those of near-duplicates (quern/ops/duplicate_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/duplicate_option_table.hpp"
#include "quern/tasks/dedup.hpp"

namespace quern {

template <>
inline constexpr auto options_of<dedup_options> = std::array{
    option_for<&dedup_options::rule>("rule", "RULE", removal_rule_names,
                                     "Which documents to remove: near-kept (those near a kept one) or "
                                     "connected (all but one of each group that pairs connect, also those "
                                     "that are near no kept document)."),
    option_for<&dedup_options::keep>("keep", "WHICH", keep_policy_names,
                                     "Which of several near-duplicates to prefer: first, last, longest or "
                                     "shortest (in bytes; the first of equal ones). Earlier documents "
                                     "(--store, --against) come before all others.")};

}  // namespace quern
