// SPDX-License-Identifier: Apache-2.0
// Finds how little of the lists must be read if the k-th best score is at least some number: from the descending scores
// alone, without reading an id.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ops/rank_aggregation/checked_lists.hpp"

namespace quern::rank_aggregation_detail {

/// Nanoseconds of one thread, measured on lists in memory. Only sums of them are compared, so the machine hardly matters.
struct reading_costs {
    double prefix_entry = 25;      ///< an entry whose object gets a row
    double set_bit = 1.4;          ///< an entry marked in its bitmap
    double fetch = 1.2;            ///< an entry whose value is fetched
    double bitmap_word = 1.5;      ///< 64 objects of a list
    double candidate = 60;         ///< an object of the bitmaps that gets a row
    double found = 30;             ///< a value of such an object, per list
    double scan = 0.9;             ///< an entry that is scanned for open objects
    double everything = 5;         ///< an entry, if all are read into sums
    double everything_cached = 2;  ///< the same if sums fit a core's cache: up to cached_objects
    double object = 1;             ///< an object's sum: cleared and checked
    double planning = 100'000;     ///< all plans; cheaper reading is not planned
    std::uint32_t cached_objects = std::uint32_t{1} << 17;
    /// Up to this many objects, entries are added in place at once.
    std::uint32_t direct_objects = std::uint32_t{1} << 19;
    /// Above that, objects are partitioned into this many parts, more if memory requires it. One part reads least and takes
    /// most memory.
    std::uint32_t parts = 2;
};

/// Candidates are the first `prefixes` entries of every list, and among the first `depth` entries every object that lacks at
/// most `missing_lists` lists there. No other object can be among the best. Without bitmaps: depth = 0.
struct reading_plan {
    std::uint64_t prefixes = 0, depth = 0;
    std::size_t missing_lists = 0;
    double cost = std::numeric_limits<double>::infinity();
};

template <class Score>
class planner {
  public:
    planner(const checked_lists<Score>& lists, const reading_costs& costs) : lists_(lists), costs_(costs) {}

    /// The cheapest plan if no relevant score is less than `threshold`. `bits_set`: the depth marked so far. None if the lists
    /// are empty, or every plan costs `max_cost` or more.
    std::optional<reading_plan> cheapest(double threshold, std::uint64_t bits_set, double max_cost) const;

    /// The cost of reading all into sums.
    double everything() const;
    /// The cost if all objects of all entries get rows.
    double all_prefixes() const { return prefixes_to(lists_.longest()); }
    /// The cost if the objects of the first entries get rows.
    double prefixes_to(std::uint64_t depth) const;
    /// The depth to which k objects would be in every list, if lists were independent.
    std::uint64_t independent_depth(std::uint32_t k) const;
    /// The cost of marking and fetching all lists to the depth.
    double to_depth(std::uint64_t depth) const;
    /// The cost of a relevant object of the bitmaps.
    double of_candidate() const;

  private:
    reading_plan prefixes_only(double threshold, double closing) const;
    /// None if it costs `max_cost` or more, or is not certain.
    std::optional<reading_plan> with_bitmaps(double threshold, std::uint64_t prefixes,
                                             std::size_t missing_lists, std::uint64_t bits_set,
                                             double closing, double max_cost) const;
    /// The depth where most likely no object that is in no prefix and lacks that many lists can reach `threshold`; at most `to`.
    std::uint64_t min_depth(double threshold, std::uint64_t prefixes, std::size_t missing_lists,
                            std::uint64_t from, std::uint64_t to) const;
    /// Whether such objects are out: likely_excluded tests only the lists whose absence costs least, one by one; surely_excluded all sets.
    bool likely_excluded(double threshold, std::uint64_t prefixes, std::size_t missing_lists,
                         std::uint64_t depth) const;
    bool surely_excluded(double threshold, std::uint64_t prefixes, std::size_t missing_lists,
                         std::uint64_t depth) const;
    double expected_candidates(std::size_t missing_lists, std::uint64_t depth) const;
    double entries_to(std::uint64_t depth) const;
    /// The greatest depth to which marking and fetching costs no more.
    std::uint64_t affordable_depth(double cost) const;

    const checked_lists<Score>& lists_;
    const reading_costs& costs_;
};

}  // namespace quern::rank_aggregation_detail
