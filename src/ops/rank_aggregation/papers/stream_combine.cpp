// SPDX-License-Identifier: Apache-2.0
// Stream-Combine (Güntzer, Balke and Kießling 2001): guided by upper bounds only. It reads the most promising list next:
// the recent fall of its entries, times the number of the most promising objects it could complete.
#include <algorithm>

#include "ops/rank_aggregation/aggregation.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr unsigned entries_at_a_time = 16;

/// How much a list's bound fell over its last entries read.
struct list_fall {
    double before = 0, now = 0;
    void read(double bound) {
        before = now;
        now = bound;
    }
    double fell() const { return std::max(before - now, 0.0); }
};

/// The list to read next among those that have not ended; ties go to the one that was read least.
std::size_t next_list(aggregation& seen, const list_cursors& lists, std::span<const list_fall> falls,
                      std::uint32_t k) {
    std::vector<double> wanted(lists.size());
    for (const std::uint32_t row : seen.best_candidates(k))
        for (std::size_t i = 0; i < lists.size(); ++i)
            if ((seen.objects().seen(row) >> i & 1) == 0) ++wanted[i];
    std::size_t chosen = lists.size();
    double promise = -1;
    for (std::size_t i = 0; i < lists.size(); ++i) {
        if (seen.ended(i)) continue;
        const double here = falls[i].fell() * wanted[i];
        if (here > promise || (here == promise && lists[i]->depth() < lists[chosen]->depth())) {
            chosen = i;
            promise = here;
        }
    }
    return chosen;
}

}  // namespace

found_objects stream_combine(cpu_place& place, const scoring& rule, list_cursors& lists,
                             std::uint32_t objects, std::uint32_t k) {
    aggregation seen(place, rule, lists, objects, k);
    std::vector<list_fall> falls(lists.size());
    const auto read = [&](std::size_t list, unsigned entries) {
        for (unsigned e = 0; e < entries && !seen.ended(list) && !seen.finished(); ++e) seen.read(list, true);
        falls[list].read(lists[list]->bound());
    };
    for (std::size_t i = 0; i < lists.size(); ++i) {
        seen.read(i, true);
        falls[i].now = lists[i]->bound();
    }
    for (std::size_t i = 0; i < lists.size(); ++i) read(i, entries_at_a_time);
    std::uint64_t turn = 0;
    while (!seen.finished()) {
        place.ctx().check_stop();
        // Periodically reads the list read least, so that none starves that others wait for.
        std::size_t list = next_list(seen, lists, falls, k);
        if (++turn % (4 * lists.size()) == 0) {
            for (std::size_t i = 0; i < lists.size(); ++i)
                if (!seen.ended(i) && (seen.ended(list) || lists[i]->depth() < lists[list]->depth()))
                    list = i;
        }
        read(list, entries_at_a_time);
    }
    return {seen.best().sorted(), seen.objects().size()};
}

}  // namespace quern::rank_aggregation_detail
