// SPDX-License-Identifier: Apache-2.0
// The meaning of an edit-rate threshold for two lengths, in integers. For every compiler and place.
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

/// Whether texts of these lengths can be a pair at all: they are at least `longer - shorter` edits apart.
constexpr bool lengths_allow(const decimal& threshold, std::uint64_t shorter, std::uint64_t longer) {
    // longer - shorter <= largest_distance(threshold, shorter + longer), without a division.
    return longer == shorter ||
           (longer - shorter) * threshold.denominator < threshold.numerator * (shorter + longer);
}

/// The lengths that can make a pair with a text of `length`: shortest .. longest, both included.
struct length_window {
    std::uint64_t shortest, longest;
};
/// Both ends ascend with the length. For lengths below 2^31.
constexpr length_window lengths_near(const decimal& threshold, std::uint64_t length) {
    const auto first = [](std::uint64_t begin, std::uint64_t end, const auto& holds) {
        while (begin < end) {
            const std::uint64_t middle = begin + (end - begin) / 2;
            if (holds(middle)) {
                end = middle;
            } else {
                begin = middle + 1;
            }
        }
        return begin;
    };
    const std::uint64_t shortest =
        first(0, length, [&](std::uint64_t other) { return lengths_allow(threshold, other, length); });
    // A rate below 1/2 allows less than three times the length.
    const std::uint64_t beyond = first(length, 3 * length + 1, [&](std::uint64_t other) {
        return !lengths_allow(threshold, length, other);
    });
    return {shortest, beyond - 1};
}

}  // namespace quern::near_duplicates_detail
