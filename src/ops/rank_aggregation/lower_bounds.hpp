// SPDX-License-Identifier: Apache-2.0
// The k-th greatest of lower bounds that rise one by one.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace quern::rank_aggregation_detail {

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

}  // namespace quern::rank_aggregation_detail
