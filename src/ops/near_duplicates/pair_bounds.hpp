// SPDX-License-Identifier: Apache-2.0
// What a threshold of the edit rate means for two lengths, in integers. For every compiler and place.
#pragma once

#include <cstdint>

#include "quern/base/decimal.hpp"

namespace quern::near_duplicates_detail {

/// The largest distance d with d / total < threshold, for 0 < threshold <= 1/2 and a total below 2^33; two empty
/// texts have rate 0. No product below exceeds 5 · 10^8 · 2^33 < 2^63.
constexpr std::uint32_t largest_distance(const decimal& threshold, std::uint64_t total) {
    if (total == 0) return 0;
    return static_cast<std::uint32_t>((threshold.numerator * total - 1) / threshold.denominator);
}

/// Whether texts of these lengths can be a pair at all: they are `longer - shorter` edits apart at least.
constexpr bool lengths_allow(const decimal& threshold, std::uint64_t shorter, std::uint64_t longer) {
    return longer - shorter <= largest_distance(threshold, shorter + longer);
}

}  // namespace quern::near_duplicates_detail
