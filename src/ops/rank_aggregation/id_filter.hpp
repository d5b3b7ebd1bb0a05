// SPDX-License-Identifier: Apache-2.0
// Finds which of many ids may be among a few: reads one bit per id, from so few bits that they stay in a core's caches.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/rank_aggregation/list_kernels.hpp"

namespace quern::rank_aggregation_detail {

class id_filter {
  public:
    /// For that many ids: 64 bits each, from 8 KiB to 1 MiB.
    explicit id_filter(std::size_t ids)
        : shift_(32 - std::clamp(static_cast<int>(std::bit_width(64 * ids)), 16, 23)),
          words_(std::size_t{1} << (27 - shift_)) {}

    void add(std::uint32_t id) {
        const std::uint32_t bit = filter_bit(id, shift_);
        words_[bit / 32] |= std::uint32_t{1} << (bit % 32);
    }
    /// Finds the positions of added ids, and of a few others; returns their number. `positions` must hold all.
    std::size_t find(std::span<const std::uint32_t> ids, std::uint32_t* positions) const {
        return find_marked(ids, words_.data(), shift_, positions);
    }

  private:
    int shift_;
    std::vector<std::uint32_t> words_;
};

}  // namespace quern::rank_aggregation_detail
