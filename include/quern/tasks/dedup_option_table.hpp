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
    option_for<&dedup_options::keep>("keep", "WHICH", keep_policy_names,
                                     "Which document of a group to keep: first, last, longest or shortest "
                                     "(in bytes; the first of equal ones). A group "
                                     "with earlier documents (--store, --against) keeps one of those.")};

}  // namespace quern
