// SPDX-License-Identifier: Apache-2.0
// Sparse rows against sixteen queries at once: the kernels and their input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_pair.hpp"

namespace quern::nearest_detail {

inline constexpr std::size_t group_queries = 16;

/// Columns in the order in which sums are formed: by partial sum, then ascending. `height`: 16 << height is at least the
/// number of dimensions. Below 2^32 − 1, like columns.
constexpr std::uint32_t place_of_column(std::uint32_t column, unsigned height) {
    return (column % partial_sums) << height | column / partial_sums;
}

/// Up to sixteen queries, one lane each, or one. The columns that any of them has, by their places, have slots 0, 1, …. A
/// slot has a line: the values of the queries there, 0 if one lacks the column. A column's slot is found by its bucket,
/// place >> shift.
struct query_group {
    std::size_t width = group_queries;  ///< lanes per line: 16 or 1
    unsigned height = 0;
    unsigned shift = 0;                      ///< 0: a bucket is a place, and `firsts` is not read
    const std::uint32_t* present = nullptr;  ///< bit b % 32 of word b / 32: bucket b has a column
    const std::uint32_t* before = nullptr;   ///< the number of such buckets in earlier words
    const std::uint32_t* firsts =
        nullptr;  ///< of the i-th such bucket, the first slot; after them, all slots
    const std::uint32_t* places = nullptr;        ///< of slots; after them, one that no column has
    std::uint32_t starts[partial_sums + 1] = {};  ///< per partial sum, the first slot
    const float* lines = nullptr;                 ///< [slot · width + lane]
    /// [slot · width + lane] the part of the line and of a row without the column; followed by a line of any finite
    /// numbers.
    const float* alone = nullptr;
    const double* squares = nullptr;  ///< of sixteen queries, for cosine, and for sql2 and l2 by products

    constexpr std::size_t slots() const { return starts[partial_sums]; }
};

/// Rows `begin` to `end` of the list, or of all.
struct row_range {
    sparse_rows rows{};
    const std::uint32_t* list = nullptr;  ///< null: row i is i
    const double* squares = nullptr;      ///< of all rows, for cosine
    std::size_t begin = 0, end = 0;
    constexpr std::size_t id(std::size_t i) const { return list == nullptr ? i : list[i]; }
};

/// keys[(i − begin) · width + lane]: rank keys, the bits of key_of_parts. Rows look their columns up. For sql2 and l2: Σa²
/// + Σb² − 2·Σab, equal to their keys if every sum is exact.
void sparse_product_keys(const query_group& group, const row_range& rows, vector_metric metric,
                         std::uint32_t* keys);
/// For sql2, l2, l1 and linf: the columns of the row are merged with those of the group, partial sum by partial sum.
void sparse_merged_keys(const query_group& group, const row_range& rows, vector_metric metric,
                        std::uint32_t* keys);

// Prepares sparse queries for the kernels: sixteen to a group, or, if few, each alone.

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
