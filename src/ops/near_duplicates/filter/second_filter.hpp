// SPDX-License-Identifier: Apache-2.0
// What a search will cost, estimated from a sample of pairs before it begins, and the filter that makes it cheapest.
#pragma once

#include <cstdint>

#include "ops/near_duplicates/filter/sketched_classes.hpp"

namespace quern::near_duplicates_detail {

/// Seconds of one thread to sketch the texts and to compare all pairs with a second filter.
struct search_cost {
    double with_counts = 0, with_bitmaps = 0;
    double words = 0;  ///< of a bitmap, on average over the pairs
    double edits = 0;  ///< for the edit distances of unlike texts that pass the filters; of pairs: unknown

    /// Bitmaps cost more to make, and exclude more. The choice changes no result.
    second_filter cheaper() const {
        return with_bitmaps < with_counts ? second_filter::bitmaps : second_filter::pair_counts;
    }
};

/// `pairs`: how many the lengths allow, of classes from `first` on. `links_suffice`: a pair of one group needs no comparison (text_links), so that pairs
/// of the sample that are near-duplicates cost nothing. The ratio of the two costs is the same in every run; seconds are scaled by the
/// measured speed of this machine. Cost: 16,384 pairs of sketches and the bitmaps of some hundred texts; nothing for few pairs.
template <class Unit>
search_cost estimate_cost(const unit_texts<Unit>& texts, const sketch_list& sketches,
                          const text_classes& classes, const gram_rules& rules, const decimal& threshold,
                          std::uint64_t pairs, bool links_suffice, std::uint32_t first = 0);

/// Logs the number of pairs and the seconds that comparing them takes, unless it is short; if it is long, also what is faster.
void report_cost(const context& ctx, std::uint64_t pairs, double seconds);

}  // namespace quern::near_duplicates_detail
