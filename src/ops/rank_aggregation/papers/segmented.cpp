// SPDX-License-Identifier: Apache-2.0
// The segmented method of the Tegra K1 paper (Li, Huang and Xie) on the CPU: one stride of levels of all lists at a time.
// - Growing: objects are appended, or their lower bound rises, until the k-th lower bound is above T.
// - Shrinking: new objects are skipped. Once at least k candidates are complete, they move to the results, which are sorted
//   by score, and the rest is searched for the greatest upper bound.
//
// The paper sorts all candidates after every stride; here a heap gives the k-th lower bound, the only purpose of the sort.
#include <algorithm>

#include "ops/rank_aggregation/aggregation.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"

namespace quern::rank_aggregation_detail {
namespace {

/// Incomplete candidates that can still precede `last`.
std::vector<std::uint32_t> still_undecided(const aggregation& seen, const std::vector<std::uint32_t>& rows,
                                           const scored_object& last) {
    std::vector<std::uint32_t> undecided;
    for (const std::uint32_t row : rows) {
        if (!seen.complete(row) && precedes({seen.upper_bound(row), seen.objects().id(row)}, last))
            undecided.push_back(row);
    }
    return undecided;
}

}  // namespace

found_objects segmented(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                        std::uint32_t k, std::uint32_t stride) {
    aggregation seen(place, rule, lists, objects, k);
    greatest_lower_bounds lower(k);
    const auto read_stride = [&](bool growing) {
        place.ctx().check_stop();
        for (std::uint32_t level = 0; level < stride && !seen.ended(); ++level) {
            for (std::size_t i = 0; i < lists.size(); ++i) {
                const std::uint32_t row = seen.read(i, growing);
                if (growing && row != candidate_table::none) lower.raise(row, seen.lower_bound(row));
            }
        }
    };
    while (!seen.ended() && !(lower.kth() > seen.unseen_bound())) read_stride(true);
    std::vector<std::uint32_t> undecided(seen.objects().size());
    for (std::uint32_t row = 0; row < undecided.size(); ++row) undecided[row] = row;
    while (!seen.ended()) {
        if (seen.best().full()) {
            undecided = still_undecided(seen, undecided, seen.best().last());
            if (undecided.empty()) break;
        }
        read_stride(false);
    }
    return {seen.best().sorted(), seen.objects().size()};
}

}  // namespace quern::rank_aggregation_detail
