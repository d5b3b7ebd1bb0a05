// SPDX-License-Identifier: Apache-2.0
// Rankings in the order of the true distances, ties by ascending row, and the reported numbers, from rankings by values
// (bounded_distance.hpp) or by keys of 32 bits. Rows whose values are closer than their bounds are compared exactly
// (exact_distance.hpp), and so is a number whose digits its bound does not determine. Both depend only on the vectors of a
// pair: not on the place, the threads, the tiles, k, or other rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "ops/nearest/index/row_source.hpp"
#include "ops/nearest/index/vector_views.hpp"
#include "ops/nearest/ranking/bounded_distance.hpp"
#include "ops/nearest/ranking/pair_distances.hpp"

namespace quern::nearest_detail {

/// Every component of some vectors is a whole multiple of 2^least and below 2^most; unknown if `known` is false.
struct component_grain {
    bool known = false;
    int least = 0, max = 0;
};
/// Sums of the metric are exact in double if components span at most this many bits.
int useful_grain_bits(vector_metric metric, std::uint32_t dimensions);
/// For all rows; unknown, and early, if components span more than so many bits.
component_grain grain_of(cpu_place& place, const vectors_view& rows, int max_bits);
component_grain grain_of(cpu_place& place, const sparse_vectors_view& rows, int max_bits);
component_grain joined(const component_grain& a, const component_grain& b);

/// Metadata of a set.
struct index_stats {
    double greatest = 0;            ///< maximum |component| of floats
    std::uint64_t max_entries = 0;  ///< of a sparse row
    component_grain grain;          ///< of set and queries
};

/// Some queries of a set.
template <class View>
class true_order {
  public:
    /// `source`: of the set's rows, if the host cannot read them in the view; else null.
    true_order(cpu_place& place, const View& set, const View& queries, vector_metric metric,
               const index_stats& stats, row_source* source = nullptr);

    value_bound values_bound(std::uint64_t query) const;
    value_bound keys_bound(std::uint64_t query) const;
    /// For keys of 64 bits, which are those of values, or of 32.
    template <class Key>
    value_bound bound_of(std::uint64_t query) const {
        return sizeof(Key) == 8 ? values_bound(query) : keys_bound(query);
    }
    const index_stats& stats() const { return stats_; }
    /// The values of some rows, which the host can read.
    void measure(std::uint64_t query, std::span<const std::uint32_t> rows, std::span<double> values) const;
    /// The values of copies of rows, values.size() of them from `first` on.
    void measure(std::uint64_t query, const vectors_view& copies, std::uint64_t first,
                 std::span<double> values) const
        requires std::is_same_v<View, vectors_view>;

    /// Part of a ranking: values ascend, equal ones by row.
    struct ranking {
        std::span<double> values;
        std::span<std::uint32_t> rows;
        std::span<double> reported;
    };
    /// Puts the entries from `begin` on into the true order, with the reported numbers, where neighbours are closer than
    /// the values' precision. It ends after the first such group that ends at `end` or later. A group that begins before
    /// `begin` is left alone, so that pieces may be settled in parallel.
    void settle(std::uint64_t query, const ranking& all, std::uint64_t begin, std::uint64_t end) const;

    /// Whether rounding or ties have required exact distances since construction.
    bool was_close() const { return close_.load(std::memory_order_relaxed); }

  private:
    std::uint64_t summed(std::uint64_t query) const;
    double reach_of(std::uint64_t query) const;
    bool sums_are_exact(int bits) const;
    double reported_of(double sum) const;
    class tie_groups;
    void settle_group(std::uint64_t query, const ranking& group) const;

    const context& ctx_;
    View set_, queries_;
    vector_metric metric_;
    vector_type type_;
    index_stats stats_;
    row_source* source_;
    std::vector<double> lengths_;  ///< of queries, for ip
    std::optional<pair_distances> meter_;
    mutable std::atomic<bool> close_ = false;
};

}  // namespace quern::nearest_detail
