// SPDX-License-Identifier: Apache-2.0
// Shared by nra, sc and lara: candidates and their bounds while lists are read, and the termination test.
//
// The test: k objects are complete (seen in every list that has not ended), the k-th of them, s, has a score above that of
// any unseen object, and no candidate's upper bound precedes s in the order of results. Candidates wait in a heap by an
// earlier upper bound. Upper bounds only fall and s only rises, so a candidate that does not precede s now never will:
// checking the heap's top is enough, and each candidate leaves the heap once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ops/rank_aggregation/candidates.hpp"
#include "ops/rank_aggregation/cursors.hpp"

namespace quern::rank_aggregation_detail {

// The k-th greatest of lower bounds that rise one by one.

/// A heap of the k rows with the greatest bounds, the smallest of them on top, that knows the position of each row.
class greatest_lower_bounds {
  public:
    explicit greatest_lower_bounds(std::size_t k) : k_(k) {}

    /// Sets the row's bound, which never falls. O(log k).
    void raise(std::uint32_t row, double bound) {
        if (row >= place_.size()) place_.resize(row + std::size_t{1}, outside);
        if (place_[row] != outside) {
            heap_[place_[row]].bound = bound;
            sink(place_[row]);
        } else if (heap_.size() < k_) {
            heap_.push_back({bound, row});
            place_[row] = static_cast<std::uint32_t>(heap_.size() - 1);
            rise(heap_.size() - 1);
        } else if (bound > heap_[0].bound) {
            place_[heap_[0].row] = outside;
            heap_[0] = {bound, row};
            place_[row] = 0;
            sink(0);
        }
    }
    /// The k-th bound; −infinity if there are fewer.
    double kth() const {
        return heap_.size() < k_ ? -std::numeric_limits<double>::infinity() : heap_[0].bound;
    }

  private:
    static constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();
    struct member {
        double bound;
        std::uint32_t row;
    };

    void exchange(std::size_t a, std::size_t b) {
        std::swap(heap_[a], heap_[b]);
        place_[heap_[a].row] = static_cast<std::uint32_t>(a);
        place_[heap_[b].row] = static_cast<std::uint32_t>(b);
    }
    void rise(std::size_t at) {
        for (; at > 0 && heap_[at].bound < heap_[(at - 1) / 2].bound; at = (at - 1) / 2)
            exchange(at, (at - 1) / 2);
    }
    void sink(std::size_t at) {
        for (;;) {
            std::size_t least = at;
            for (const std::size_t child : {2 * at + 1, 2 * at + 2})
                if (child < heap_.size() && heap_[child].bound < heap_[least].bound) least = child;
            if (least == at) return;
            exchange(at, least);
            at = least;
        }
    }

    std::size_t k_;
    std::vector<member> heap_;
    std::vector<std::uint32_t> place_;  ///< in the heap, by row
};

class aggregation {
  public:
    aggregation(cpu_place& place, const scoring& rule, list_cursors& lists, std::uint32_t objects,
                std::uint32_t k)
        : rule_(rule),
          lists_(lists),
          objects_(place, lists.size(), objects),
          best_(k),
          all_(lists.size() == max_lists ? ~std::uint64_t{0} : (std::uint64_t{1} << lists.size()) - 1) {
        for (const auto& list : lists_) bounds_.push_back(list->bound());
    }

    const candidate_table& objects() const { return objects_; }
    const best_objects& best() const { return best_; }
    std::uint64_t all_lists() const { return all_; }
    bool ended() const { return ended_ == all_; }
    bool ended(std::size_t list) const { return (ended_ >> list & 1) != 0; }

    /// Reads one entry; returns the row of its object, or none if the list has ended or the object is new and `growing` is
    /// false.
    std::uint32_t read(std::size_t list, bool growing) {
        list_cursor& from = *lists_[list];
        if (!from.advance()) {
            if (!ended(list)) end(list);
            return candidate_table::none;
        }
        bounds_[list] = from.bound();
        began_ |= std::uint64_t{1} << list;
        std::uint32_t row = objects_.row_of(from.id());
        const bool is_new = row == candidate_table::none;
        if (is_new && !growing) return row;
        if (is_new) row = objects_.add(from.id());
        objects_.see(row, list, from.value(), from.depth());
        if (complete(row)) {
            best_.offer({score(row), objects_.id(row)});
        } else if (is_new) {
            wait(row);
        }
        return row;
    }

