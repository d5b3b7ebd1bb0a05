// SPDX-License-Identifier: Apache-2.0
// Prepares sparse queries for the kernels: sixteen to a group, or, if few, each alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_kernels.hpp"

namespace quern::nearest_detail {

/// Groups of the queries [first, first + count), in order: group g has those from g · width. Takes, for each column that a
/// group's queries have, 64 bytes for products and 128 for other metrics, and two bits per bucket.
class query_groups {
  public:
    /// by_products: keys are formed from products. At most `max_buckets` per group; a power of two, at least 32.
    query_groups(cpu_place& place, const sparse_tile<cpu_place>& queries, std::size_t first,
                 std::size_t count, vector_metric metric, bool by_products, std::uint32_t max_buckets);
    std::size_t width() const { return width_; }  ///< queries of a group
    std::size_t size() const { return groups_.size(); }
    const query_group& operator[](std::size_t g) const { return groups_[g]; }

  private:
    void collect_places(std::size_t g);
    void lay_out(std::size_t g);

    sparse_rows queries_;
    std::size_t first_, count_, width_;
    std::vector<query_group> groups_;
    std::vector<std::size_t> entries_before_, lines_before_;  ///< of groups
    std::size_t words_;                                       ///< of a group's buckets
    unsigned height_ = 0, shift_ = 0;
    cpu_array<std::uint32_t> places_, firsts_, present_, before_;
    cpu_array<float> lines_, alone_;
    cpu_array<double> squares_;
};

}  // namespace quern::nearest_detail
