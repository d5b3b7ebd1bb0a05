// SPDX-License-Identifier: Apache-2.0
// The objects seen so far, with their lists and values; and the best of those whose score is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/rank_aggregation/lists.hpp"
#include "quern/base/error.hpp"

namespace quern::rank_aggregation_detail {

/// Objects in the order of first appearance, with rows of values. 4 bytes per possible object, and 12 + 8 per list for each
/// one seen.
class candidate_table {
  public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    candidate_table(cpu_place& place, std::size_t lists, std::uint32_t objects)
        : lists_(lists), rows_(place, objects, "the rows of objects") {
        std::ranges::fill(rows_.span(), none);
    }

    /// The object's row; none if it was not seen.
    std::uint32_t row_of(std::uint32_t id) const { return rows_.data()[id]; }
    std::uint32_t add(std::uint32_t id) {
        const auto row = static_cast<std::uint32_t>(ids_.size());
        rows_.data()[id] = row;
        ids_.push_back(id);
        seen_.push_back(0);
        values_.resize(values_.size() + lists_);
        return row;
    }
    /// Throws list_fault if the list already had it.
    void see(std::uint32_t row, std::size_t list, double value, std::uint64_t depth) {
        const std::uint64_t bit = std::uint64_t{1} << list;
        if ((seen_[row] & bit) != 0) throw list_fault(list, depth - 1, "the id occurs twice in the list");
        seen_[row] |= bit;
        values_[row * lists_ + list] = value;
    }

    std::size_t size() const { return ids_.size(); }
    std::uint32_t id(std::uint32_t row) const { return ids_[row]; }
    std::uint64_t seen(std::uint32_t row) const { return seen_[row]; }
    std::span<const double> values(std::uint32_t row) const {
        return std::span(values_).subspan(row * lists_, lists_);
    }

  private:
    std::size_t lists_;
    cpu_array<std::uint32_t> rows_;
    std::vector<std::uint32_t> ids_;
    std::vector<std::uint64_t> seen_;
    std::vector<double> values_;
};

/// The k best of the objects whose score is known.
class best_objects {
  public:
    explicit best_objects(std::size_t k) : k_(k) {}

    void offer(scored_object object) {
        if (heap_.size() == k_) {
            if (!precedes(object, heap_.front())) return;
            std::pop_heap(heap_.begin(), heap_.end(), precedes);
            heap_.back() = object;
        } else {
            heap_.push_back(object);
        }
        std::push_heap(heap_.begin(), heap_.end(), precedes);
    }
    bool full() const { return heap_.size() == k_; }
    /// The k-th; only if full().
    const scored_object& last() const { return heap_.front(); }
    /// Best first.
    std::vector<scored_object> sorted() const {
        std::vector<scored_object> all = heap_;
        std::sort(all.begin(), all.end(), precedes);
        return all;
    }

  private:
    std::size_t k_;
    std::vector<scored_object> heap_;  ///< the worst of them first
};

}  // namespace quern::rank_aggregation_detail
