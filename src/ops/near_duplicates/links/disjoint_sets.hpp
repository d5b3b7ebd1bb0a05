// SPDX-License-Identifier: Apache-2.0
// Connected components by union-find (Tarjan 1975): by size, with path halving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace quern::near_duplicates_detail {

/// 8 bytes per item. Not thread-safe.
class disjoint_sets {
  public:
    explicit disjoint_sets(std::size_t size) : parent_(size), size_(size, 1) {
        std::iota(parent_.begin(), parent_.end(), 0u);
    }
    std::uint32_t find(std::uint32_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void unite(std::uint32_t a, std::uint32_t b) {
        a = find(a);
        b = find(b);
        if (a == b) return;
        if (size_[a] < size_[b]) std::swap(a, b);
        parent_[b] = a;
        size_[a] += size_[b];
    }
    std::uint32_t size_of(std::uint32_t set) const { return size_[set]; }

  private:
    std::vector<std::uint32_t> parent_, size_;
};

}  // namespace quern::near_duplicates_detail
