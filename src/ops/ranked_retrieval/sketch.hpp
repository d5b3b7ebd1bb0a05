// SPDX-License-Identifier: Apache-2.0
// The filter before exact distances: vectors in 8-bit integers, whose products are exact on every unit that multiplies
// integers, with a bound of what the coding left out. sql2, l2, ip and cosine of every type but bits and f64.
//
// Every row x has a vector x' (sql2, l2: x − µ, µ any one vector for set and queries; ip: x; cosine: x / |x|), codes c in
// [−127, 127], a scale s and a bound ρ ≥ |x' − s·c|. Let y', e, t, σ be those of a query. Then by Cauchy and Schwarz
//     | x'·y' − s·t·(c·e) |  ≤  ρ·|y'| + |s·c|·σ,
// and the number that the true order goes by (greatest first) is at most
//     U = a + s·t·(c·e) + ρ·|y'| + |s·c|·σ,      a = −|x'|²/2 for sql2 and l2 (|x' − y'|² = |y'|² − 2(x'·y' + a)), else 0.
// A row whose U is below the query's limit, which stands for the k-th best exact distance known so far and the rounding
// of exact (f32) distances, is none of the k best. All others get an exact distance. U is computed in f32; the terms are
// inflated for that when they are made. docs/ranked_retrieval_filter.md has the proof with all roundings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "ops/ranked_retrieval/tile.hpp"

namespace quern::ranked_retrieval_detail {

/// Whether there is a filter for vectors of the type.
constexpr bool can_sketch(vector_type type) {
    return type != vector_type::bits && type != vector_type::f64;
}

/// Whether there is a filter for such vectors.
constexpr bool can_sketch(vector_type type, vector_metric metric, std::uint32_t dimensions) {
    const bool product = metric == vector_metric::sql2 || metric == vector_metric::l2 ||
                         metric == vector_metric::ip || metric == vector_metric::cosine;
    return product && can_sketch(type) && dimensions <= 65'536;  // 127² · 2^16 < 2^31
}

/// The sketch of a tile in the place's memory. Move-only. Takes about a byte a component and 16 a row.
template <class Place>
class row_sketch;

template <>
class row_sketch<cpu_place> {
  public:
    row_sketch(cpu_place& place, const row_tile<cpu_place>& tile, vector_metric metric);
    ~row_sketch();
    row_sketch(row_sketch&&) noexcept;
    row_sketch& operator=(row_sketch&&) noexcept;
    struct state;
    const state& get() const { return *state_; }

  private:
    std::unique_ptr<state> state_;
};
template <>
class row_sketch<cuda_place> {
  public:
    row_sketch(cuda_place& place, const row_tile<cuda_place>& tile, vector_metric metric);
    ~row_sketch();
    row_sketch(row_sketch&&) noexcept;
    row_sketch& operator=(row_sketch&&) noexcept;
    struct state;
    const state& get() const { return *state_; }

  private:
    std::unique_ptr<state> state_;
};

struct sketch_counts {
    std::uint64_t filtered = 0;   ///< pairs whose U was computed
    std::uint64_t confirmed = 0;  ///< pairs whose distance was
};

/// The k best rows of the tile for every query, keys rising, then rows: keys[q · k + j], ids[q · k + j]; k ≤ the rows
/// that are allowed. `allowed`: a bit a row of the tile, as in retrieval_options; empty: all. Exact, whatever the data:
/// where the filter lets too much through, distances of all rows are computed. CUDA: synchronises.
template <class Key>
sketch_counts sketched_top_k(cpu_place& place, const row_tile<cpu_place>& tile,
                             const row_sketch<cpu_place>& sketch, const row_tile<cpu_place>& queries,
                             vector_metric metric, std::uint32_t k, std::span<const std::uint64_t> allowed,
                             std::span<Key> keys, std::span<std::uint32_t> ids);
template <class Key>
sketch_counts sketched_top_k(cuda_place& place, const row_tile<cuda_place>& tile,
                             const row_sketch<cuda_place>& sketch, const row_tile<cuda_place>& queries,
                             vector_metric metric, std::uint32_t k, device_span<const std::uint64_t> allowed,
                             device_span<Key> keys, device_span<std::uint32_t> ids);

}  // namespace quern::ranked_retrieval_detail
