// SPDX-License-Identifier: Apache-2.0
// For every row those pairs whose upper bound may still be among its best: a list that is cleared up when it is full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/word_similarity/bound_rows.hpp"

namespace quern::word_similarity_detail {

struct bounded_pair {
    float bound;          ///< of the score, from above
    std::uint32_t other;  ///< position
};

class candidate_lists {
  public:
    candidate_lists(cpu_place& place, const bound_rows& rows, std::uint32_t top)
        : rows_(rows),
          top_(top),
          room_(std::size_t{top} + std::max<std::size_t>(top / 2, 64)),
          pairs_(place, rows.size() * room_, "candidates"),
          counts_(rows.size()),
          least_(rows.size()) {}

    /// Takes a pair; every pair is offered to a row once at most. `resolve(row, pairs)` is called where the bounds are
    /// too close to tell them apart: it puts the exact best `top` in front, their score rounded up to single
    /// precision in place of their bounds, and returns the last one's score rounded down.
    template <class Resolve>
    void offer(std::size_t row, bounded_pair pair, const Resolve& resolve) {
        if (pair.bound < least_[row]) return;
        if (counts_[row] == room_) clear_up(row, resolve);
        if (pair.bound >= least_[row]) pairs_.data()[row * room_ + counts_[row]++] = pair;
    }
    /// A lower bound of the score of the row's last neighbour; 0 where there is none yet.
    float least(std::size_t row) const { return least_[row]; }
    void raise_least(std::size_t row, float least) { least_[row] = std::max(least_[row], least); }
    /// What a lower bound of the row's scores is when this many, `top` or more, are at least as high.
    float lower(std::size_t row, float bound) const {
        return std::max(0.F, bound * (1 - 4 * bound_margin) - rows_.slack(row));
    }

    std::span<const bounded_pair> reaching(std::size_t row) {
        drop_below(row);
        return list(row);
    }

  private:
    std::span<bounded_pair> list(std::size_t row) const {
        return {pairs_.data() + row * room_, counts_[row]};
    }

    void drop_below(std::size_t row) {
        const auto pairs = list(row);
        if (pairs.size() > top_) {
            std::nth_element(pairs.begin(), pairs.begin() + (top_ - 1), pairs.end(),
                             [](const auto& a, const auto& b) { return a.bound > b.bound; });
            raise_least(row, lower(row, pairs[top_ - 1].bound));
        }
        const auto end = std::remove_if(pairs.begin(), pairs.end(),
                                        [&](const bounded_pair& pair) { return pair.bound < least_[row]; });
        counts_[row] = static_cast<std::uint32_t>(end - pairs.begin());
    }

    template <class Resolve>
    void clear_up(std::size_t row, const Resolve& resolve) {
        drop_below(row);
        if (counts_[row] <= room_ - (room_ - top_) / 4) return;
        raise_least(row, resolve(row, list(row)));
        counts_[row] = top_;
    }

    const bound_rows& rows_;
    std::uint32_t top_;
    std::size_t room_;
    cpu_array<bounded_pair> pairs_;
    std::vector<std::uint32_t> counts_;
    std::vector<float> least_;
};

}  // namespace quern::word_similarity_detail
