// SPDX-License-Identifier: Apache-2.0
// The segmented method of the Tegra K1 paper (Li, Huang and Xie) on the CPU: a stride of levels of all lists at a time.
// Growing: objects are appended, or their lower bound rises, until the k-th lower bound is above T. Shrinking: new objects are
// passed over; once k candidates or more are complete, these are moved to the results, which are sorted by score, and the
// rest is looked through for the greatest upper bound. The paper sorts all candidates after every stride; here a heap knows
// the k-th lower bound, which is all that the sort was for.
#include <algorithm>

#include "ops/top_k/aggregation.hpp"
#include "ops/top_k/lower_bounds.hpp"
#include "ops/top_k/methods.hpp"

namespace quern::top_k_detail {
namespace {

/// Candidates that are not complete and can still precede `last`.
std::vector<std::uint32_t> still_open(const aggregation& seen, const std::vector<std::uint32_t>& rows,
                                      const scored_object& last) {
    std::vector<std::uint32_t> open;
    for (const std::uint32_t row : rows) {
        if (!seen.complete(row) && precedes({seen.upper_bound(row), seen.objects().id(row)}, last))
            open.push_back(row);
    }
    return open;
}

}  // namespace

found_objects segmented(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                        std::uint32_t k, std::uint32_t stride) {
    aggregation seen(place, rule, lists, objects, k);
    greatest_lower_bounds lower(k);
    const auto read_stride = [&](bool growing) {
        place.run().check_stop();
        for (std::uint32_t level = 0; level < stride && !seen.ended(); ++level) {
            for (std::size_t i = 0; i < lists.size(); ++i) {
                const std::uint32_t row = seen.read(i, growing);
                if (growing && row != candidate_table::none) lower.raise(row, seen.lower_bound(row));
            }
        }
    };
    while (!seen.ended() && !(lower.kth() > seen.unseen_bound())) read_stride(true);
    std::vector<std::uint32_t> open(seen.objects().size());
    for (std::uint32_t row = 0; row < open.size(); ++row) open[row] = row;
    while (!seen.ended()) {
        if (seen.best().full()) {
            open = still_open(seen, open, seen.best().last());
            if (open.empty()) break;
        }
        read_stride(false);
    }
    return {seen.best().sorted(), seen.objects().size()};
}

}  // namespace quern::top_k_detail
