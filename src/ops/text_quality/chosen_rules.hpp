// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "quern/ops/text_quality.hpp"

namespace quern::text_quality {

/// Whether one of the rules [first, end) is on; `rules` are those of their group, from `base` on.
inline bool any_on(std::span<const chosen_rule> rules, std::uint32_t base, std::uint32_t first,
                   std::uint32_t end) {
    return std::ranges::any_of(rules.subspan(first - base, end - first), &chosen_rule::is_on);
}

}  // namespace quern::text_quality
