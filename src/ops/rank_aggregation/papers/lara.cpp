// SPDX-License-Identifier: Apache-2.0
// LARA (Mamoulis, Yiu, Cheng and Cheung 2007, "Efficient top-k aggregation of ranked inputs").
// - Growing: every object is kept until no unseen one can be among the best, according to the k-th lower bound.
// - Shrinking: new objects are skipped, and candidates are arranged in a lattice by the set of lists they were seen in.
//   Those of one node lack the same lists, so the one with the highest score so far, the leader, bounds them all. The
//   termination test needs only one leader per node.
//
// Rounded sums of one node may not rank exactly like their parts: when no leader is left to beat the k-th, all candidates
// are checked once before the end.
#include <algorithm>
#include <unordered_map>

#include "ops/rank_aggregation/aggregation.hpp"
#include "ops/rank_aggregation/aggregation_methods.hpp"

namespace quern::rank_aggregation_detail {
namespace {

/// Incomplete candidates by the lists they were seen in, those with the highest score so far first.
class lattice {
  public:
    /// `max`: the maximum value of each list, in place of unseen values.
    lattice(const aggregation& seen, const scoring& rule, std::vector<double> max)
        : seen_(seen), rule_(rule), max_(std::move(max)) {}

    /// Puts the row in the node of its lists; call it again whenever the row was seen in another list.
    void put(std::uint32_t row) {
        if (seen_.complete(row)) return;
        const std::uint64_t lists = seen_.objects().seen(row);
        std::vector<member>& node = nodes_[lists];
        node.push_back({rule_.score(seen_.objects().values(row), lists, max_), row});
        std::push_heap(node.begin(), node.end(), less);
    }

    /// Whether a leader can still precede `last`.
    bool any_precedes(const scored_object& last) {
        return std::ranges::any_of(nodes_, [&](auto& one) {
            auto& [lists, node] = one;
            while (!node.empty()) {
                const std::uint32_t row = node.front().row;
                if (seen_.objects().seen(row) == lists && !seen_.complete(row))
                    return precedes({seen_.upper_bound(row), seen_.objects().id(row)}, last);
                std::pop_heap(node.begin(), node.end(), less);  // it has moved to another node
                node.pop_back();
            }
            return false;
        });
    }

  private:
    struct member {
        double max;
        std::uint32_t row;
    };
    static bool less(const member& a, const member& b) {
        return a.max != b.max ? a.max < b.max : a.row > b.row;
    }

    const aggregation& seen_;
    const scoring& rule_;
    std::vector<double> max_;
    std::unordered_map<std::uint64_t, std::vector<member>> nodes_;
};

bool none_precedes(const aggregation& seen, const scored_object& last) {
    for (std::uint32_t row = 0; row < seen.objects().size(); ++row) {
        if (!seen.complete(row) && precedes({seen.upper_bound(row), seen.objects().id(row)}, last))
            return false;
    }
    return true;
}

/// A level for the test, and the next one, at growing distances.
class rare_levels {
  public:
    bool due(std::uint64_t level) const { return level >= next_; }
    void looked(std::uint64_t level) { next_ = level + 1 + level / 32; }

  private:
    std::uint64_t next_ = 1;
};

}  // namespace

found_objects lara(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                   std::uint32_t k) {
    aggregation seen(place, rule, lists, objects, k);
    std::vector<double> max(lists.size());
    std::uint64_t level = 0;
    for (greatest_lower_bounds lower(k); !seen.ended() && !(lower.kth() > seen.unseen_bound());) {
        if (++level % 4096 == 0) place.ctx().check_stop();
        for (std::size_t i = 0; i < lists.size(); ++i) {
            const std::uint32_t row = seen.read(i, true);
            if (row != candidate_table::none) lower.raise(row, seen.lower_bound(row));
        }
        if (level == 1) max.assign(seen.bounds().begin(), seen.bounds().end());
    }
    lattice nodes(seen, rule, std::move(max));
    for (std::uint32_t row = 0; row < seen.objects().size(); ++row) nodes.put(row);
    rare_levels scans;
    while (!seen.ended()) {
        if (seen.best().full() && !nodes.any_precedes(seen.best().last()) && scans.due(level)) {
            if (none_precedes(seen, seen.best().last())) break;
            scans.looked(level);
        }
        if (++level % 4096 == 0) place.ctx().check_stop();
        for (std::size_t i = 0; i < lists.size(); ++i) {
            const std::uint32_t row = seen.read(i, false);
            if (row != candidate_table::none) nodes.put(row);
        }
    }
    return {seen.best().sorted(), seen.objects().size()};
}

}  // namespace quern::rank_aggregation_detail