    bool complete(std::uint32_t row) const { return (objects_.seen(row) | ended_) == all_; }
    double lower_bound(std::uint32_t row) const {
        return rule_.score(objects_.values(row), objects_.seen(row), rule_.floor_values());
    }
    double upper_bound(std::uint32_t row) const {
        return rule_.score(objects_.values(row), objects_.seen(row), bounds_);
    }
    /// T: the maximum score of an unseen object; infinite before every list was begun.
    double unseen_bound() const {
        return (began_ | ended_) == all_ ? rule_.score(bounds_) : std::numeric_limits<double>::infinity();
    }
    std::span<const double> bounds() const { return bounds_; }

    /// Whether the k best are known.
    bool finished() {
        if (ended()) return true;
        if (!best_.full()) return false;
        const scored_object last = best_.last();
        if (!(unseen_bound() < last.score)) return false;
        while (!waiting_.empty()) {
            const std::uint32_t row = waiting_.front().row;
            if (waiting_.front().bound < last.score) return true;
            std::pop_heap(waiting_.begin(), waiting_.end(), lower);
            waiting_.pop_back();
            if (complete(row)) continue;
            const double bound = upper_bound(row);
            if (!precedes({bound, objects_.id(row)}, last)) continue;
            push({bound, row});
            return false;
        }
        return true;
    }

    /// The rows with the greatest upper bounds, at most `count`, of those that may still be among the best.
    std::vector<std::uint32_t> best_candidates(std::size_t count) {
        std::vector<waiting> taken;
        while (taken.size() < count && !waiting_.empty()) {
            const waiting top = waiting_.front();
            std::pop_heap(waiting_.begin(), waiting_.end(), lower);
            waiting_.pop_back();
            if (complete(top.row)) continue;
            const double bound = upper_bound(top.row);
            if (bound < top.bound && !waiting_.empty() && bound < waiting_.front().bound) {
                push({bound, top.row});
            } else {
                taken.push_back({bound, top.row});
            }
        }
        std::vector<std::uint32_t> rows;
        for (const waiting& one : taken) {
            rows.push_back(one.row);
            push(one);
        }
        return rows;
    }

  private:
    struct waiting {
        double bound;  ///< at insertion; it may have fallen since
        std::uint32_t row;
    };
    static bool lower(const waiting& a, const waiting& b) { return a.bound < b.bound; }
    void push(waiting one) {
        waiting_.push_back(one);
        std::push_heap(waiting_.begin(), waiting_.end(), lower);
    }
    void wait(std::uint32_t row) { push({upper_before_all(row), row}); }
    /// An upper bound that also holds before every list was begun.
    double upper_before_all(std::uint32_t row) const {
        return (began_ | ended_) == all_ ? upper_bound(row) : std::numeric_limits<double>::infinity();
    }
    double score(std::uint32_t row) const { return lower_bound(row); }

    /// From here on, objects that were not seen in the list count its floor: objects become complete.
    void end(std::size_t list) {
        const std::uint64_t before = ended_;
        ended_ |= std::uint64_t{1} << list;
        bounds_[list] = rule_.floor_value(list);
        for (std::uint32_t row = 0; row < objects_.size(); ++row) {
            const bool was = (objects_.seen(row) | before) == all_;
            if (!was && complete(row)) best_.offer({score(row), objects_.id(row)});
        }
    }

    const scoring& rule_;
    list_cursors& lists_;
    candidate_table objects_;
    best_objects best_;
    std::uint64_t all_, began_ = 0, ended_ = 0;
    std::vector<double> bounds_;  ///< one per list
    std::vector<waiting> waiting_;
};

}  // namespace quern::rank_aggregation_detail
