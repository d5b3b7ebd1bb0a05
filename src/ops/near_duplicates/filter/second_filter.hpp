// SPDX-License-Identifier: Apache-2.0
// Which filter follows the counts of units on the CPU.
#pragma once

#include <cstdint>

#include "ops/near_duplicates/filter/sketched_classes.hpp"

namespace quern::near_duplicates_detail {

/// The cheaper one, by an estimate from a sample of pairs: bitmaps cost more to make, and exclude more. It changes no result.
/// `pairs`: how many the lengths allow. Cost: 16,384 pairs of sketches
/// and the bitmaps of some hundred texts; nothing for few pairs.
template <class Unit>
second_filter cheaper_filter(const unit_texts<Unit>& texts, const sketch_list& sketches,
                             const text_classes& classes, const gram_rules& rules, const decimal& threshold,
                             std::uint64_t pairs);

}  // namespace quern::near_duplicates_detail
