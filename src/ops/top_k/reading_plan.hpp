// SPDX-License-Identifier: Apache-2.0
// How little of the lists is enough, given that the k-th best score is not less than some number: from the scores alone, which
// fall, and without an id being looked at.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ops/top_k/checked_lists.hpp"

namespace quern::top_k_detail {

/// Nanoseconds of one thread, measured on lists in memory; what is compared is their sums, so that the machine counts for little.
struct reading_costs {
    double head = 25;              ///< an entry whose object gets a row
    double mark = 1.4;             ///< an entry marked in its plane
    double fetch = 1.2;            ///< an entry whose value is asked for
    double plane_word = 1.5;       ///< 64 objects of a list
    double candidate = 60;         ///< an object of the planes that gets a row
    double found = 30;             ///< a value of such an object, a list each
    double scan = 0.9;             ///< an entry that is looked at for open objects
    double everything = 5;         ///< an entry, where all are read into sums
    double everything_cached = 2;  ///< the same where sums stay in a core's cache: up to cached_objects
    double object = 1;             ///< an object's sum: cleared and looked at
    double planning = 100'000;     ///< all plans; what costs no more is not planned
    std::uint32_t cached_objects = std::uint32_t{1} << 17;
    /// Up to so many objects, entries are added where they belong at once.
    std::uint32_t in_place_objects = std::uint32_t{1} << 19;
    /// More are dealt out in so many parts, in more where memory asks for it. One part reads least and takes most memory.
    std::uint32_t parts = 2;
};

/// The first `heads` entries of every list are candidates, and of the first `depth` entries every object that lacks at most
/// `lacking` lists there. No other object can be among the best. No planes: depth = 0.
struct reading_plan {
    std::uint64_t heads = 0, depth = 0;
    std::size_t lacking = 0;
    double cost = std::numeric_limits<double>::infinity();
};

template <class Score>
class planner {
  public:
    planner(const checked_lists<Score>& lists, const reading_costs& costs) : lists_(lists), costs_(costs) {}

    /// The cheapest, where no score that matters is less than `needed`. `marked`: the depth that has been marked.
    /// None where the lists are empty, or every plan costs `most_cost` or more.
    std::optional<reading_plan> cheapest(double needed, std::uint64_t marked, double most_cost) const;

    /// Reading all into sums.
    double everything() const;
    /// All objects of all entries get rows.
    double all_heads() const { return heads_to(lists_.longest()); }
    /// The objects of the first entries get rows.
    double heads_to(std::uint64_t depth) const;
    /// The depth to which k objects would be in every one of independent lists.
    std::uint64_t independent_depth(std::uint32_t k) const;
    /// Marking and fetching all lists to the depth.
    double to_depth(std::uint64_t depth) const;
    /// An object of the planes that counts.
    double of_candidate() const;

  private:
    reading_plan heads_only(double needed, double closing) const;
    /// None where it costs `most_cost` or more, or is not sure.
    std::optional<reading_plan> with_planes(double needed, std::uint64_t heads, std::size_t lacking,
                                            std::uint64_t marked, double closing, double most_cost) const;
    /// Where no object that is in no head and lacks so many lists can reach `needed`, most likely; at most `to`.
    std::uint64_t least_depth(double needed, std::uint64_t heads, std::size_t lacking, std::uint64_t from,
                              std::uint64_t to) const;
    /// By the set of lists that an object misses least one by one; and by all sets.
    bool likely_out(double needed, std::uint64_t heads, std::size_t lacking, std::uint64_t depth) const;
    bool surely_out(double needed, std::uint64_t heads, std::size_t lacking, std::uint64_t depth) const;
    double expected_candidates(std::size_t lacking, std::uint64_t depth) const;
    double entries_to(std::uint64_t depth) const;
    /// The greatest depth to which marking and fetching costs no more.
    std::uint64_t affordable_depth(double cost) const;

    const checked_lists<Score>& lists_;
    const reading_costs& costs_;
};

}  // namespace quern::top_k_detail
