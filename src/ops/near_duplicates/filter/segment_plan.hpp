// SPDX-License-Identifier: Apache-2.0
// Which pairs of short texts are found by their segments, and how much that costs, estimated from a sample before it
// begins. Short texts are many of one length: there a scan of all pairs costs the square of their number.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ops/near_duplicates/filter/segment_index.hpp"
#include "ops/near_duplicates/filter/segments.hpp"

namespace quern::near_duplicates_detail {

/// How pairs of short texts are found; other values than these are for tests.
struct segment_choice {
    enum class way {
        cheapest,
        segments,  ///< all up to the longest text, by segments wherever texts have as many units
        parities,  ///< the same, all pairs by the parities of their counts
    };
    way by = way::cheapest;
    std::uint32_t longest = 1000;       ///< units of the shorter text of a pair, at most
    std::uint64_t min_pairs = 100'000;  ///< that lengths allow; fewer are not worth it
    std::uint32_t at_once = std::numeric_limits<std::uint32_t>::max();  ///< texts in an index, at most
    bool for_links = false;  ///< where links suffice; set by the search
};

/// Texts of one length, and those that they are compared with, of lengths for which a pair allows this distance.
struct segment_step {
    class_range columns, rows;
    std::uint32_t length, distance;
    std::vector<std::uint32_t> cuts;  ///< of the columns; none: every pair is looked at, by parities
};

struct segment_plan {
    std::uint32_t end = 0;  ///< the columns before have all their pairs in the steps
    std::vector<segment_step> steps;
    std::uint64_t pairs = 0;  ///< that lengths allow for these columns
    std::uint64_t apart = 0;  ///< of them, those without an edit: no two different texts
    double seconds = 0;       ///< of one thread, about
};

/// Columns have pairs with rows; where `same`, they are one list, and each pair is that of a row and an earlier column. Otherwise they
/// have no text in common. The same in every run. Cost: O(lengths), and a sample of each length with many pairs.
template <class Unit>
segment_plan plan_segments(const unit_texts<Unit>& texts, const sketch_list& sketches,
                           const texts_by_length& columns, const texts_by_length& rows, bool same,
                           const decimal& threshold, const segment_choice& choice, const context& ctx);

}  // namespace quern::near_duplicates_detail
