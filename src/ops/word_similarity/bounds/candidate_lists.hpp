// SPDX-License-Identifier: Apache-2.0
// For every row, the pairs whose upper bound may still be among its best: a list that is pruned when it is full.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/files/spilled_array.hpp"
#include "ops/word_similarity/bounds/bound_rows.hpp"

namespace quern::word_similarity_detail {

struct bounded_pair {
    float bound;          ///< upper bound of the score
    std::uint32_t other;  ///< position
};

/// offer(), least() and raise_min() are thread-safe: many threads find pairs of the same rows.
class candidate_lists {
  public:
    candidate_lists(cpu_place& place, const bound_rows& rows, std::uint32_t top)
        : rows_(rows),
          top_(top),
          capacity_(std::size_t{top} + std::max<std::size_t>(top / 2, 64)),
          pairs_(place, rows.size() * capacity_, "candidates"),
          counts_(rows.size()),
          least_(rows.size()) {}

    /// Takes a pair; each pair is offered to a row at most once. `resolve(row, pairs)` is called if the bounds are too
    /// close to distinguish: it puts the exact best `top` in front, with their score rounded up to single precision in
    /// place of their bounds, and returns the last one's score rounded down.
    template <class Resolve>
    void offer(std::size_t row, bounded_pair pair, const Resolve& resolve) {
        if (pair.bound < least(row)) return;
        const std::lock_guard hold(locks_[row % locks_.size()]);
        if (pair.bound < least(row)) return;
        if (counts_[row] == capacity_) clear_up(row, resolve);
        if (pair.bound >= least(row)) pairs_.data()[row * capacity_ + counts_[row]++] = pair;
    }
    /// A lower bound of the score of the row's last neighbour; 0 if it has none yet. It rises while others offer pairs.
    float least(std::size_t row) const { return least_[row].load(std::memory_order_relaxed); }
    void raise_min(std::size_t row, float least) {
        float before = this->least(row);
        while (before < least &&
               !least_[row].compare_exchange_weak(before, least, std::memory_order_relaxed)) {
        }
    }
    /// A lower bound of the row's `top`-th score if `top` or more of its bounds are at least `bound`.
    float lower(std::size_t row, float bound) const {
        return std::max(0.F, bound * (1 - 4 * bound_margin) - rows_.slack(row));
    }

    /// Drops the pairs that are not among the row's best.
    void drop_below(std::size_t row) {
        const auto pairs = list(row);
        if (pairs.size() > top_) {
            std::nth_element(pairs.begin(), pairs.begin() + (top_ - 1), pairs.end(),
                             [](const auto& a, const auto& b) { return a.bound > b.bound; });
            raise_min(row, lower(row, pairs[top_ - 1].bound));
        }
        const auto end = std::remove_if(pairs.begin(), pairs.end(),
                                        [&](const bounded_pair& pair) { return pair.bound < least(row); });
        counts_[row] = static_cast<std::uint32_t>(end - pairs.begin());
    }
    std::span<bounded_pair> list(std::size_t row) const {
        return {pairs_.data() + row * capacity_, counts_[row]};
    }

  private:
    template <class Resolve>
    void clear_up(std::size_t row, const Resolve& resolve) {
        drop_below(row);
        if (counts_[row] <= capacity_ - (capacity_ - top_) / 4) return;
        raise_min(row, resolve(row, list(row)));
        counts_[row] = top_;
    }

    const bound_rows& rows_;
    std::uint32_t top_;
    std::size_t capacity_;
    spilled_array<bounded_pair> pairs_;
    std::vector<std::uint32_t> counts_;
    std::vector<std::atomic<float>> least_;
    std::vector<std::mutex> locks_{4096};  ///< of the lists of some rows each
};

}  // namespace quern::word_similarity_detail
