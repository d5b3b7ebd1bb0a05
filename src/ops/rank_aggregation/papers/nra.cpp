// SPDX-License-Identifier: Apache-2.0
// No random access (Fagin, Lotem and Naor 2003): all lists are read level by level; every object seen has a lower and an
// upper bound. It ends when no bound can change the result. Here the returned objects are complete; the published method
// may end earlier, with the set of the best but not their scores.
#include "ops/rank_aggregation/aggregation.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"

namespace quern::rank_aggregation_detail {

found_objects nra(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                  std::uint32_t k) {
    aggregation seen(place, rule, lists, objects, k);
    for (std::uint64_t level = 1; !seen.finished(); ++level) {
        if (level % 4096 == 0) place.ctx().check_stop();
        for (std::size_t i = 0; i < lists.size(); ++i) seen.read(i, true);
    }
    return {seen.best().sorted(), seen.objects().size()};
}

}  // namespace quern::rank_aggregation_detail
