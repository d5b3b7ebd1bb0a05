// SPDX-License-Identifier: Apache-2.0
// No random access (Fagin, Lotem and Naor 2003): all lists are read level by level; every object seen has a lower and an
// upper bound. It ends when no bound can change the answer. Objects are complete then: theirs may end earlier, with the set
// of the best but not their scores.
#include "ops/top_k/aggregation.hpp"
#include "ops/top_k/methods.hpp"

namespace quern::top_k_detail {

found_objects nra(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                  std::uint32_t k) {
    aggregation seen(place, rule, lists, objects, k);
    for (std::uint64_t level = 1; !seen.finished(); ++level) {
        if (level % 4096 == 0) place.run().check_stop();
        for (std::size_t i = 0; i < lists.size(); ++i) seen.read(i, true);
    }
    return {seen.best().sorted(), seen.objects().size()};
}

}  // namespace quern::top_k_detail
