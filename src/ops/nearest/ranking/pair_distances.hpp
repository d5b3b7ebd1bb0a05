// SPDX-License-Identifier: Apache-2.0
// Values (bounded_distance.hpp) of single pairs on the CPU: queries are prepared once, then rows are measured one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_pair.hpp"

namespace quern::nearest_detail {

/// Values of dense queries, all of a tile. Any number of threads, each with its own scratch. The tile must outlive it.
class pair_distances {
  public:
    pair_distances(cpu_place& place, const row_tile<cpu_place>& queries, vector_metric metric);

    /// Memory of one thread: a row in another type.
    struct scratch {
        std::vector<float> floats;
        std::vector<double> doubles;
    };
    /// values[i] of query first + i and the row, which has the queries' type.
    void measure(const std::byte* row, std::size_t first, std::size_t count, double* values,
                 scratch& mine) const;

  private:
    template <class Stored>
    void measure_floats(const Stored* row, std::size_t first, std::size_t count, double* values,
                        scratch& mine) const;
    template <vector_type Type>
    void measure_integers(const std::byte* row, std::size_t first, std::size_t count, double* values) const;

    row_tile<cpu_place> queries_;
    vector_metric metric_;
    std::size_t stride_ = 0;               ///< of `components_`
    cpu_array<double> components_;         ///< of floats
    std::vector<double> squares_, roots_;  ///< for cosine
};

/// sink(column, of a, of b) for every column that either row has, ascending, with 0 for the one that lacks it; `both`: for
/// those that both have.
template <class Sink>
constexpr void for_each_pair(sparse_row a, sparse_row b, bool both, Sink&& sink) {
    std::uint64_t i = 0, j = 0;
    while (i < a.size && j < b.size) {
        const std::uint32_t of_a = a.columns[i], of_b = b.columns[j];
        const bool take_a = of_a <= of_b, take_b = of_b <= of_a;
        if (!both || (take_a && take_b))
            sink(take_a ? of_a : of_b, take_a ? a.values[i] : 0.0f, take_b ? b.values[j] : 0.0f);
        i += take_a;
        j += take_b;
    }
    if (both) return;
    for (; i < a.size; ++i) sink(a.columns[i], a.values[i], 0.0f);
    for (; j < b.size; ++j) sink(b.columns[j], 0.0f, b.values[j]);
}

/// The value of two sparse rows.
double sparse_value(vector_metric metric, sparse_row row, sparse_row query);

// Sums in double over rows of f32 and f64 in vector registers, for values (bounded_distance.hpp): in any order, fused if the
// processor can.

/// Queries are doubles padded with zeros to a multiple of this.
inline constexpr std::size_t value_unit = 16;

/// sums[q] of the row and query q, which begins at queries[q · stride]. Not different_bits.
void sum_values(part_kind kind, const float* row, const double* queries, std::size_t stride,
                std::size_t query_count, std::size_t dimensions, double* sums);
void sum_values(part_kind kind, const double* row, const double* queries, std::size_t stride,
                std::size_t query_count, std::size_t dimensions, double* sums);

/// Σ a².
double sum_of_squares(const float* row, std::size_t dimensions);
double sum_of_squares(const double* row, std::size_t dimensions);

}  // namespace quern::nearest_detail
