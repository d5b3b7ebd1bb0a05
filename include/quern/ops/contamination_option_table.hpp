// SPDX-License-Identifier: Apache-2.0
// The options of contamination.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/contamination.hpp"

namespace quern {

template <>
inline constexpr auto options_of<contamination_options> =
    std::array{option_for<&contamination_options::ngram>(
                   "ngram", "N", {.min = 1, .max = 1000},
                   "Words of an n-gram. An item of fewer words is one n-gram of all its words."),
               option_for<&contamination_options::overlap>(
                   "overlap", "SHARE", {.above = 0, .max = 1},
                   "Remove a document that contains at least this share of an item's n-grams.")};

}  // namespace quern
